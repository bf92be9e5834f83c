"""OpenTelemetry traces as OTLP JSON: spans with plain values, each once, each knowing its agent and its thread."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tikitaka.capture.shape import Item, integer, mapping, objects, text

SPANS_MAX = 20_000
_EVENTS_MAX = 2_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NANOS_MAX = 253_402_300_800 * 10**9
_ERROR_STATUS = (2, "2", "STATUS_CODE_ERROR")
_HEX = re.compile(r"[0-9a-f]+")
_DIGITS = re.compile(r"[0-9]{1,20}")

Damage = Callable[[int, str], None]


class TooManySpans(Exception):
    """More spans than one reading takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSpan:
    """A span as far as it could be read. `failure` says why it failed; `number` is its place in the document."""

    number: int = field(compare=False)
    trace: str
    id: str
    parent: str
    start: datetime | None
    end: datetime | None
    attributes: Item
    events: tuple[tuple[str, Item], ...]
    failure: str
    service: str

    @property
    def order(self) -> tuple[bool, datetime, datetime, str, str]:
        """By time, then by id: the same for every order in which spans arrive."""
        start = self.start or self.end
        return (start is None, start or _EPOCH, self.end or start or _EPOCH, self.trace, self.id)

    @property
    def agent(self) -> str:
        """The agent that the span itself names."""
        return self.word("gen_ai.agent.name") or self.word("gen_ai.agent.id")

    @property
    def conversation(self) -> str:
        """The conversation that the span itself names."""
        return self.word("gen_ai.conversation.id")

    def word(self, name: str) -> str:
        """An attribute that is one short text; numbers count as their digits."""
        value = self.attributes.get(name)
        return str(value) if integer(value) is not None else text(value).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedSpan:
    """A span with the agent and the thread to which it belongs."""

    span: TraceSpan
    agent: str
    thread: str


def is_traces(document: Mapping[str, Any]) -> bool:
    """True for an export request, in either spelling of its field."""
    return isinstance(document.get("resourceSpans", document.get("resource_spans")), list)


def read_spans(documents: Iterable[Item], damage: Damage) -> list[TraceSpan]:
    """Every span once, in the order of time; raises TooManySpans. What could not be read is named by its number."""
    known: dict[tuple[str, str], TraceSpan] = {}
    for number, (raw, service) in enumerate(_raw_spans(documents), start=1):
        if number > SPANS_MAX:
            raise TooManySpans
        span = _span(number, raw, service, damage)
        if span is None:
            continue
        key = (span.trace, span.id)
        other = known.get(key, span)
        if other != span:
            damage(number, "span_id_taken")
        known[key] = max(other, span, key=_rank)
    return sorted(known.values(), key=lambda span: span.order)


def placed(spans: Iterable[TraceSpan]) -> list[PlacedSpan]:
    """Where each span belongs: what it says itself, else what the nearest span above it says.

    The thread is the conversation, else the only one that the trace names, else the trace.
    """
    spans = list(spans)
    agents = _inherited(spans, lambda span: span.agent)
    conversations = _inherited(spans, lambda span: span.conversation)
    named: dict[str, set[str]] = defaultdict(set)
    for span in spans:
        named[span.trace] |= {span.conversation} - {""}
    return [
        PlacedSpan(
            span=span,
            agent=agent or span.service,
            thread=conversation or (next(iter(named[span.trace])) if len(named[span.trace]) == 1 else span.trace),
        )
        for span, agent, conversation in zip(spans, agents, conversations, strict=True)
    ]


def _raw_spans(documents: Iterable[Item]) -> Iterator[tuple[Any, str]]:
    """Spans with the name of the service that sent them."""
    for document in documents:
        for resource in objects(_field(document, "resourceSpans")):
            service = text(_attributes(mapping(resource.get("resource")).get("attributes")).get("service.name"))
            for scope in objects(_field(resource, "scopeSpans")):
                spans = scope.get("spans")
                for raw in spans if isinstance(spans, list) else ():
                    yield raw, service.strip()


def _span(number: int, raw: Any, service: str, damage: Damage) -> TraceSpan | None:
    if not isinstance(raw, Mapping):
        damage(number, "not_an_object")
        return None
    trace, own = _id(_field(raw, "traceId"), 16), _id(_field(raw, "spanId"), 8)
    if not trace or not own:
        damage(number, "bad_span_id" if trace else "bad_trace_id")
        return None
    if not isinstance(raw.get("attributes", []), list):
        damage(number, "wrong_shape")
    start, end = (_time(_field(raw, name)) for name in ("startTimeUnixNano", "endTimeUnixNano"))
    if start is None or end is None or end < start:
        damage(number, "bad_time")
        start, end = (start, start) if start and end else (start, end)
    attributes = _attributes(raw.get("attributes"))
    events = objects(raw.get("events"))
    if len(events) > _EVENTS_MAX:
        damage(number, "too_many_events")
    return TraceSpan(
        number=number,
        trace=trace,
        id=own,
        parent=_id(_field(raw, "parentSpanId"), 8),
        start=start,
        end=end,
        attributes=attributes,
        events=tuple((text(event.get("name")), _attributes(event.get("attributes"))) for event in events[:_EVENTS_MAX]),
        failure=_failure(mapping(raw.get("status")), attributes),
        service=service,
    )


def _rank(span: TraceSpan) -> tuple[datetime, str]:
    """Which of two different spans with one id is kept: the one that ended last."""
    content = json.dumps(
        [str(span.start), span.attributes, span.events, span.failure, span.parent, span.service], sort_keys=True
    )
    return span.end or _EPOCH, content


def _inherited(spans: list[TraceSpan], own: Callable[[TraceSpan], str]) -> list[str]:
    """What each span or the nearest one above it says; parents that are absent or go in a circle say nothing."""
    by_id = {(span.trace, span.id): span for span in spans}
    found: dict[tuple[str, str], str] = {}
    for span in spans:
        path: dict[tuple[str, str], None] = {}
        at: TraceSpan | None = span
        said = ""
        while at is not None and not said and (key := (at.trace, at.id)) not in path:
            path[key] = None
            if key in found:
                said = found[key]
                break
            said = own(at)
            at = by_id.get((at.trace, at.parent))
        found |= dict.fromkeys(path, said)
    return [found[span.trace, span.id] for span in spans]


def _field(item: Item, name: str) -> Any:
    """A field in the spelling of OTLP's JSON, or in that of its definition."""
    value = item.get(name)
    return value if value is not None else item.get(re.sub("([A-Z])", lambda found: "_" + found[0].lower(), name))


def _id(value: Any, size: int) -> str:
    """An id in hex, also where an exporter wrote its bytes in base 64; nothing when it is none or all zeros."""
    given = text(value).strip()
    if len(given) == 4 * ((size + 2) // 3):
        try:
            given = base64.b64decode(given, validate=True).hex()
        except (binascii.Error, ValueError):
            return ""
    given = given.lower()
    good = len(given) == 2 * size and _HEX.fullmatch(given) and given.strip("0")
    return given if good else ""


def _time(value: Any) -> datetime | None:
    nanos = _whole(value)
    if nanos is None and isinstance(value, float) and 0 < value < _NANOS_MAX:
        nanos = int(value)
    if nanos is None or not 0 < nanos < _NANOS_MAX:
        return None
    return _EPOCH + timedelta(microseconds=nanos // 1000)


def _whole(value: Any) -> int | None:
    """A number that OTLP writes as text because JSON's numbers are too small for it."""
    if isinstance(value, str):
        sign = -1 if value.startswith("-") else 1
        digits = value.removeprefix("-")
        return sign * int(digits) if _DIGITS.fullmatch(digits) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _failure(status: Item, attributes: Item) -> str:
    """Why the span failed; nothing when it did not."""
    kind, said = text(attributes.get("error.type")).strip(), text(status.get("message")).strip()
    if not kind and status.get("code") not in _ERROR_STATUS:
        return ""
    return ": ".join(part for part in (kind, said) if part) or "error"


def _attributes(value: Any) -> dict[str, Any]:
    """Attributes as plain values; what has no key or no value that is known is left out."""
    found = {text(pair.get("key")): any_value(pair.get("value")) for pair in objects(value)}
    return {key: item for key, item in found.items() if key and item is not None}


def any_value(value: Any) -> Any:
    """The plain value of OTLP's AnyValue. Its depth is bounded by that of the document."""
    fields = mapping(value)
    if (inner := _field(fields, "kvlistValue")) is not None:
        return _attributes(mapping(inner).get("values"))
    if (inner := _field(fields, "arrayValue")) is not None:
        inside = mapping(inner).get("values")
        return [any_value(item) for item in inside] if isinstance(inside, list) else []
    if (inner := _field(fields, "intValue")) is not None:
        return integer(_whole(inner))
    for name, kind in (("stringValue", str), ("boolValue", bool), ("doubleValue", int | float)):
        if isinstance(inner := _field(fields, name), kind):
            return inner
    return "[bytes]" if _field(fields, "bytesValue") is not None else None
