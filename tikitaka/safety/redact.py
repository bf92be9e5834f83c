"""Replacing secrets, wherever they hide, by one mask; a second pass over the result changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tikitaka.safety.addresses import addresses
from tikitaka.safety.commands import commands
from tikitaka.safety.entropy import entropy
from tikitaka.safety.findings import MASK, Finding, Hit, Redaction, merge
from tikitaka.safety.headers import headers
from tikitaka.safety.keyed_values import keyed_values
from tikitaka.safety.prose import prose
from tikitaka.safety.provider_tokens import provider_tokens
from tikitaka.safety.reveal import encoded, shadows, unspaced
from tikitaka.safety.structures import structures
from tikitaka.safety.views import View, plain

Detector = Callable[[str], Iterator[Hit]]
DETECTORS: tuple[Detector, ...] = (
    structures,
    addresses,
    headers,
    provider_tokens,
    keyed_values,
    prose,
    commands,
    entropy,
)
# What decodes from a blob is judged by these; keyed values in it would be any JSON.
DECODED: tuple[Detector, ...] = (structures, addresses, provider_tokens, keyed_values)
_PASSES = 6


def redact(text: str, *, detectors: tuple[Detector, ...] = DETECTORS) -> Redaction:
    """The text with every secret replaced; the findings' offsets count in `text`."""
    if not text:
        return Redaction(text)
    findings: list[Finding] = []
    spans: list[tuple[int, int]] = []
    current = text
    for _ in range(_PASSES):
        fresh = [_in_original(finding, spans) for finding in _found(current, detectors)]
        fresh = [finding for finding in fresh if not _covered(finding, spans)]
        if not fresh:
            return Redaction(current, tuple(findings)) if findings else Redaction(text)
        findings += fresh
        spans = merge([*spans, *((finding.start, finding.end) for finding in fresh)])
        current = _masked(text, spans)
    everything = Finding(
        rule="secret.unsettled",
        family="secret",
        start=0,
        end=len(text),
        detail="Secrets too entangled to cut out one by one.",
    )
    return Redaction(MASK, (*findings, everything))


def _found(text: str, detectors: tuple[Detector, ...]) -> list[Finding]:
    found: dict[tuple[int, int], Finding] = {}
    views = shadows(plain(text))
    for view in [*views, *_closed(views)]:
        _collect(found, view, detectors)
    for blob in encoded(views[-1]):
        _collect(found, blob, tuple(d for d in detectors if d in DECODED))
    return [finding for _, finding in sorted(found.items())]


def _closed(views: list[View]) -> list[View]:
    closed = unspaced(views[-1])
    return [] if closed is views[-1] else [closed]


def _collect(found: dict[tuple[int, int], Finding], view: View, detectors: tuple[Detector, ...]) -> None:
    for detector in detectors:
        for hit in detector(view.text):
            if view.text[hit.start : hit.end] == MASK:
                continue
            start, end = view.span(hit.start, hit.end)
            found.setdefault(
                (start, end), Finding(rule=hit.rule, family="secret", start=start, end=end, detail=hit.detail)
            )


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += (text[at:start], MASK)
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


def _in_original(finding: Finding, spans: list[tuple[int, int]]) -> Finding:
    """A finding in the masked text, moved to where it stands in the text before."""
    if not spans:
        return finding
    return Finding(
        rule=finding.rule,
        family=finding.family,
        start=_unmask(finding.start, spans, at_end=False),
        end=_unmask(finding.end, spans, at_end=True),
        detail=finding.detail,
    )


def _unmask(offset: int, spans: list[tuple[int, int]], *, at_end: bool) -> int:
    shift = 0
    for start, end in spans:
        begin = start + shift
        if offset <= begin and not (at_end is False and offset == begin):
            break
        if offset < begin + len(MASK):
            return end if at_end else start
        shift += len(MASK) - (end - start)
    return offset - shift


def _covered(finding: Finding, spans: list[tuple[int, int]]) -> bool:
    return any(start <= finding.start and finding.end <= end for start, end in spans)
