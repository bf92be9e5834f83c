"""An orchestrator against a scripted server: the lease is kept, spans come in order, and it stops when it should."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.core.client.servers import ATTEMPT, LOST, NOW, QUICK, TASK, Server, answer, lease, refusal
from tests.core.client.test_exchanges import BOTH
from tikitaka.client import Answer, Failed, Job, NotAuthenticated, Stopped, Unreachable, plans, work, work_async
from tikitaka.client.job import Batch
from tikitaka.client.reading import one
from tikitaka.client.records.external import Lease, Stored


class House:
    """Hands out one node and takes its end. What it answers otherwise a test changes by the last word of the path."""

    def __init__(self, **beat: Any) -> None:
        self.beat = {"expires_at": NOW, "cancel_requested": False, **beat}
        self.leases = [answer(body=lease(heartbeat_s=0))]
        self.troubles: dict[str, list[Any]] = {}
        self.server = Server(self._answer)
        self.ends: list[dict[str, Any]] = []
        self.spans: list[dict[str, Any]] = []
        self.beats = 0

    def _answer(self, request: httpx2.Request) -> Any:
        word = request.url.path.rsplit("/", 1)[1]
        if self.troubles.get(word):
            return self.troubles[word].pop(0)
        body = json.loads(request.content) if request.content else {}
        if word == "lease":
            return self.leases.pop(0) if self.leases else httpx2.Response(204)
        if word == "heartbeat":
            self.beats += 1
            return answer(body=self.beat)
        if word == "batch":
            self.spans += body["spans"]
            return answer(body={"stored": len(body["spans"])})
        self.ends.append(body)
        return answer(body={"attempt": str(ATTEMPT), "status": "failed" if "error" in body else "completed"})

    def run(self, waits: bool, program: Callable[[Job], Any]) -> int:
        """Until there are no more leases."""
        if waits:
            return work(self.server.client(), TASK, program, until=lambda: not self.leases, wait_s=0, patience=QUICK)

        async def until() -> bool:
            return not self.leases

        async def awaited(job: Job) -> Any:
            found = program(job)
            return await found if asyncio.iscoroutine(found) else found

        return asyncio.run(work_async(self.server.async_client(), TASK, awaited, until=until, wait_s=0, patience=QUICK))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "LOOK_S", 0.01)


def wait_for(happened: Callable[[], Any]) -> None:
    until = time.monotonic() + 90
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.005)


@BOTH
class TestWork:
    def test_an_answer(self, waits: bool) -> None:
        house = House()
        assert house.run(waits, lambda job: f"{job.envelope.instruction}: done") == 1
        assert house.ends == [{"output": "do it: done"}]

    def test_an_answer_with_what_it_took(self, waits: bool) -> None:
        house = House()
        house.run(waits, lambda job: Answer(output="x", usage={"input_tokens": 5}, thread="t1"))
        assert house.ends == [{"output": "x", "usage": {"input_tokens": 5}, "thread": "t1"}]

    @pytest.mark.parametrize(
        ("error", "reported"),
        [
            (ValueError("the key is hunter2"), {"error": "exit_nonzero", "detail": "ValueError"}),
            (Failed("timed_out", "after 60 s"), {"error": "timed_out", "detail": "after 60 s"}),
        ],
    )
    def test_a_failure(self, error: Exception, reported: dict[str, Any], waits: bool) -> None:
        """What an error says stays here: nobody knows what is in it."""

        def program(job: Job) -> str:
            raise error

        house = House()
        assert house.run(waits, program) == 1
        assert house.ends == [reported]

    def test_spans_come_in_order_and_before_the_end(self, waits: bool) -> None:
        house = House()
        house.troubles["batch"] = [LOST, refusal(503, "away")]

        def program(job: Job) -> str:
            first = job.span("command", "ls", status="started")
            job.span("command", "ls", replaces=first, data={"exit": 0})
            for number in range(450):
                job.span("progress", str(number))
            return "x"

        assert house.run(waits, program) == 1
        assert [span["seq"] for span in house.spans] == [1, 1, *range(2, 452)]
        assert house.spans[1] == {"seq": 1, "kind": "command", "text": "ls", "data": {"exit": 0}}

    def test_spans_that_the_server_does_not_take_fail_the_attempt(self, waits: bool) -> None:
        house = House()
        house.troubles["batch"] = [refusal(400, "invalid")]

        def program(job: Job) -> str:
            job.span("command", "x")
            return "y"

        house.run(waits, program)
        assert house.ends == [{"error": "bad_answer", "detail": "a span was refused: so it is"}]

    def test_a_server_that_is_away_for_a_moment(self, waits: bool) -> None:
        house = House()
        house.troubles = {"lease": [LOST, refusal(429, "too_many_requests")], "complete": [LOST, refusal(503, "away")]}
        assert house.run(waits, lambda job: "x") == 1

    def test_a_server_that_stays_away(self, waits: bool) -> None:
        house = House()
        house.troubles["lease"] = [LOST] * 4
        with pytest.raises(Unreachable):
            house.run(waits, lambda job: "x")

    def test_a_token_that_is_none_ends_it(self, waits: bool) -> None:
        house = House()
        house.troubles["lease"] = [refusal(401, "not_authenticated")]
        with pytest.raises(NotAuthenticated):
            house.run(waits, lambda job: "x")

    def test_an_end_that_is_not_taken_is_no_reason_to_end(self, waits: bool) -> None:
        house = House()
        house.leases *= 2
        house.troubles["complete"] = [refusal(409, "attempt_over")]
        assert house.run(waits, lambda job: "x") == 1

    def test_spans_that_cannot_be_sent_leave_the_attempt_to_the_server(self, waits: bool) -> None:
        house = House()
        house.troubles["batch"] = [LOST] * 50

        def program(job: Job) -> str:
            job.span("command", "x")
            return "y"

        assert house.run(waits, program) == 0
        assert house.ends == []


class TestStopping:
    """A thread looks by itself; a task is cancelled."""

    def test_a_cancelled_task_keeps_its_lease_until_the_program_has_stopped(self) -> None:
        house = House(cancel_requested=True)

        def program(job: Job) -> str:
            wait_for(lambda: job.stopped)
            seen = house.beats
            wait_for(lambda: house.beats > seen + 2)
            job.check()
            raise AssertionError

        assert house.run(True, program) == 1
        assert house.ends == [{"error": "cancelled"}]

    def test_whoever_overlooks_it_is_cancelled_all_the_same(self) -> None:
        house = House(cancel_requested=True)

        def program(job: Job) -> str:
            wait_for(lambda: job.cancelled)
            return "an answer that nobody wants"

        house.run(True, program)
        assert house.ends == [{"error": "cancelled"}]

    @pytest.mark.parametrize("word", ["heartbeat", "batch"])
    def test_a_lost_lease_ends_it_without_a_report(self, word: str) -> None:
        house = House()
        house.troubles[word] = [refusal(401, "not_authenticated")]

        def program(job: Job) -> str:
            job.span("progress", "1")
            wait_for(lambda: job.lost)
            with pytest.raises(Stopped, match="lost"):
                job.span("progress", "2")
            return "too late"

        assert house.run(True, program) == 0
        assert house.ends == []

    def test_a_lease_that_is_found_lost_by_the_last_spans(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(plans, "LOOK_S", 60)
        house = House()
        house.troubles["batch"] = [refusal(409, "attempt_over")]

        def program(job: Job) -> str:
            job.span("progress", "1")
            return "x"

        assert house.run(True, program) == 0

    def test_a_heartbeat_that_does_not_get_through_loses_nothing(self) -> None:
        house = House()
        house.troubles["heartbeat"] = [LOST, refusal(503, "away"), refusal(429, "too_many_requests")]

        def program(job: Job) -> str:
            wait_for(lambda: house.beats)
            return "x"

        assert house.run(True, program) == 1

    def test_a_program_in_an_event_loop_is_cancelled(self) -> None:
        house = House(cancel_requested=True)
        cleaned: list[int] = []

        async def program(job: Job) -> str:
            try:
                await asyncio.sleep(60)
            finally:
                seen = house.beats
                while house.beats < seen + 3:
                    await asyncio.sleep(0.005)
                cleaned.append(house.beats)
            return "x"

        assert house.run(False, program) == 1
        assert cleaned, "it cleans up while its lease is kept"
        assert house.ends == [{"error": "cancelled"}]

    def test_a_lost_lease_cancels_it_too(self) -> None:
        house = House()
        house.troubles["heartbeat"] = [refusal(401, "not_authenticated")]

        async def program(job: Job) -> str:
            await asyncio.sleep(60)
            return "x"

        assert house.run(False, program) == 0
        assert house.ends == []

    def test_cancelling_the_orchestrator_cancels_the_program(self) -> None:
        """The attempt is not reported: its lease runs out, and the server tries again."""
        house = House()
        ended: list[str] = []

        async def program(job: Job) -> str:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append("program")
            return "x"

        async def main() -> None:
            working = asyncio.create_task(work_async(house.server.async_client(), TASK, program, wait_s=0))
            while not house.beats:
                await asyncio.sleep(0.005)
            working.cancel()
            with pytest.raises(asyncio.CancelledError):
                await working

        asyncio.run(main())
        assert ended == ["program"]
        assert house.ends == []

    def test_interrupting_it_leaves_no_thread_behind(self) -> None:
        def program(job: Job) -> str:
            raise KeyboardInterrupt

        house = House()
        before = threading.active_count()
        with pytest.raises(KeyboardInterrupt):
            house.run(True, program)
        assert threading.active_count() == before
        assert house.ends == []

    def test_a_server_that_is_busy_is_not_asked_for_spans_all_the_time(self) -> None:
        house = House()
        house.troubles["batch"] = [refusal(429, "too_many_requests")]

        def program(job: Job) -> str:
            job.span("progress", "x")
            wait_for(lambda: not house.troubles["batch"])
            time.sleep(0.1)
            return str(len(house.spans))

        house.run(True, program)
        assert house.ends == [{"output": "0"}]
        assert len(house.spans) == 1, "the last spans are sent before the end"


class TestJob:
    def job(self) -> Job:
        return Job(one(Lease)(_reply(lease(thread="t1"))))

    def test_what_it_is_given(self) -> None:
        job = self.job()
        assert (job.prompt, job.thread, job.attempt, job.heartbeat_s) == ("Build it.", "t1", ATTEMPT, 16)

    def test_one_batch_at_a_time(self) -> None:
        job = self.job()
        job.span("progress", "1")
        batch = job.batch()
        assert isinstance(batch, Batch)
        job.span("progress", "2")
        assert job.batch() is None
        assert job.tells
        job.told(batch, Stored(stored=1))
        assert job.batch() is not None

    def test_the_last_spans_wait_for_the_batch_that_is_on_its_way(self) -> None:
        job = self.job()
        job.span("progress", "1")
        batch = job.batch()
        assert batch is not None
        plan = plans.report(job, "x", QUICK)
        assert isinstance(next(plan), plans.Rest)
        job.told(batch, Stored(stored=1))
        assert isinstance(plan.send(None), plans.Ask)

    def test_the_lease_does_not_show_its_token(self) -> None:
        assert "B" * 5 not in repr(one(Lease)(_reply(lease())))


def _reply(body: Any) -> Any:
    from tikitaka.client.calls import Reply

    return Reply(status=200, content=json.dumps(body).encode())
