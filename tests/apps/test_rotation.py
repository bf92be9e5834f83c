"""Another sealing key: what was sealed opens with the new one, whatever dies on the way; and older secret keys."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import uuid
from io import StringIO
from pathlib import Path

import pytest
from django.core import signing
from django.core.management import CommandError, call_command

from apps.ledger.models import SealedValue, SubjectKey
from apps.ledger.sealing import open_value
from apps.ledger.selectors import logs, verify_log
from apps.ledger.services import recording, rotation
from apps.ledger.services.rotation import rotate_sealing_key
from tikitaka.ledger.entries import Actor
from tikitaka.ledger.events import NoteRevoked

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def old(settings) -> str:
    return settings.TIKITAKA_SEALING_KEY


@pytest.fixture
def new() -> str:
    return secrets.token_urlsafe(48)


def sealed(*words: str) -> uuid.UUID:
    """One person for each, with a word sealed under a key of their own, in one organization."""
    organization = uuid.uuid4()
    with recording(organization) as ledger:
        for word in words:
            revoked = NoteRevoked(note=uuid.uuid4(), team=uuid.uuid4(), reason="revoked_by_person", words=word)
            ledger.record(revoked, actor=Actor(kind="user", id=str(uuid.uuid4())))
    return organization


def opened() -> list[str]:
    return sorted(found.value for row in SealedValue.objects.all() if (found := open_value(row)) is not None)


def rows() -> dict[uuid.UUID, bytes]:
    return {row.pk: bytes(row.wrapped) for row in SubjectKey.objects.exclude(wrapped=None)}


@pytest.mark.django_db(transaction=True)
class TestRotating:
    def test_what_was_sealed_opens_with_the_new_key_only(self, settings, old: str, new: str) -> None:
        organization = sealed("one", "two")
        sealed("three")
        settings.TIKITAKA_SEALING_KEY = new

        assert rotate_sealing_key(old=old) == {"rewrapped": 3}

        assert opened() == ["one", "three", "two"]
        assert verify_log(logs(organization).get()).valid
        settings.TIKITAKA_SEALING_KEY = old
        assert not verify_log(logs(organization).get()).valid

    def test_the_text_itself_is_not_written_anew(self, settings, old: str, new: str) -> None:
        sealed("one")
        before = bytes(SealedValue.objects.get().ciphertext)
        settings.TIKITAKA_SEALING_KEY = new
        rotate_sealing_key(old=old)
        assert bytes(SealedValue.objects.get().ciphertext) == before

    def test_a_second_time_nothing_is_left_to_do(self, settings, old: str, new: str) -> None:
        sealed("one", "two")
        settings.TIKITAKA_SEALING_KEY = new
        rotate_sealing_key(old=old)
        before = rows()
        assert rotate_sealing_key(old=old) == {"already": 2}
        assert rows() == before

    def test_killed_between_two_batches_it_goes_on(self, settings, old: str, new: str, monkeypatch) -> None:
        sealed("a", "b", "c")
        settings.TIKITAKA_SEALING_KEY = new
        monkeypatch.setattr(rotation, "_ROWS_AT_ONCE", 2)
        third = SubjectKey.objects.order_by("pk")[2]
        whole = rotation.rewrapped

        def dies(row: SubjectKey, *, old: str) -> bytes | None:
            if row.pk == third.pk:
                raise KeyboardInterrupt
            return whole(row, old=old)

        monkeypatch.setattr(rotation, "rewrapped", dies)
        with pytest.raises(KeyboardInterrupt):
            rotate_sealing_key(old=old)
        monkeypatch.setattr(rotation, "rewrapped", whole)

        assert rotate_sealing_key(old=old) == {"already": 2, "rewrapped": 1}
        assert opened() == ["a", "b", "c"]

    def test_a_destroyed_key_stays_destroyed(self, settings, old: str, new: str) -> None:
        sealed("one", "two")
        SubjectKey.objects.filter(pk=SubjectKey.objects.order_by("pk")[0].pk).update(wrapped=None)
        settings.TIKITAKA_SEALING_KEY = new
        assert rotate_sealing_key(old=old) == {"destroyed": 1, "rewrapped": 1}
        assert len(opened()) == 1

    @pytest.mark.parametrize("wrapped", [b"", b"short", bytes(12), bytes(60)])
    def test_a_damaged_key_is_counted_and_the_others_go_on(self, settings, old: str, new: str, wrapped: bytes) -> None:
        sealed("one", "two")
        damaged = SubjectKey.objects.order_by("pk")[0].pk
        SubjectKey.objects.filter(pk=damaged).update(wrapped=wrapped)
        settings.TIKITAKA_SEALING_KEY = new
        assert rotate_sealing_key(old=old) == {"unreadable": 1, "rewrapped": 1}
        assert rows()[damaged] == wrapped


@pytest.mark.django_db(transaction=True)
class TestCommand:
    def called(self, path: Path) -> dict[str, int]:
        out = StringIO()
        try:
            call_command("rotate_sealing_key", "--old-file", str(path), stdout=out)
        finally:
            self.said = out.getvalue()
        return json.loads(self.said)

    def test_counts_as_json(self, settings, old: str, new: str, tmp_path: Path) -> None:
        sealed("one")
        (tmp_path / "old").write_text(f"{old}\n")
        settings.TIKITAKA_SEALING_KEY = new
        assert self.called(tmp_path / "old") == {"rewrapped": 1, "already": 0, "destroyed": 0, "unreadable": 0}

    def test_what_neither_opens_is_counted_and_left(self, settings, old: str, new: str, tmp_path: Path) -> None:
        sealed("one", "two")
        ours = rows()
        settings.TIKITAKA_SEALING_KEY = secrets.token_urlsafe(48)
        sealed("strange")
        foreign = {key: wrapped for key, wrapped in rows().items() if key not in ours}
        (tmp_path / "old").write_text(old)
        settings.TIKITAKA_SEALING_KEY = new

        with pytest.raises(CommandError, match="open with neither sealing key: 1") as error:
            self.called(tmp_path / "old")

        assert error.value.returncode == 1
        assert json.loads(self.said) == {"rewrapped": 2, "already": 0, "destroyed": 0, "unreadable": 1}
        assert foreign.items() <= rows().items()

    @pytest.mark.parametrize(
        ("content", "message"),
        [(None, "cannot be read"), (b"\n", "is empty"), (b"\xff\xfe", "cannot be read")],
    )
    def test_a_file_without_a_key_is_refused(self, tmp_path: Path, content: bytes | None, message: str) -> None:
        if content is not None:
            (tmp_path / "old").write_bytes(content)
        with pytest.raises(CommandError, match=message) as error:
            self.called(tmp_path / "old")
        assert error.value.returncode == 2

    def test_so_is_the_key_that_is_configured(self, old: str, tmp_path: Path) -> None:
        (tmp_path / "old").write_text(old)
        with pytest.raises(CommandError, match="configured now"):
            self.called(tmp_path / "old")


@pytest.mark.parametrize("settings_module", ["production", "embedded"])
def test_sessions_of_an_earlier_secret_key_stay_open(settings_module: str, tmp_path: Path) -> None:
    older, oldest, current = (secrets.token_urlsafe(64) for _ in range(3))
    program = (
        "import django, sys; django.setup()\n"
        "from django.core import signing\n"
        "print([signing.loads(text) for text in sys.argv[1:]])"
    )
    signed = [signing.dumps(number, key=key) for number, key in enumerate((older, oldest, current))]
    done = subprocess.run(
        [sys.executable, "-c", program, *signed],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": f"config.settings.{settings_module}",
            "SECRET_KEY": current,
            "SECRET_KEY_FALLBACKS": f"{older},{oldest}",
            "TIKITAKA_SEALING_KEY": secrets.token_urlsafe(48),
            "TIKITAKA_DATA": str(tmp_path / "data"),
            "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
            "ALLOWED_HOSTS": "localhost",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "[0, 1, 2]", done.stderr[-1000:]
