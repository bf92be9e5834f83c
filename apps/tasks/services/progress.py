"""What an agent says about its progress: spans of a range of their own, beside those that its runtime numbers."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Max

from apps.ledger import clock
from apps.ledger.services import recording
from apps.tasks.models import Attempt, Span, SpanKind
from apps.tasks.services.attempts import span_values, store_spans
from tikitaka.capture.events import SpanDraft
from tikitaka.errors import WrongState
from tikitaka.policy import Policy

PROGRESS_FROM = 1_000_000_000
_REPORTS_MAX = 500


class TooManyReports(WrongState):
    """An attempt may report so often and no more."""

    code = "too_many_reports"


def report_progress(
    *, attempt: UUID, organization: UUID, fence: int, text: str, percent: int | None, policy: Policy
) -> int:
    """Stores one report, redacted, while the attempt is held; how many there are now."""
    draft = SpanDraft(kind="progress", text=text, data={} if percent is None else {"percent": percent})
    _, _, *redacted = span_values(attempt, PROGRESS_FROM, draft, at=clock.now(), policy=policy)
    with recording(organization):
        Attempt.objects.select_for_update(of=("self",)).get(pk=attempt)
        mine = Span.objects.filter(attempt=attempt, kind=SpanKind.PROGRESS, seq__gte=PROGRESS_FROM)
        last = mine.aggregate(last=Max("seq"))["last"] or PROGRESS_FROM - 1
        if last - PROGRESS_FROM + 1 >= _REPORTS_MAX:
            raise TooManyReports
        store_spans(attempt=attempt, fence=fence, rows=[(attempt, last + 1, *redacted)])
    return last - PROGRESS_FROM + 2
