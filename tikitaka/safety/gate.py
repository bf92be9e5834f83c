"""The one gate that text passes on its way from an agent to another: redact, screen, and fail closed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from tikitaka.safety.findings import WITHHELD, Finding, Redaction, Screening, failure
from tikitaka.safety.hidden import disguises
from tikitaka.safety.redact import DETECTORS, Detector, redact
from tikitaka.safety.screen import RULES, Rule, find_injections

RULES_VERSION = "1"


def screen(text: str, *, detectors: tuple[Detector, ...] = DETECTORS, rules: tuple[Rule, ...] = RULES) -> Screening:
    """The text as it may go on, and whether a person must see it first; whatever breaks withholds the text.

    What only deceives the eye is taken out first, so that a reviewer and an agent read the same words.
    """
    try:
        seen = undisguised(text)
        redaction = redact(seen.text, detectors=detectors)
        injections = find_injections(redaction.text, rules=rules)
    except Exception:  # noqa: BLE001 - an unknown failure must withhold, never pass
        return Screening(text=WITHHELD, redacted=False, quarantined=True, findings=(failure(text),))
    return Screening(
        text=redaction.text,
        redacted=bool(redaction.findings),
        quarantined=bool(injections),
        findings=(*seen.findings, *redaction.findings, *injections),
    )


def undisguised(text: str) -> Redaction:
    """The text without characters that draw nothing and serve no script, and where they stood."""
    spans = disguises(text)
    pieces = [text[end:start] for (_, end), (start, _) in pairwise([(0, 0), *spans, (len(text), len(text))])]
    detail = "Characters that draw nothing were taken out."
    return Redaction(
        "".join(pieces),
        tuple(Finding(rule="hidden.removed", family="hidden_text", start=s, end=e, detail=detail) for s, e in spans),
    )


def redact_captured(text: str, *, detectors: tuple[Detector, ...] = DETECTORS) -> Redaction:
    """Captured output without its secrets; withheld as a whole when the rules break on it."""
    try:
        return redact(text, detectors=detectors)
    except Exception:  # noqa: BLE001 - an unknown failure must withhold, never pass
        return Redaction(WITHHELD, (failure(text),))


def screen_fields(fields: Mapping[str, str]) -> Mapping[str, Screening]:
    """Every field screened on its own."""
    return {name: screen(text) for name, text in fields.items()}
