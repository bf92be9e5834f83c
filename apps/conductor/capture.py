"""Lines of a running attempt as spans: numbered, batched, stored while it runs."""

from __future__ import annotations

import threading
import time
from uuid import UUID

import structlog
from django.db import close_old_connections

from apps.conductor.outage import AGAIN_S, AWAY
from apps.tasks.services.attempts import save_spans
from tikitaka.capture.codex_exec import parse_line
from tikitaka.capture.events import SpanDraft
from tikitaka.policy import Policy

log = structlog.get_logger(__name__)
_BATCH = 100
_DELAY_S = 0.05


class SpanCollector:
    """Takes lines as they come; a batch is stored at 100 spans or 50 ms, whichever is first."""

    def __init__(self, *, attempt: UUID, fence: int, policy: Policy) -> None:
        self._attempt, self._fence, self._policy = attempt, fence, policy
        self._pending: dict[int, SpanDraft] = {}
        self._numbers: dict[str, int] = {}
        self._last = 0
        self._since = 0.0
        self._away_until = 0.0
        self._lock = threading.Lock()
        self.changed_files: list[str] = []

    def feed(self, line: str) -> None:
        """One line of output."""
        for event in parse_line(line):
            if isinstance(event, SpanDraft):
                self._add(event)
        self.tick()

    def tick(self) -> None:
        """Stores what has waited long enough; while the database is away it goes on waiting."""
        now = time.monotonic()
        due = len(self._pending) >= _BATCH or now - self._since >= _DELAY_S
        if not self._pending or not due or now < self._away_until:
            return
        try:
            self.store()
        except AWAY as error:
            log.warning("the database is away; spans wait for it", error_type=type(error).__name__)
            self._away_until = time.monotonic() + AGAIN_S
            close_old_connections()

    def store(self) -> None:
        """Stores whatever is there; raises StaleHolder when the attempt is no longer ours."""
        with self._lock:
            batch, self._pending = self._pending, {}
        try:
            if batch:
                spans = sorted(batch.items())
                save_spans(attempt=self._attempt, fence=self._fence, spans=spans, policy=self._policy)
        except AWAY:
            with self._lock:
                self._pending = {**batch, **self._pending}
            raise

    def _add(self, draft: SpanDraft) -> None:
        with self._lock:
            number = self._numbers.get(draft.key) if draft.key else None
            if number is None:
                self._last += 1
                number = self._last
                if draft.key:
                    self._numbers[draft.key] = number
            if not self._pending:
                self._since = time.monotonic()
            self._pending[number] = draft
        if draft.kind == "file_change":
            self.changed_files += [str(change.get("path", "")) for change in draft.data.get("changes", [])]
