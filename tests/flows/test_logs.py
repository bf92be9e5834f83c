"""Log lines say which request, job or attempt they belong to, and never what anybody wrote."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from logging.config import dictConfig
from typing import Any
from uuid import uuid4

import pytest
import structlog
from asgiref.sync import async_to_sync
from django.conf import settings as configured
from django.test import AsyncClient, Client
from django.urls import reverse

from apps.conductor import broker
from apps.conductor.pool import embedded_pool
from apps.conductor.story import submit
from apps.memory.models import Note
from apps.memory.services.review import NoteText, write_note
from apps.tasks.models import Attempt, Span, Task
from config.logs import logging_settings
from tests.support.cast import Cast
from tests.support.plans import node
from tests.support.scripted import ScriptedRuntime
from tests.support.secrets import github_token
from tikitaka.policy import DEFAULT
from tikitaka.ports import Launch

pytestmark = pytest.mark.django_db(transaction=True)


class Written:
    """What has been logged."""

    def __init__(self, stream: StringIO) -> None:
        self._stream = stream

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    def lines(self, event: str = "") -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.text.splitlines()]
        return [line for line in found if event in line["event"]]

    def line(self, event: str) -> dict[str, Any]:
        (line,) = self.lines(event)
        return line


@contextmanager
def logging_at(level: str) -> Iterator[Written]:
    """The product's own logging, with a handler that writes where a test can read."""
    stream = StringIO()
    chosen = logging_settings(level)
    chosen["handlers"]["stderr"]["stream"] = stream
    before = logging.getLogger().handlers[:]
    dictConfig(chosen)
    try:
        yield Written(stream)
    finally:
        dictConfig(configured.LOGGING)
        logging.getLogger().handlers[:] = before


@pytest.fixture
def written() -> Iterator[Written]:
    with logging_at("DEBUG") as found:
        yield found


@pytest.fixture
def broken_page(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """A page that breaks with a message, and what opens it."""
    settings.TIKITAKA_METRICS_TOKEN = secrets.token_urlsafe(24)

    def breaks_with(message: str) -> str:
        def broken() -> bytes:
            structlog.get_logger("apps.somewhere").info("inside")
            raise ValueError(message)

        monkeypatch.setattr("apps.console.views.metrics.exposition", broken)
        return f"Bearer {settings.TIKITAKA_METRICS_TOKEN}"

    return breaks_with


class TestRequests:
    def test_every_line_of_a_request_carries_the_id_of_its_answer(
        self, written: Written, broken_page: Callable[[str], str]
    ) -> None:
        header = broken_page("x")
        client = Client(raise_request_exception=False)
        answer = client.get(reverse("console:metrics"), headers={"authorization": header})
        assert answer.status_code == 500
        assert len(answer["X-Request-Id"]) == 32
        for event in ("inside", "Internal Server Error"):
            assert written.line(event)["request"] == answer["X-Request-Id"]

    def test_a_page_that_is_not_there_too(self, written: Written) -> None:
        answer = Client().get("/nothing/")
        assert written.line("Not Found")["request"] == answer["X-Request-Id"]

    def test_each_request_has_its_own_and_none_is_taken_from_the_caller(self) -> None:
        sent = uuid4().hex
        ids = {Client().get("/healthz", headers={"x-request-id": sent})["X-Request-Id"] for _ in range(3)}
        assert len(ids) == 3
        assert sent not in ids

    def test_nothing_of_a_request_clings_to_the_thread_that_answered(self, written: Written) -> None:
        Client().get("/healthz")
        structlog.get_logger("apps.somewhere").info("later")
        assert "request" not in written.line("later")

    def test_under_asgi_too(self, written: Written, broken_page: Callable[[str], str]) -> None:
        header = broken_page("x")

        async def ask() -> Any:
            client = AsyncClient(raise_request_exception=False)
            return await client.get(reverse("console:metrics"), headers={"authorization": header})

        answer = async_to_sync(ask)()
        assert written.line("inside")["request"] == answer["X-Request-Id"]
        assert written.line("Internal Server Error")["request"] == answer["X-Request-Id"]


class TestJobs:
    def test_in_the_embedded_pool(self, written: Written) -> None:
        subject = uuid4()
        with embedded_pool() as pool:
            pool._jobs = {"breaks": breaks}
            pool.wake("breaks", subject)
            assert pool.drain(120)
        line = written.line("a job broke")
        assert (line["job"], line["subject"]) == ("breaks", str(subject))
        assert line["error_type"] == "ValueError"

    def test_in_a_worker(self, written: Written) -> None:
        subject = str(uuid4())
        broker._task("breaks", breaks)
        try:
            broker.app.tasks["tikitaka.breaks"].run(subject)
        finally:
            broker.app.tasks.pop("tikitaka.breaks")
        line = written.line("a job broke")
        assert (line["job"], line["subject"]) == ("breaks", subject)

    def test_the_next_job_of_the_thread_is_another(self, written: Written) -> None:
        broker._task("breaks", breaks)
        try:
            broker.app.tasks["tikitaka.breaks"].run(str(uuid4()))
        finally:
            broker.app.tasks.pop("tikitaka.breaks")
        structlog.get_logger("apps.somewhere").info("later")
        assert not {"job", "subject"} & set(written.line("later"))


class TestAttempts:
    def test_lines_of_an_attempt_say_which(self, committed_cast: Cast, written: Written) -> None:
        def script(launch: Launch) -> str:
            structlog.get_logger("apps.somewhere").info("inside")
            raise ValueError("x")

        task = ran(committed_cast, "do it", node(1), runtimes=ScriptedRuntime(script))
        attempts = {
            str(attempt.pk): {"task": str(task.pk), "node": str(attempt.node_id), "attempt": str(attempt.pk)}
            for attempt in Attempt.objects.filter(task=task)
        }
        assert len(attempts) == DEFAULT.node_attempts_max
        for event in ("inside", "an attempt broke"):
            lines = written.lines(event)
            assert {line["attempt"] for line in lines} == set(attempts)
            assert all(attempts[line["attempt"]].items() <= line.items() for line in lines)


class TestWhatStaysOut:
    """A secret and a sentence pass through everything that handles text, at the loudest level."""

    def test_prompt_span_note_and_errors(
        self, committed_cast: Cast, written: Written, broken_page: Callable[[str], str]
    ) -> None:
        secret, sentence = github_token(secrets.randbits(32)), f"Never on a {secrets.token_hex(6)}."
        words = f"{sentence} The key is {secret}"
        header = broken_page(words)

        task = ran(committed_cast, f"{words}\ndo: think {words}\ndo: say {words}", node(1, f"do: say {words}"))
        write_note(
            actor=committed_cast.owner,
            team=committed_cast.team,
            text=NoteText(content=words, description=sentence, skill_key="x-y-z"),
            policy=DEFAULT,
        )
        ran(committed_cast, words, node(1), runtimes=ScriptedRuntime(lambda launch: breaks(launch.prompt)))
        with embedded_pool() as pool:
            pool._jobs = {"breaks": lambda _: breaks(words)}
            pool.wake("breaks", uuid4())
            assert pool.drain(120)
        Client(raise_request_exception=False).get(reverse("console:metrics"), headers={"authorization": header})
        logging.getLogger("library").error("it broke: %s", ValueError(words))

        assert Task.objects.get(pk=task.pk).status == "completed"
        assert Span.objects.filter(attempt__task=task, text__contains=sentence).exists()
        assert Note.objects.filter(content__contains=sentence).exists()
        for event in ("an attempt broke", "a job broke", "Internal Server Error", "it broke: ValueError"):
            assert written.lines(event), event
        for kept_out in (secret, sentence, header.removeprefix("Bearer ")):
            assert kept_out not in written.text

    @pytest.mark.parametrize("name", ["django.db.backends", "openai._base_client", "httpcore.http11", "celery"])
    def test_libraries_say_no_values(self, written: Written, name: str) -> None:
        logging.getLogger(name).debug("Request options: %s", {"json_data": "words"})
        assert written.text == ""

    def test_the_product_is_as_loud_as_is_asked(self) -> None:
        for level, expected in (("DEBUG", 2), ("INFO", 1), ("ERROR", 0)):
            with logging_at(level) as written:
                logging.getLogger("apps.somewhere").debug("fine")
                logging.getLogger("apps.somewhere").info("coarse")
            assert len(written.lines()) == expected


def breaks(what: Any) -> str:
    raise ValueError(str(what))


def ran(cast: Cast, prompt: str, *plan: dict[str, Any], **options: Any) -> Task:
    """A task that was run to its end in a pool of this process."""
    with embedded_pool(**options) as pool:
        task = submit(actor=cast.operator, team=cast.team, prompt=prompt, plan=list(plan)).task
        assert pool.drain(120)
    return task
