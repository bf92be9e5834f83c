"""Signatures as the Standard Webhooks specification has them: its own example, and laws over any message."""

from __future__ import annotations

import base64
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.errors import Invalid
from tikitaka.webhooks.signing import (
    Genuine,
    NotGenuine,
    SignatureFault,
    headers,
    key_of,
    secret_of,
    sign,
    verify,
)

NOW = 1_800_000_000
keys = st.binary(min_size=24, max_size=64)
ids = st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=40)
moments = st.integers(min_value=0, max_value=4_000_000_000)


def test_the_example_of_the_specification() -> None:
    secret = "whsec_" + "".join(("MfKQ9r8GKY", "qrTwjUPD8I", "LPZIo2LaLaSw"))
    signature = sign(secret, id="msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp=1_614_265_330, body=b'{"test": 2432232314}')
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(keys, ids, moments, st.binary(max_size=200))
def test_what_is_signed_is_genuine(key: bytes, identity: str, moment: int, body: bytes) -> None:
    secret = secret_of(key)
    assert verify(secret, headers([secret], id=identity, timestamp=moment, body=body), body, now=moment) == Genuine(
        id=identity, timestamp=moment
    )


@given(keys, ids, moments, st.binary(min_size=1, max_size=200), st.data())
def test_one_changed_bit_is_seen(key: bytes, identity: str, moment: int, body: bytes, data: st.DataObject) -> None:
    secret = secret_of(key)
    given_headers = headers([secret], id=identity, timestamp=moment, body=body)
    at = data.draw(st.integers(0, len(body) * 8 - 1))
    changed = bytearray(body)
    changed[at // 8] ^= 1 << at % 8
    refused = NotGenuine(reason=SignatureFault.NO_MATCH)
    assert verify(secret, given_headers, bytes(changed), now=moment) == refused
    assert verify(secret, {**given_headers, "webhook-id": identity + "x"}, body, now=moment) == refused
    assert verify(secret, {**given_headers, "webhook-timestamp": str(moment + 1)}, body, now=moment) == refused
    other = bytes([key[0] ^ 1]) + key[1:]
    assert verify(secret_of(other), given_headers, body, now=moment) == refused


@given(keys)
def test_a_secret_holds_its_key(key: bytes) -> None:
    assert key_of(secret_of(key)) == key
    assert key_of(base64.b64encode(key).decode()) == key


@pytest.mark.parametrize("count", [0, 23, 65])
def test_keys_of_a_wrong_length(count: int) -> None:
    with pytest.raises(ValueError):
        secret_of(bytes(count))
    with pytest.raises(Invalid):
        key_of("whsec_" + base64.b64encode(bytes(count)).decode())


def test_what_is_no_secret_is_not_repeated() -> None:
    odd = "whsec_" + "no base64 " + "at all"
    with pytest.raises(Invalid) as refused:
        key_of(odd)
    assert "at all" not in str(refused.value)


class TestReceiving:
    secret = secret_of(os.urandom(32))
    body = b'{"type":"task.settled"}'

    def headers(self, **changes: str) -> dict[str, str]:
        return {**headers([self.secret], id="one", timestamp=NOW, body=self.body), **changes}

    def reason(self, given: dict[str, str], now: int = NOW) -> str:
        found = verify(self.secret, given, self.body, now=now)
        assert isinstance(found, NotGenuine)
        return found.reason.value

    def test_names_of_headers_in_any_case(self) -> None:
        given = {name.title(): value for name, value in self.headers().items()}
        assert isinstance(verify(self.secret, given, self.body, now=NOW), Genuine)

    @pytest.mark.parametrize("away", [-300, 300])
    def test_inside_the_tolerance(self, away: int) -> None:
        assert isinstance(verify(self.secret, self.headers(), self.body, now=NOW + away), Genuine)

    def test_a_recording_played_again_later(self) -> None:
        assert self.reason(self.headers(), NOW + 301) == "too_old"
        assert self.reason(self.headers(), NOW - 301) == "too_new"

    def test_another_tolerance(self) -> None:
        assert isinstance(verify(self.secret, self.headers(), self.body, now=NOW + 900, tolerance_s=900), Genuine)

    @pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
    def test_a_header_that_is_not_there(self, name: str) -> None:
        given = self.headers()
        del given[name]
        assert self.reason(given) == "no_headers"

    @pytest.mark.parametrize("moment", ["-1", "1.5", "now", "٣", "9" * 16])
    def test_a_moment_that_is_none(self, moment: str) -> None:
        assert self.reason(self.headers(**{"webhook-timestamp": moment})) == "bad_timestamp"

    @pytest.mark.parametrize("signature", ["x", "v1", "v1,", "v1,AAAA", "v2,AAAA", "é", "v1,\udc80"])
    def test_a_signature_that_is_none(self, signature: str) -> None:
        assert self.reason(self.headers(**{"webhook-signature": signature})) == "no_match"

    def test_two_secrets_while_one_is_changed(self) -> None:
        new = secret_of(os.urandom(32))
        given = headers([new, self.secret], id="one", timestamp=NOW, body=self.body)
        for secret in (new, self.secret):
            assert isinstance(verify(secret, given, self.body, now=NOW), Genuine)
        stranger = secret_of(os.urandom(32))
        assert isinstance(verify(stranger, given, self.body, now=NOW), NotGenuine)
