"""Steps 3 to 6: claim what is ready, freeze its context, run it, write its end. Event-driven, without a barrier.

A dispatch settles all ends of a team that have come in and claims what they made ready, in one transaction.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DataError, IntegrityError, close_old_connections, connections
from structlog.contextvars import bound_contextvars

from apps.conductor.capture import SpanCollector
from apps.conductor.incidents import open_incident
from apps.conductor.models import IncidentKind
from apps.conductor.outage import AGAIN_S, AWAY, outlast
from apps.conductor.preparation import Inquiry, Prepared, inquire, prepare
from apps.conductor.story import go_on
from apps.conductor.wake import wake
from apps.ledger.services import recording
from apps.memory.services.landing.skills import keep_catalogue
from apps.providers.runtimes import runtime
from apps.tasks.models import Task
from apps.tasks.services.attempts import StaleHolder, clean_thread_id, move_cursor, renew
from apps.tasks.services.claim import Claimed
from apps.tasks.services.finish import Ended, Finished, finish_attempts
from apps.tasks.services.turn import take_turn
from apps.teams.hosts import require_here
from apps.teams.selectors import gate
from tikitaka.policy import Policy
from tikitaka.ports import AgentRuntime, RunEnd
from tikitaka.scheduling.fairness import room_for
from tikitaka.scheduling.locks import contains, lock_prefixes

log = structlog.get_logger(__name__)
_WATCH_S = 1.0
_OFFER_S = 0.5
_DATA_FAULTS = (DataError, IntegrityError, ValueError, TypeError, OverflowError)


@dataclass(slots=True)
class Live:
    """An attempt that this process runs."""

    claimed: Claimed
    cancelled: threading.Event = field(default_factory=threading.Event)


class Runner:
    """The attempts of this process: their ends by team, their leases, their kill switches."""

    def __init__(
        self,
        *,
        start: Callable[[Callable[[], None]], None],
        slots: int,
        policy: Policy | None = None,
        runtimes: Callable[[str], AgentRuntime] = runtime,
        offer: Callable[[UUID], None] | None = None,
    ) -> None:
        """`start` runs an attempt in a thread; `offer` tells other processes of a team that has no room here."""
        self._start = start
        self._offer = offer
        self._offered: dict[UUID, float] = {}
        self._slots = slots
        self._policy: Policy = policy or settings.TIKITAKA_POLICY
        self._runtimes = runtimes
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._draining = False
        self._claiming = threading.Lock()  # held from counting free slots to taking them, or two teams take one
        self._live: dict[UUID, Live] = {}
        self._ends: dict[UUID, list[Ended]] = defaultdict(list)
        self._hungry: dict[UUID, UUID] = {}  # teams that found no slot, each with its organization
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None
        self.peak = 0

    def dispatch(self, team: UUID) -> None:
        """Writes the ends that have come in for a team, then starts whatever may start now."""
        ends: list[Ended] = []
        try:
            organization = self._organization(team)
            with self._claiming:
                room = self._room_for(team, organization)
                finished, inquiry = self._settle_and_claim(team, organization, ends, room)
                claimed = inquiry.claimed if inquiry is not None else ()
                self._take_slots(claimed)
        except BaseException as error:
            if ends and isinstance(error, _DATA_FAULTS):
                self._write_each_alone(team, ends)
                return
            self._put_back(team, ends)
            if isinstance(error, AWAY):
                self._wake_later(team)
            raise
        if room <= len(claimed):
            self._wait_for_slot(team, organization)
        self._wake_hungry(team)
        if inquiry is not None:
            self._launch(inquiry)
        if finished is not None:
            go_on(finished)

    def _room_for(self, team: UUID, organization: UUID) -> int:
        """How many attempts may begin now; the rest of the free slots is kept for who runs less and waits.

        Who has ended an attempt and was not dispatched yet waits too: its next one may be ready.
        """
        with self._lock:
            free = 0 if self._draining else self._slots - len(self._live)
            self._hungry.pop(team, None)
            waiting = {of: ends[0].claimed.organization for of, ends in self._ends.items()} | self._hungry
            running = Counter(live.claimed.organization for live in self._live.values())
            return room_for(organization, free=free, running=running, waiting=waiting.values())

    def _settle_and_claim(
        self, team: UUID, organization: UUID, ends: list[Ended], room: int
    ) -> tuple[Finished | None, Inquiry | None]:
        """One transaction, however many ends there are; `ends` is filled as late as may be, so that it takes more.

        What preparing the claimed ones needs is asked behind it.
        """
        with recording(organization) as ledger:
            with self._lock:
                ends += self._ends.pop(team, [])
            finished, claimed = take_turn(
                organization=organization, team=team, ends=ends, room=room, policy=self._policy
            )
            inquiry = inquire(claimed)
            if inquiry is not None:
                ledger.ask_behind(*inquiry.questions())
        return finished, inquiry

    def _organization(self, team: UUID) -> UUID:
        with self._lock:
            waiting = self._ends.get(team)
        if waiting:
            return waiting[0].claimed.organization
        found = gate(team).ask()
        require_here(found.host)
        return found.organization

    def _take_slots(self, claimed: Sequence[Claimed]) -> None:
        """Leases are watched from the claim on."""
        with self._lock:
            self._live |= {item.attempt: Live(item) for item in claimed}
            self.peak = max(self.peak, len(self._live))
            if claimed and self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="leases", daemon=True)
                self._watcher.start()

    def _wait_for_slot(self, team: UUID, organization: UUID) -> None:
        """The next end wakes the team, or whoever leaves the slot that was kept for them."""
        now = time.monotonic()
        with self._lock:
            self._hungry[team] = organization
            offered = self._offered.get(team, 0.0)
            if now - offered >= _OFFER_S:
                self._offered[team] = now
        if self._offer is not None and now - offered >= _OFFER_S:
            self._offer(team)

    def _wake_hungry(self, team: UUID) -> None:
        """A slot that is free after a dispatch, because it was kept or has just come free, is for somebody who waits.

        A team that waits itself is woken only when it waits alone: the others leave it what they do not take.
        """
        with self._lock:
            if self._draining or len(self._live) >= self._slots:
                return
            others = [hungry for hungry in self._hungry if hungry != team]
            woken = others or list(self._hungry)
        for hungry in woken:
            wake("dispatch", hungry)

    def _write_each_alone(self, team: UUID, ends: list[Ended]) -> None:
        """What one agent answered must not keep the ends of the others from being written."""
        for place, ended in enumerate(ends):
            try:
                finished = self._write_or_refuse(team, ended)
            except BaseException as error:
                self._put_back(team, ends[place:])
                if isinstance(error, AWAY):
                    self._wake_later(team)
                raise
            go_on(finished)
        wake("dispatch", team)

    def _write_or_refuse(self, team: UUID, ended: Ended) -> Finished:
        organization = ended.claimed.organization
        try:
            return finish_attempts(organization=organization, team=team, ends=[ended], policy=self._policy)
        except _DATA_FAULTS as error:
            log.exception("an end cannot be stored", attempt=str(ended.claimed.attempt))
            detail = f"the end cannot be stored: {type(error).__name__}"
            refused = Ended(claimed=ended.claimed, end=RunEnd(answer=None, error="bad_answer", detail=detail))
            return finish_attempts(organization=organization, team=team, ends=[refused], policy=self._policy)

    def _put_back(self, team: UUID, ends: list[Ended]) -> None:
        """An end that could not be written is written by the next dispatch."""
        if ends:
            with self._lock:
                self._ends[team][:0] = ends

    def _wake_later(self, team: UUID) -> None:
        """Where nothing sweeps, nobody else would come back to what a failing database left undone."""

        def again() -> None:
            if not self._stopping.is_set():
                wake("dispatch", team)

        timer = threading.Timer(AGAIN_S, again)
        timer.daemon = True
        timer.start()

    def kill(self, attempt: UUID) -> None:
        """Stops an attempt of this process at once; unknown ones are another process's business."""
        live = self._live.get(attempt)
        if live is not None:
            live.cancelled.set()

    def busy(self) -> bool:
        """True while an attempt runs or its end has not been written."""
        with self._lock:
            return bool(self._live or self._ends)

    def wait_for_room(self) -> None:
        """Waits until another attempt could begin here, or none begins any more."""
        with self._room:
            self._room.wait_for(lambda: len(self._live) < self._slots or self._draining)

    def stop_claiming(self) -> None:
        """Attempts that run end and are settled; none begins."""
        with self._room:
            self._draining = True
            self._room.notify_all()

    def stop(self) -> None:
        """Kills everything that runs here, for the end of the process."""
        self._stopping.set()
        for live in list(self._live.values()):
            live.cancelled.set()

    def _launch(self, inquiry: Inquiry) -> None:
        """Programs start once their snapshots are saved."""
        claimed = inquiry.claimed
        try:
            prepared = prepare(inquiry, policy=self._policy)
        except Exception as error:
            log.exception("attempts could not be prepared", attempts=[str(item.attempt) for item in claimed])
            for item in claimed:
                self._finish(item, _broken(error))
            return
        for ready in prepared:
            self._start(partial(self._run, ready))
        for item in claimed:
            if item.attempt not in {ready.claimed.attempt for ready in prepared}:
                self._finish(item, None)

    def _run(self, prepared: Prepared) -> None:
        claimed = prepared.claimed
        live = self._live[claimed.attempt]
        with bound_contextvars(task=str(claimed.task), node=str(claimed.node), attempt=str(claimed.attempt)):
            try:
                end: RunEnd | None = run_attempt(prepared, live.cancelled, policy=self._policy, runtimes=self._runtimes)
            except StaleHolder:
                end = None
            except Exception as error:
                log.exception("an attempt broke")
                end = _broken(error)
            self._finish(claimed, end)

    def _finish(self, claimed: Claimed, end: RunEnd | None) -> None:
        """Hands an end to the next dispatch; None when the attempt is no longer ours to end."""
        ended = _redacted(claimed, end) if end is not None else None
        with self._lock:
            self._live.pop(claimed.attempt, None)
            self._room.notify_all()
            if ended is not None and not self._stopping.is_set():
                self._ends[claimed.team].append(ended)
            hungry = list(self._hungry)  # each stays until it is dispatched: who comes before it must know of it
        for team in {claimed.team, *hungry}:
            wake("dispatch", team)

    def _watch(self) -> None:
        """Renews leases, and stops what has lost its lease or whose task is being cancelled elsewhere."""
        renewed = time.monotonic()
        try:
            while not self._stopping.wait(_WATCH_S):
                live = dict(self._live)
                if not live:
                    continue
                try:
                    if time.monotonic() - renewed >= self._policy.lease_renew_s:
                        self._renew(live)
                        renewed = time.monotonic()
                    self._stop_cancelled(live)
                except Exception:
                    log.exception("leases could not be renewed")
                close_old_connections()
        finally:
            connections.close_all()

    def _renew(self, live: Mapping[UUID, Live]) -> None:
        held = renew(list(live), policy=self._policy)
        self._stop_those(item for key, item in live.items() if key not in held)

    def _stop_cancelled(self, live: Mapping[UUID, Live]) -> None:
        tasks = {item.claimed.task for item in live.values()}
        cancelling = Task.objects.filter(pk__in=tasks, cancel_requested_at__isnull=False)
        doomed = set(cancelling.values_list("pk", flat=True))
        self._stop_those(item for item in live.values() if item.claimed.task in doomed)

    def _stop_those(self, doomed: Iterable[Live]) -> None:
        for item in doomed:
            item.cancelled.set()


def _counted(end: RunEnd, prompt: str) -> RunEnd:
    """A runtime that reports no usage has not worked for nothing: then it is a token for every four characters."""
    if end.usage or end.error == "missing_program":
        return end
    estimate = {"estimated": 1, "input_tokens": len(prompt) // 4, "output_tokens": len(end.answer or "") // 4}
    return replace(end, usage=estimate)


def _redacted(claimed: Claimed, end: RunEnd) -> Ended:
    """What cannot even be cleaned is no answer; an attempt that stayed live for it would be renewed for ever."""
    try:
        return Ended(claimed=claimed, end=end)
    except Exception as error:
        log.exception("an end could not be redacted", attempt=str(claimed.attempt))
        refused = RunEnd(answer=None, error="bad_answer", detail=f"it could not be redacted: {type(error).__name__}")
        return Ended(claimed=claimed, end=refused)


def run_attempt(
    prepared: Prepared, cancelled: threading.Event, *, policy: Policy, runtimes: Callable[[str], AgentRuntime] = runtime
) -> RunEnd:
    """Runs one prepared attempt to its end, storing its spans as they come.

    What the agent did is not lost because the database is away for a while: longer than a lease would be in vain.
    """
    claimed, order = prepared.claimed, prepared.order
    collector = SpanCollector(attempt=claimed.attempt, fence=claimed.fence, policy=policy)

    def stopped() -> bool:
        collector.tick()
        return cancelled.is_set()

    end = runtimes(order.runtime).run(prepared.launch, on_line=collector.feed, cancelled=stopped)
    return outlast(lambda: _store_end(prepared, collector, end), patience_s=policy.lease_s, stop=cancelled)


def _store_end(prepared: Prepared, collector: SpanCollector, end: RunEnd) -> RunEnd:
    """What is known once the program has ended; all but the last step may be done twice."""
    claimed, order = prepared.claimed, prepared.order
    collector.store()
    keep_catalogue(agent=claimed.agent)
    thread_id = clean_thread_id(end.thread_id or "")
    if thread_id and thread_id == end.thread_id and order.remembers:  # a changed name would name another thread
        move_cursor(
            attempt=claimed.attempt,
            fence=claimed.fence,
            agent=claimed.agent,
            thread_id=thread_id,
            shown_to_seq=prepared.compiled.to_seq_inclusive,
        )
    _report_outside(prepared, collector.changed_files)  # an incident counts how often it was seen
    return _counted(replace(end, thread_id=thread_id), prepared.launch.prompt)


def _broken(error: Exception) -> RunEnd:
    return RunEnd(answer=None, error="interrupted", detail=f"internal error: {type(error).__name__}")


def _report_outside(prepared: Prepared, paths: Sequence[str]) -> None:
    """Locks on the tree are cooperative: a change outside the node's area is reported, not prevented."""
    if not paths:
        return
    prefixes = lock_prefixes(prepared.order.globs)
    outside = [path for path in paths if path and not any(contains(prefix, path.strip("/")) for prefix in prefixes)]
    if outside:
        open_incident(
            organization=prepared.claimed.organization,
            team=prepared.claimed.team,
            kind=IncidentKind.OUTSIDE_AREA,
            subject=f"attempt {prepared.claimed.attempt}",
            detail=f"{len(outside)} changed files lie outside the node's work area",
        )
