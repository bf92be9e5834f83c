"""Retention: the words of finished tasks go after a time, and the log of webhooks. All other rows and the ledger stay.

Deciding and removing are guarded by rows like everything else, so it may stop anywhere and go on at any time.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.conductor.import_rows import UNKNOWN_PROMPT
from apps.conductor.models import ImportSource, WebhookDelivery, WebhookEndpoint
from apps.context.models import ContextSnapshot
from apps.ledger import clock
from apps.ledger.services import recording
from apps.ledger.writing import writing
from apps.memory.selectors import prunable_tasks, uncovered_nodes
from apps.tasks.models import Attempt, Message, Span, Task
from apps.tasks.services.log import lock_scheduler
from tikitaka.ledger.events import TaskPruned
from tikitaka.policy import Policy
from tikitaka.retention import settled_until

_ROWS_AT_ONCE = 500


def prune(*, policy: Policy, batches: int | None = None) -> Counter[str]:
    """Removes what is due, oldest first, in at most that many transactions; how much of what was removed."""
    removed: Counter[str] = Counter()
    for task in [*_half_pruned(), *_due(settled_until(clock.now(), policy))]:
        more = True
        while more and (batches is None or removed["batches"] < batches):
            done, more = _prune_batch(task, policy)
            removed += done
    more = True
    while more and (batches is None or removed["batches"] < batches):
        deliveries = _prune_deliveries(policy)
        removed, more = removed + deliveries, bool(deliveries)
    return removed


def _prune_deliveries(policy: Policy) -> Counter[str]:
    """A batch of the log of webhooks, and endpoints that were removed and have no log any more."""
    before = _logged_until(policy)
    chosen = list(_old_deliveries(before).order_by("created_at").values_list("pk", flat=True)[:_ROWS_AT_ONCE])
    with writing():
        count, _ = WebhookDelivery.objects.filter(pk__in=chosen).delete()
    with writing():  # in the order of whoever sends or changes: an endpoint first, then what belongs to it
        over = WebhookEndpoint.objects.filter(removed_at__lte=before, deliveries=None)
        locked = over.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True)
        WebhookEndpoint.objects.filter(pk__in=list(locked)).delete()
    return Counter(deliveries=count, batches=1) if count else Counter()


def _old_deliveries(before: datetime) -> QuerySet[WebhookDelivery]:
    settled = Q(delivered_at__lte=before) | Q(gave_up_at__lte=before)
    return WebhookDelivery.objects.filter(settled, created_at__lte=before)


def _logged_until(policy: Policy) -> datetime:
    return clock.now() - timedelta(seconds=policy.webhook_log_s)


def prunable(*, policy: Policy) -> Counter[str]:
    """How much of what `prune` would remove now; changes nothing."""
    found: Counter[str] = Counter()
    due = [task for task in _due(settled_until(clock.now(), policy)) if _may_go(Task.objects.get(pk=task))]
    for task in Task.objects.filter(pk__in=[*_half_pruned(), *due]):
        found["tasks"] += task.pruned_at is None
        for name, rows in _words(task).items():
            found[name] += rows.count()
    found["deliveries"] = _old_deliveries(_logged_until(policy)).count()
    return found


def _half_pruned() -> list[UUID]:
    return list(Task.objects.filter(pruning=True).order_by("pruned_at").values_list("pk", flat=True))


def _due(until: datetime | None) -> list[UUID]:
    rows = Task.objects.none() if until is None else prunable_tasks(until)
    return list(rows.order_by("settled_at").values_list("pk", flat=True))


def _prune_batch(pk: UUID, policy: Policy) -> tuple[Counter[str], bool]:
    """One transaction: what it removed of a task, and whether more is left. The first one marks the task.

    The locks are those of an import and of a resume, in their order: neither can want words while they go.
    """
    found = Task.objects.get(pk=pk)
    with recording(found.organization_id) as ledger:
        if found.source_id is not None:
            ImportSource.objects.select_for_update().filter(pk=found.source_id).first()
        lock_scheduler(found.team_id)
        task = Task.objects.select_for_update().get(pk=pk)
        if not task.pruning and not _still_due(task, policy):
            return Counter(), False

        removed = _remove(task)
        more = removed.total() >= _ROWS_AT_ONCE

        Task.objects.filter(pk=pk).update(pruned_at=task.pruned_at or clock.now(), pruning=more)
        if removed.total() or not task.pruning:
            ledger.record(
                TaskPruned(
                    task=pk,
                    team=task.team_id,
                    retention_s=policy.retention_s,
                    spans=removed["spans"],
                    messages=removed["messages"],
                    contexts=removed["contexts"],
                    outputs=removed["outputs"],
                )
            )
    return removed + Counter(batches=1, tasks=int(not task.pruning)), more


def _still_due(task: Task, policy: Policy) -> bool:
    until = settled_until(clock.now(), policy)
    return until is not None and prunable_tasks(until).filter(pk=task.pk).exists() and _may_go(task)


def _may_go(task: Task) -> bool:
    """Not while a late flush will want it, nor where nothing would tell a second recording that it is known."""
    if task.segment_id is not None and uncovered_nodes(task.segment_id, [task.pk]):
        return False
    unrecognizable = task.source_id is not None and task.prompt == UNKNOWN_PROMPT
    return not (unrecognizable and task.attempts.filter(output="").exists())


def _remove(task: Task) -> Counter[str]:
    """At most a batch of rows: spans are deleted, of what others count or refer to only the words go."""
    emptied: dict[str, dict[str, Any]] = {
        "messages": {"text": "", "findings": []},
        "contexts": {"rendered": ""},
        "outputs": {"error_detail": ""} if task.source_id else {"error_detail": "", "output": ""},
    }
    removed: Counter[str] = Counter()
    for name, rows in _words(task).items():
        chosen = list(rows.order_by("pk").values_list("pk", flat=True)[: _ROWS_AT_ONCE - removed.total()])
        of_these = rows.model._base_manager.filter(pk__in=chosen)  # noqa: SLF001 Django's documented name
        if chosen and name in emptied:
            of_these.update(**emptied[name])
        elif chosen:
            of_these.delete()
        removed[name] = len(chosen)
    return removed


def _words(task: Task) -> dict[str, QuerySet[Any]]:
    """The rows that still hold words of a task. An imported answer stays: a second recording is recognized by it."""
    gone = Q(error_detail="") if task.source_id else Q(error_detail="", output="")
    return {
        "spans": Span.objects.filter(attempt__task=task),
        "messages": Message.objects.filter(task=task).exclude(text=""),
        "contexts": ContextSnapshot.objects.filter(attempt__task=task).exclude(rendered=""),
        "outputs": Attempt.objects.filter(~gone, task=task),
    }
