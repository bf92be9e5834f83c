"""The live page: the graph as a picture, the feed by time, and the stream that keeps both fresh."""

from __future__ import annotations

import re
import urllib.request
from typing import Any
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import Membership, User
from apps.audit import stream
from apps.audit.progress import LINES, Position, feed_page
from apps.tasks.models import Attempt, PlanNode, Task
from apps.tasks.services.submit import submit_task
from tests.doors.conftest import Event, attempt_of, events_in, listen, span_of
from tests.support.cast import Cast
from tests.support.processes import ROOT, serving

pytestmark = pytest.mark.django_db(transaction=True)
SVG = "{http://www.w3.org/2000/svg}"


def started(cast: Cast, *, status: str = "running") -> tuple[Task, list[Attempt]]:
    """A fan-out and a join: 1 → 2, 3 → 4."""
    task = submit_task(actor=cast.operator, team=cast.team, prompt="Build it.").task
    Task.objects.filter(pk=task.pk).update(status=status, plan_source="model")
    names = ("security", "backend", "frontend", "security")
    after = ((), (1,), (1,), (2, 3))
    attempts = [
        attempt_of(task, cast.agents[name], index, after=parents, status="completed" if index == 1 else "running")
        for index, (name, parents) in enumerate(zip(names, after, strict=True), start=1)
    ]
    task.refresh_from_db()
    return task, attempts


def page_of(cast: Cast, task: Task, query: str = "") -> str:
    client = Client()
    client.force_login(cast.user(cast.auditor))
    answer = client.get(reverse("console:task", args=[task.pk]) + query)
    assert answer.status_code == 200
    return answer.content.decode()


def picture(page: str) -> Any:
    found = re.search(r"<svg (role.*?</svg>)", page, re.DOTALL)
    assert found is not None
    return ElementTree.fromstring(f'<svg xmlns="{SVG[1:-1]}" {found[1]}')


def feed(page: str) -> list[str]:
    return re.findall(r"<pre>(.*?)</pre>", page[page.index('id="feed"') :])


def texts(events: list[Event]) -> list[str]:
    return [event.data["text"] for event in events if event.name == "feed"]


class TestPicture:
    def test_fan_out_and_join(self, committed_cast: Cast) -> None:
        task, _ = started(committed_cast)
        svg = picture(page_of(committed_cast, task))
        boxes = [(int(rect.get("x")), int(rect.get("y"))) for rect in svg.iter(f"{SVG}rect")]
        assert len(boxes) == 4
        assert boxes[0][0] < boxes[1][0] == boxes[2][0] < boxes[3][0]
        assert boxes[1][1] != boxes[2][1]
        assert len([path for path in svg.iter(f"{SVG}path") if path.get("class") == "arrow"]) == 4
        states = [group.get("class") for group in svg.iter(f"{SVG}g")]
        assert states == ["node completed", "node running", "node running", "node running"]
        assert "4. Security, running, after 2 and 3" in svg.find(f"{SVG}desc").text

    def test_what_was_blocked_names_what_blocked_it(self, committed_cast: Cast) -> None:
        task, attempts = started(committed_cast, status="partial")
        PlanNode.objects.filter(pk=attempts[1].node_id).update(status="failed")
        PlanNode.objects.filter(pk=attempts[3].node_id).update(status="cancelled", blocked_by=attempts[1].node)
        page = page_of(committed_cast, task)
        assert "cancelled, blocked by 2" in page
        state = listen(committed_cast.user(committed_cast.auditor), task)[-2]
        assert [node["state"] for node in state.data["nodes"]][-1] == "cancelled, blocked by 2"

    def test_long_names_are_cut_in_the_box_and_whole_in_the_title(self, committed_cast: Cast) -> None:
        task, attempts = started(committed_cast)
        name, role = "A name of the greatest length that a team may give to one of its agents 1234567", "r" * 60
        committed_cast.agents["backend"].name = name
        committed_cast.agents["backend"].save()
        PlanNode.objects.filter(pk=attempts[1].node_id).update(role=role)
        svg = picture(page_of(committed_cast, task))
        drawn = [text.text for text in svg.iter(f"{SVG}text")]
        assert max(len(text or "") for text in drawn) <= 27
        assert any((title.text or "") == f"2. {name}, {role}" for title in svg.iter(f"{SVG}title"))

    def test_before_there_is_a_plan(self, committed_cast: Cast) -> None:
        task = submit_task(actor=committed_cast.operator, team=committed_cast.team, prompt="Build it.").task
        page = page_of(committed_cast, task)
        assert "The plan is being made." in page
        assert "Nothing has been said yet." in page
        Task.objects.filter(pk=task.pk).update(status="cancelled")
        assert "The task ended before it had a plan." in page_of(committed_cast, task)


class TestFeed:
    def test_parallel_attempts_are_merged_by_time_not_by_seq(self, committed_cast: Cast) -> None:
        task, (_, one, two, _) = started(committed_cast)
        for seq, later in ((1, 1.0), (2, 4.0)):
            span_of(one, f"one {seq}", seq=seq, later=later)
        for seq, later in ((1, 2.0), (2, 3.0), (3, 5.0)):
            span_of(two, f"two {seq}", seq=seq, later=later)
        assert feed(page_of(committed_cast, task)) == ["one 1", "two 1", "two 2", "one 2", "two 3"]

    def test_a_long_feed_shows_its_end_and_leads_to_the_rest(self, committed_cast: Cast) -> None:
        task, (_, one, _, _) = started(committed_cast, status="completed")
        for number in range(LINES + 30):
            span_of(one, f"line {number}", seq=number + 1, later=number)
        page = page_of(committed_cast, task)
        assert feed(page)[0] == "line 30"
        assert feed(page)[-1] == f"line {LINES + 29}"
        assert '<a href="?from=0">30 earlier lines</a>' in page
        first = page_of(committed_cast, task, "?from=0")
        assert feed(first)[0] == "line 0"
        assert "30 later lines" in first
        for odd in ("?from=-1", "?from=x", "?from=99999999", "?from=" + "9" * 30):
            assert feed(page_of(committed_cast, task, odd))

    def test_works_without_scripts(self, committed_cast: Cast) -> None:
        """What a script would add is there when the page is loaded again."""
        task, (_, one, _, _) = started(committed_cast)
        span_of(one, "said")
        page = re.sub(r"<script.*?</script>", "", page_of(committed_cast, task), flags=re.DOTALL)
        assert "said" in page
        assert 'class="state running"' in page

    def test_can_be_read_without_eyes_and_used_without_a_mouse(self, committed_cast: Cast) -> None:
        task, _ = started(committed_cast)
        page = page_of(committed_cast, task)
        assert '<html lang="en">' in page
        assert re.search(r"<title>[^<]+</title>", page)
        assert [int(level) for level in re.findall(r"<h([1-6])", page)] == [1, 2, 2]
        assert '<a class="skip" href="#main">' in page
        assert 'role="log" aria-live="polite"' in page
        assert '<svg role="img" aria-labelledby="graph-title graph-words"' in page
        css = (ROOT / "static" / "console" / "console.css").read_text()
        assert "focus-visible" in css
        assert not re.search(r"outline:\s*(0|none)[^}]*}[^}]*a:focus", css)


class TestStream:
    def test_says_state_and_feed_and_ends(self, committed_cast: Cast) -> None:
        task, (_, one, two, _) = started(committed_cast, status="completed")
        span_of(one, "first")
        span_of(two, "second")
        events = listen(committed_cast.user(committed_cast.operator), task)
        assert [event.name for event in events] == ["feed", "feed", "state", "end"]
        assert texts(events) == ["first", "second"]
        assert [node["agent"] for node in events[2].data["nodes"]] == ["Security", "Backend", "Frontend", "Security"]

    def test_resumes_without_doubles_or_gaps(self, committed_cast: Cast) -> None:
        """Also when a line with an earlier time was stored later, as two attempts side by side do."""
        task, (_, one, two, _) = started(committed_cast, status="completed")
        user = committed_cast.user(committed_cast.operator)
        span_of(one, "late in time", later=9)
        first = listen(user, task)
        span_of(two, "early in time, stored later", later=1)
        span_of(two, "last", seq=2, later=20)
        again = listen(user, task, first[0].id)
        assert texts(first) == ["late in time"]
        assert texts(again) == ["early in time, stored later", "last"]
        for event in again[:2]:
            assert texts(listen(user, task, event.id)) == texts(again)[again.index(event) + 1 :]

    def test_a_line_that_was_unfinished_comes_again_once(self, committed_cast: Cast) -> None:
        task, (_, one, _, _) = started(committed_cast, status="completed")
        user = committed_cast.user(committed_cast.operator)
        span = span_of(one, "$ make", status="started", kind="command")
        span_of(one, "other", seq=2)
        first = listen(user, task)
        assert texts(first) == ["$ make", "other"]
        assert texts(listen(user, task, first[1].id)) == []
        type(span).objects.filter(pk=span.pk).update(status="completed", text="$ make\ndone")
        again = listen(user, task, first[1].id)
        assert texts(again) == ["$ make\ndone"]
        assert again[0].data["id"] == first[0].data["id"]
        assert texts(listen(user, task, again[0].id)) == []

    def test_goes_on_where_the_page_ended(self, committed_cast: Cast) -> None:
        task, (_, one, two, _) = started(committed_cast, status="completed")
        span_of(one, "on the page", later=5)
        shown = feed_page(task.pk, None)
        span_of(two, "after it", later=1)
        assert [line["text"] for line in shown.lines] == ["on the page"]
        assert texts(listen(committed_cast.user(committed_cast.operator), task, str(shown.position))) == ["after it"]

    @pytest.mark.parametrize("odd", ["x", "-1", "1~", "1~x", "9" * 40, "2026-01-01T00:00:00|5", "1~" + "1." * 80])
    def test_an_odd_position_is_the_beginning_or_nothing(self, odd: str) -> None:
        assert Position.parse(odd).last in (0, 1)

    def test_more_than_one_look_can_carry(self, committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stream, "_LOOK_S", 0.001)
        task, (_, one, _, _) = started(committed_cast, status="completed")
        for number in range(LINES + 5):
            span_of(one, str(number), seq=number + 1)
        said = texts(listen(committed_cast.user(committed_cast.operator), task))
        assert said == [str(number) for number in range(LINES + 5)]

    def test_whoever_is_put_out_hears_no_more(self, committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stream, "_LOOK_S", 0.001)
        monkeypatch.setattr(stream, "_BEAT_LOOKS", 2)
        task, _ = started(committed_cast)
        user = committed_cast.user(committed_cast.auditor)
        original, looks = stream._look, []

        def look(*args: Any) -> Any:
            looks.append(1)
            if len(looks) == 2:
                Membership.objects.get(user=user).delete()
                user.groups.clear()
            return original(*args)

        monkeypatch.setattr(stream, "_look", look)
        events = listen(user, task)
        assert [event.name for event in events] == ["state"]
        assert len(looks) <= 4

    def test_a_stranger_gets_what_a_random_id_gets(self, committed_cast: Cast) -> None:
        task, _ = started(committed_cast)
        client = Client()
        client.force_login(committed_cast.user(committed_cast.stranger))
        answer = client.get(reverse("console:task-events", args=[task.pk]))
        assert (answer.status_code, answer.content) == (404, b"")


class TestServer:
    """Once over a real socket, in the process that `manage.py serve` runs."""

    def test_events_arrive_while_it_runs(self, committed_cast: Cast) -> None:
        task, (_, one, _, _) = started(committed_cast)
        client = Client()
        client.force_login(User.objects.get(pk=committed_cast.operator.id))
        with serving() as base:
            request = urllib.request.Request(base + reverse("console:task-events", args=[task.pk]))
            request.add_header("Cookie", f"sessionid={client.cookies['sessionid'].value}")
            with urllib.request.urlopen(request, timeout=20) as answer:
                assert answer.headers["Content-Type"] == "text/event-stream"
                assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
                first = answer.readline() + answer.readline() + answer.readline()
                assert first.startswith(b": still here\n\nevent: state")
                span_of(one, "while you listen")
                Task.objects.filter(pk=task.pk).update(status="completed")
                rest = (first + answer.read()).decode()
        names = [event.name for event in events_in(rest)]
        assert names[0] == "state"
        assert names[-1] == "end"
        assert texts(events_in(rest)) == ["while you listen"]
