"""Text of agents and strangers in the eyes of a person: never markup, and nothing hidden stays hidden."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.conductor.models import Incident
from apps.memory.models import Flush, Landing, Note, ReviewItem, Segment
from apps.memory.services.notes import note_digest, seal_digest
from apps.tasks.models import Attempt, PlanNode, Span, Task
from apps.teams.models import Agent, Team
from tests.doors.conftest import Stage, listen
from tests.doors.test_deciding import decide
from tests.doors.test_pages import DIALOGS, GOVERNED, url

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]
# A Unicode tag character says "hi" to a model and nothing to a person.
TAGGED = "".join(chr(0xE0000 + ord(letter)) for letter in "hidden order")
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "[x](javascript:alert(3))",
    '"><svg/onload=alert(4)>',
    "{{7*7}}{% now 'Y' %}",
)  # fmt: skip
HIDDEN = {"\u202e": "⟦U+202E⟧", "\u200b": "⟦U+200B⟧", "\u2066": "⟦U+2066⟧", TAGGED: "⟦hidden: hidden order⟧"}
EVIL = "start " + " ".join(HOSTILE) + " mid" + "".join(HIDDEN) + "dle end"
SHORT = '<img src=x onerror=1>"\u202e\u200bz'


class Reader(HTMLParser):
    """Collects what a browser would run or draw."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def check(page: str, where: str, *, inputs: bool = False) -> Reader:
    """No tag or link of an agent, no expression evaluated, no hidden character outside what a person is to edit."""
    reader = read(page)
    for tag, attributes in reader.tags:
        assert not (tag == "img" and attributes.get("src") == "x"), where
        assert "onerror" not in attributes, where
        assert "onload" not in attributes, where
        assert not (attributes.get("href") or "").strip().lower().startswith("javascript:"), where
    assert "<script>alert(2)" not in page, where
    assert "49{%" not in page, where
    shown = re.sub(r"<textarea.*?</textarea>|<input[^>]*>", "", page, flags=re.DOTALL) if inputs else page
    for character in HIDDEN:
        assert character not in shown, f"{where}: {character!r} is drawn as nothing"
    return reader


@pytest.fixture
def hostile(stage: Stage) -> Stage:
    return spoil(stage)


def spoil(stage: Stage) -> Stage:
    """Everything that an agent, a stranger's program or a person may write, as bad as it can be."""
    Agent.objects.filter(team=stage.cast.team).update(name=SHORT, description=EVIL, instructions=EVIL)
    Team.objects.filter(pk=stage.cast.team.pk).update(name=SHORT, description=EVIL)
    Task.objects.update(prompt=EVIL, plan_reasons=[EVIL])
    PlanNode.objects.update(role=SHORT, instruction=EVIL, expected_output=EVIL)
    Attempt.objects.update(output=EVIL, error_detail=EVIL, thread_id=EVIL, usage={"model": EVIL})
    Span.objects.update(text=EVIL, data={"path": EVIL})
    Incident.objects.update(detail=EVIL, subject=SHORT)
    Landing.objects.update(file=SHORT, fault=SHORT)
    Flush.objects.update(dropped=[{"content": EVIL}], reason=SHORT, attempts=[{"outcome": EVIL}])
    Segment.objects.update(signal=SHORT[:8])
    note = stage.note()
    older = Note.objects.exclude(pk=note.pk).first()
    Note.objects.update(content=EVIL, description=EVIL[:300], rationale=EVIL, landing_fault=SHORT)
    finding = {"rule": SHORT, "family": "injection", "field": "content", "start": 0, "end": 200, "detail": EVIL}
    Note.objects.filter(pk=note.pk).update(findings=[finding], possible_update_of=older)
    ReviewItem.objects.update(reasons=[SHORT])
    seal_digest(stage.note())
    return stage


def pages(stage: Stage) -> Iterator[tuple[str, bool]]:
    """Every page on which their words may stand; True where some of them stand in a form."""
    yield reverse("console:home"), False
    yield reverse("console:task", args=[stage.rows["tasks.task"].pk]), False
    yield reverse("console:note-new"), True
    yield reverse("console:task-new"), True
    for label in GOVERNED:
        yield url("changelist", label), True
        yield url("change", label, stage.rows[label].pk), True
    for name, (label, _) in DIALOGS.items():
        yield reverse(f"admin:{name}", args=[stage.rows[label].pk]), True


class TestPages:
    def test_nothing_runs_and_nothing_hides(self, hostile: Stage, browser: Callable[..., Client]) -> None:
        client = browser("owner")
        for address, inputs in pages(hostile):
            answer = client.get(address)
            assert answer.status_code == 200, address
            check(answer.content.decode(), address, inputs=inputs)

    @pytest.mark.parametrize(
        ("label", "view"),
        [
            ("memory.note", "changelist"), ("memory.note", "change"), ("tasks.attempt", "change"),
            ("tasks.task", "changelist"), ("tasks.task", "change"), ("teams.agent", "change"), ("teams.team", "change"),
            ("conductor.incident", "change"), ("conductor.incident", "changelist"), ("memory.flush", "change"),
        ],
    )  # fmt: skip
    def test_all_of_it_is_there_to_read(
        self, hostile: Stage, browser: Callable[..., Client], label: str, view: str
    ) -> None:
        address = url(view, label) if view == "changelist" else url(view, label, hostile.rows[label].pk)
        text = "".join(read(browser("owner").get(address).content.decode()).text)
        assert "<img src=x onerror=alert(1)>" in text or SHORT[:20] in text
        if view == "change":
            assert "⟦U+202E⟧" in text
            assert "⟦hidden: hidden order⟧" in text

    def test_the_live_page_and_home(self, hostile: Stage, browser: Callable[..., Client]) -> None:
        client = browser("owner")
        for address in (reverse("console:task", args=[hostile.rows["tasks.task"].pk]), reverse("console:home")):
            text = "".join(read(client.get(address).content.decode()).text)
            assert HOSTILE[0] in text
            assert "⟦U+202E⟧" in text

    def test_the_dialogs_show_what_a_text_field_would_hide(
        self, hostile: Stage, browser: Callable[..., Client]
    ) -> None:
        for name in ("memory_note_edit", "memory_note_approve", "memory_note_reject"):
            address = reverse(f"admin:{name}", args=[hostile.note().pk])
            assert "⟦hidden: hidden order⟧" in browser("reviewer").get(address).content.decode()


class TestStream:
    def test_lines_are_one_line_of_json_each(self, committed_stage: Stage) -> None:
        hostile = spoil(committed_stage)
        Span.objects.update(text=EVIL + "\n\nevent: end\ndata: {}\r\rid: 9\u2028")
        Task.objects.update(status="completed")
        events = listen(hostile.cast.user(hostile.cast.owner), hostile.rows["tasks.task"])
        assert [event.name for event in events] == ["feed", "feed", "state", "end"]
        assert HOSTILE[1] in events[0].data["text"]
        for event in events:
            for character in HIDDEN:
                assert character not in json.dumps(event.data, ensure_ascii=False)

    def test_the_script_puts_text_in_as_text(self) -> None:
        script = (ROOT / "static" / "console" / "live.js").read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script)


class TestWords:
    """What people type comes back on the next page."""

    @pytest.mark.parametrize("words", [*HOSTILE, "a\u202eb\u200bc"])
    def test_of_a_decision(self, stage: Stage, browser: Callable[..., Client], words: str) -> None:
        note, client = stage.note(), browser("reviewer")
        decide(client, "reject", note, words=words)
        page = client.get(url("change", "memory.note", note.pk)).content.decode()
        text = "".join(check(page, words).text)
        assert words in text or "a⟦U+202E⟧b⟦U+200B⟧c" in text

    @pytest.mark.parametrize("words", HOSTILE)
    def test_of_a_form_that_is_refused(self, stage: Stage, browser: Callable[..., Client], words: str) -> None:
        data = {"team": stage.cast.team.pk, "content": words, "description": "", "severity": words, "skill_key": words}
        answer = browser("reviewer").post(reverse("console:note-new"), data)
        assert answer.status_code == 400
        check(answer.content.decode(), words)

    def test_of_an_address(self, stage: Stage, browser: Callable[..., Client]) -> None:
        for address in ("/<script>alert(2)</script>", f"/admin/memory/note/?q={HOSTILE[3]}", f"/admin/?{HOSTILE[1]}"):
            check(browser("owner").get(address).content.decode(), address)

    def test_a_page_asks_for_nothing_else(self, stage: Stage, browser: Callable[..., Client]) -> None:
        assert note_digest(stage.note())
        for address in (reverse("console:home"), reverse("console:task", args=[stage.rows["tasks.task"].pk])):
            for tag, attributes in read(browser("owner").get(address).content.decode()).tags:
                source: Any = attributes.get("src") or (attributes.get("href") if tag == "link" else None)
                assert source is None or source.startswith("/static/"), address
                assert "style" not in attributes
                assert tag != "style"
                assert not any(name.startswith("on") for name in attributes)
                assert tag != "script" or attributes.get("src")


class TestTemplates:
    def test_no_inline_script_or_style_and_nothing_called_safe(self) -> None:
        files = sorted((ROOT / "templates").rglob("*.html"))
        assert files
        for file in files:
            text = file.read_text()
            assert not re.search(r"<style|style=|\son\w+=|javascript:|\|\s*safe\b|autoescape|mark_safe", text), file
            assert not re.search(r"<script(?![^>]*\ssrc=)", text), file
            assert not re.search(r"https?://(?!www\.w3\.org)", text), file
