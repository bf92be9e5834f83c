"""Any recording that can be brought in: a session in one of the forms of its lines, or traces of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Sequence

from tikitaka.capture.otlp import Traces, read_traces
from tikitaka.capture.otlp_spans import is_traces
from tikitaka.capture.sessions import UnreadableSession, decode_lines, read_session
from tikitaka.capture.shape import Item, decode_json
from tikitaka.capture.turns import DamagedLine

_MARKS = ("resourceSpans", "resource_spans")


def read_document(document: bytes | str, *, prompt: str | None = None) -> Traces:
    """The sessions of a recording in any known form; raises UnreadableSession.

    `prompt` is what was asked, where a form that is one session does not say.
    """
    lines = _lines(document)
    requests, damaged = _requests(lines)
    if requests:
        return _read(requests, damaged)
    session = read_session(lines, prompt=prompt)
    return Traces(sessions=(session,), damaged=session.damaged)


def read_trace_document(document: bytes | str) -> Traces:
    """Traces only: one export request as OTLP JSON, or one on each line; raises UnreadableSession."""
    lines = _lines(document)
    requests, damaged = _requests(lines)
    if requests:
        return _read(requests, damaged)
    _, fault = decode_json("\n".join(lines))
    raise UnreadableSession("unknown_form" if fault is None else fault, damaged)


def _read(requests: Sequence[Item], damaged: Sequence[DamagedLine]) -> Traces:
    try:
        traces = read_traces(requests)
    except UnreadableSession as refused:
        raise UnreadableSession(refused.code, (*damaged, *refused.damaged)) from refused
    return Traces(sessions=traces.sessions, damaged=(*damaged, *traces.damaged))


def _requests(lines: Sequence[str]) -> tuple[list[Item], list[DamagedLine]]:
    """The export requests of a document, which is one of them or has one on each line."""
    if not any(mark in line for line in lines for mark in _MARKS):
        return [], []
    whole, fault = decode_json("\n".join(lines))
    if fault is None:
        return ([whole] if isinstance(whole, dict) and is_traces(whole) else []), []
    found: list[Item] = []
    damaged: list[DamagedLine] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        value, fault = decode_json(line)
        if isinstance(value, dict) and is_traces(value):
            found.append(value)
        else:
            damaged.append(DamagedLine(number=number, reason=fault or "unknown_form"))
    return (found, damaged) if len(found) > len(damaged) else ([], [])


def _lines(document: bytes | str) -> list[str]:
    return decode_lines(document) if isinstance(document, bytes) else document.split("\n")
