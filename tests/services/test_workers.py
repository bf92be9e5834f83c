"""Tasks on real worker processes, with a real broker: limits, losses, kills, cancelling, draining."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.conductor.story import cancel, submit
from apps.providers.embedding.remote import EncoderAway
from apps.providers.models import EmbedRequest
from apps.providers.services.vectors import vectors_for
from apps.tasks.models import AgentLease, Attempt, Task, TreeLock
from tests.support.cast import Cast
from tests.support.plans import node
from tests.support.workers import Fleet, empty_broker, fleet, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
EVERYTHING = "control,nodes,embed,flush"


@pytest.fixture
def workers(committed_cast: Cast, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(tmp_path) as found:
        yield found


def submitted(cast: Cast, *plan: dict) -> Task:
    return submit(actor=cast.operator, team=cast.team, prompt="x", plan=list(plan)).task


def settled(task: Task, seconds: float = 60) -> Task:
    def ended() -> bool:
        return Task.objects.filter(pk=task.pk, settled_at__isnull=False).exists()

    def state() -> str:
        attempts = Attempt.objects.values("status", "error", "error_detail")
        return f"{list(Task.objects.values('status', 'segment_id'))} {list(attempts)}"

    wait_until(ended, seconds, state)
    return Task.objects.get(pk=task.pk)


def nothing_is_held() -> bool:
    return not AgentLease.objects.exists() and not TreeLock.objects.exists()


def test_a_task_runs_from_prompt_to_end(committed_cast: Cast, workers: Fleet) -> None:
    workers.start(EVERYTHING, size=4)
    task = submitted(committed_cast, node(1), node(2, after=(1,)), node(3, after=(2,)))
    assert settled(task).status == "completed"
    assert nothing_is_held()


class TestPeak:
    """Four workers with room for eight attempts each; the programs themselves count how many are inside."""

    CASES = (
        ("disjoint areas", 4, (node(2, area="backend"), node(3, area="frontend")), 2),
        ("overlapping areas", 4, (node(2, area="general"), node(3, area="frontend")), 1),
        ("the same agent", 4, (node(2, area="backend"), node(2, area="frontend")), 1),
        ("width one", 1, (node(2, area="backend"), node(3, area="frontend")), 1),
    )

    def test_peak_in_flight(self, committed_cast: Cast, workers: Fleet, tmp_path: Path) -> None:
        workers.start("nodes", count=4)
        workers.start("control,embed", size=4)
        seen = {}
        for name, width, plan, _ in self.CASES:
            folder = tmp_path / name.replace(" ", "-")
            folder.mkdir()
            type(committed_cast.team).objects.filter(pk=committed_cast.team.pk).update(width=width)
            nodes = [{**item, "instruction": f"do: probe 1 {folder}\ndo: say done"} for item in plan]
            assert settled(submitted(committed_cast, *nodes)).status == "completed"
            seen[name] = max(int(file.read_text()) for file in folder.glob("saw-*"))
        assert seen == {name: peak for name, _, _, peak in self.CASES}


class TestLostWorkers:
    def test_a_node_that_kills_its_worker_fails_after_two_attempts(self, committed_cast: Cast, workers: Fleet) -> None:
        workers.environment |= SHORT_LEASES
        workers.start("control,embed", size=4)
        workers.start("nodes", count=3)
        task = submitted(committed_cast, node(2, "do: kill-worker"), node(3, "do: say fine", area="frontend"))

        def swept() -> bool:
            workers.sweep()
            return Task.objects.filter(pk=task.pk, settled_at__isnull=False).exists()

        wait_until(swept, 90)
        assert settled(task).status == "partial"
        attempts = Attempt.objects.filter(node__agent=committed_cast.agents["backend"]).order_by("number")
        assert list(attempts.values_list("status", "error")) == [("interrupted", "interrupted")] * 2
        assert nothing_is_held()

    def test_messages_that_are_lost_are_found_by_the_sweep(self, committed_cast: Cast, workers: Fleet) -> None:
        task = submitted(committed_cast, node(2), node(3, after=(1,)))
        empty_broker(workers.prefix)
        workers.start(EVERYTHING, size=4)

        def swept() -> bool:
            workers.sweep()
            return Task.objects.filter(pk=task.pk, settled_at__isnull=False).exists()

        wait_until(swept, 90)
        assert settled(task).status == "completed"


class TestCancel:
    def test_children_on_another_worker_are_gone_within_two_seconds(self, committed_cast: Cast, workers: Fleet) -> None:
        """Of three tries the fastest counts: what else the machine does may hold up one of them."""
        workers.start(EVERYTHING, size=4)
        assert min(self.seconds_until_gone(committed_cast) for _ in range(3)) <= 2

    def seconds_until_gone(self, cast: Cast) -> float:
        task = submitted(cast, node(2, "do: think busy\ndo: spawn 300\ndo: sleep 300"))
        workspace = str(cast.folder("backend"))
        attempts = Attempt.objects.filter(task=task, status="running", spans__isnull=False)
        wait_until(attempts.exists, 90)
        assert programs_in(workspace)

        cancel(actor=cast.operator, task=Task.objects.get(pk=task.pk))

        began = time.monotonic()
        wait_until(lambda: not programs_in(workspace), 90, lambda: str(programs_in(workspace)))
        took = time.monotonic() - began
        assert settled(task).status == "cancelled"
        assert nothing_is_held()
        return took


class TestDraining:
    def test_a_drained_worker_ends_what_runs_and_takes_nothing_new(self, committed_cast: Cast, workers: Fleet) -> None:
        workers.start("control,embed", size=4)
        workers.start("nodes")
        (draining,) = workers.workers[1:]
        task = submitted(committed_cast, node(2, "do: think\ndo: sleep 3\ndo: say kept"), node(3, after=(1,)))
        wait_until(lambda: Attempt.objects.filter(status="running").exists(), 90)

        draining.send_signal(signal.SIGTERM)
        assert draining.wait(timeout=120) == 0

        first = Attempt.objects.get()
        assert (first.status, first.output) == ("completed", "kept")
        workers.start("nodes")
        assert settled(task).status == "completed"


SHORT_LEASES = {"TIKITAKA_POLICY_LEASE_S": "5", "TIKITAKA_POLICY_LEASE_RENEW_S": "2"}


def programs_in(folder: str) -> list[int]:
    """The processes whose working directory is an agent's workspace."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str((entry / "cwd").readlink()) == folder:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


class TestEncoder:
    """The real encoder, loaded once before the worker forks; everybody else asks for vectors and waits."""

    def test_two_children_share_one_copy(self, workers: Fleet, settings) -> None:
        workers.environment["TIKITAKA_EMBEDDER"] = settings.TIKITAKA_EMBEDDER = "sbert"
        settings.TIKITAKA_EMBED_HERE = False
        workers.start("embed", size=2)

        vectors = vectors_for(["uploads are checked", "the canteen serves soup"])

        assert {len(vector) for vector in vectors.values()} == {384}
        assert not EmbedRequest.objects.exclude(texts=[]).exists()
        (worker,) = workers.workers
        shared = [private_megabytes(child) for child in children_of(worker.pid)]
        assert len(shared) == 2
        assert min(shared) < 60, "an idle child holds no model of its own"

    def test_nobody_there_is_an_error_with_a_name(self, workers: Fleet, settings) -> None:
        settings.TIKITAKA_EMBED_HERE, settings.TIKITAKA_EMBED_WAIT_S = False, 1
        with pytest.raises(EncoderAway):
            vectors_for(["a text that no cache holds"])

    @pytest.mark.parametrize("values", [{"TIKITAKA_EMBEDDER": "off"}, {"TIKITAKA_EMBED_HERE": "0"}])
    def test_a_worker_that_cannot_encode_does_not_start(self, workers: Fleet, values: dict[str, str]) -> None:
        with pytest.raises(AssertionError, match="cannot encode"):
            workers.start("embed", **values)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def private_megabytes(pid: int) -> int:
    """What a process has written for itself since it was forked."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) // 1024
