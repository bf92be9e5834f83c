"""The form of tokens: what is read back is what was made, and nothing else is one."""

from __future__ import annotations

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.authz import MACHINE_SCOPES, Credential, Permission, read_token

made = st.builds(
    Credential,
    st.text("0123456789abcdef", min_size=12, max_size=12),
    st.from_regex(r"[A-Za-z0-9_-]{43}", fullmatch=True),
)


@given(made)
def test_what_is_shown_is_read(credential: Credential) -> None:
    assert read_token(str(credential)) == credential
    assert credential.matches(credential.digest)
    assert credential.secret not in repr(credential)
    assert credential.secret not in credential.digest


@given(st.text())
def test_anything_else_is_none(text: str) -> None:
    found = read_token(text)
    assert found is None or str(found) == text


@pytest.mark.parametrize(
    "change", [lambda t: t + "x", lambda t: t[:-1], lambda t: t.upper(), lambda t: " " + t, lambda t: t + "\n"]
)
def test_nearly_a_token_is_none(change: object) -> None:
    token = str(Credential(secrets.token_hex(6), secrets.token_urlsafe(32)))
    assert read_token(change(token)) is None  # type: ignore[operator]


def test_another_secret_does_not_match() -> None:
    one, two = (Credential("0" * 12, secrets.token_urlsafe(32)) for _ in range(2))
    assert not one.matches(two.digest)


def test_no_machine_may_what_only_people_may() -> None:
    people = {
        Permission.NOTE_DECIDE,
        Permission.NOTE_REVOKE,
        Permission.NOTE_WRITE,
        Permission.MEMBERS_MANAGE,
        Permission.TOKENS_MANAGE,
        Permission.BUDGET_SET,
        Permission.INCIDENT_CLOSE,
    }
    assert frozenset(Permission) == MACHINE_SCOPES | people
    assert not MACHINE_SCOPES & people
