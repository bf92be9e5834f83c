"""The figures as Prometheus reads them. Docs: docs/operators.md, "Watching it"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from apps.audit.metrics.figures import Figures, Latency, figures
from apps.conductor.models import IncidentKind
from apps.conductor.refusals import Refusals
from apps.memory.models import LandingStatus
from tikitaka.review.states import NoteStatus
from tikitaka.scheduling.ready import Hold

REFUSALS = Refusals("metrics")
Samples = Mapping[Any, float]  # keys are tuples of label values


def exposition() -> bytes:
    """The whole page, asked of the database now."""
    REFUSALS.write()
    registry = CollectorRegistry()
    registry.register(_Rows())
    return generate_latest(registry)


class _Rows(Collector):
    """Collects from rows and holds nothing, so that every process gives the same page."""

    def collect(self) -> Iterator[Metric]:
        found = figures()
        yield from _work(found)
        yield from _latencies("flush", "from a flush that is due to its notes", found.flushes)
        yield from _latencies("review", "from a note's hand-in to a person's word", found.reviews)
        yield from _notes(found)
        yield from _ledger(found)


def _work(found: Figures) -> Iterator[Metric]:
    depths = {(name,): stage.depth for name, stage in found.stages.items()}
    ages = {(name,): stage.oldest_s for name, stage in found.stages.items()}
    yield _gauge("queue_depth", "What waits for a worker or a person", ["stage"], depths)
    yield _gauge("queue_oldest_seconds", "For how long the oldest of it has waited", ["stage"], ages)
    held = {(hold.value,): found.held.get(hold.value, 0) for hold in Hold}
    yield _gauge("nodes_held", "Queued nodes that may not start yet", ["reason"], held)
    attempts = _counts(found, "attempt")
    running = sum(count for (status, _), count in attempts.items() if status == "running")
    yield _gauge("attempts_running", "Attempts under way", [], {(): running})
    ended = {words: count for words, count in attempts.items() if words[0] != "running"}
    yield _counter("attempts", "Attempts that ended", ["outcome", "error"], ended)
    incidents = {(kind.value, ""): 0 for kind in IncidentKind} | _counts(found, "incident")
    yield _gauge("incidents_open", "Incidents that nobody has closed", ["kind"], _short(incidents))


def _latencies(what: str, meaning: str, latency: Latency) -> Iterator[Metric]:
    ended = {(): latency.count}
    yield _gauge(f"{what}_last_hour", f"How many ended within the last hour: {meaning}", [], ended)
    seconds = {("0.5",): latency.median_s, ("1",): latency.longest_s} if latency.count else {}
    yield _gauge(f"{what}_seconds", f"Of those, how long it took: {meaning}", ["quantile"], seconds)


def _notes(found: Figures) -> Iterator[Metric]:
    notes = {(status.value, ""): 0 for status in NoteStatus} | _counts(found, "note")
    yield _gauge("notes", "Notes by their state", ["status"], _short(notes))
    yield _gauge("verdicts", "Agents' verdicts on notes", ["verdict", "reason"], _counts(found, "verdict"))
    yield _counter("decisions", "What people said about notes", ["verdict"], _short(_counts(found, "decision")))
    redactions = {(rule,): count for rule, count in found.redactions.items()}
    yield _gauge("redactions", "Secrets that were replaced in notes", ["rule"], redactions)
    landings = {(status.value,): found.landings.get(status.value, 0) for status in LandingStatus}
    yield _gauge("landings", "Notes in agents' files", ["state"], landings)


def _ledger(found: Figures) -> Iterator[Metric]:
    sizes = {(str(chain.log),): chain.size for chain in found.chains}
    yield _gauge("ledger_entries", "How long a log is", ["log"], sizes)
    ages = {(str(chain.log),): chain.age_s for chain in found.chains}
    yield _gauge("ledger_verified_seconds", "How long ago a log was verified, or opened if never", ["log"], ages)
    valid = {(str(chain.log),): int(chain.valid) for chain in found.chains if chain.valid is not None}
    yield _gauge("ledger_valid", "1 when a log was what was written", ["log"], valid)
    denials = {("governed",): found.denials}
    doors = {("metrics",): 0, **_short(_counts(found, "refused"))}
    yield _counter("callers_refused", "Callers who were turned away", ["door"], denials | doors)


def _counts(found: Figures, kind: str) -> dict[tuple[str, str], int]:
    return {(row.first, row.second): row.rows for row in found.counts if row.kind == kind}


def _short(counts: Mapping[tuple[str, str], int]) -> dict[tuple[str], int]:
    return {(first,): count for (first, _), count in counts.items()}


def _gauge(name: str, meaning: str, labels: Sequence[str], values: Samples) -> Metric:
    return _filled(GaugeMetricFamily(f"tikitaka_{name}", meaning, labels=labels), values)


def _counter(name: str, meaning: str, labels: Sequence[str], values: Samples) -> Metric:
    return _filled(CounterMetricFamily(f"tikitaka_{name}", meaning, labels=labels), values)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, values: Samples) -> Metric:
    for labels, value in sorted(values.items()):
        family.add_metric(labels, value)
    return family
