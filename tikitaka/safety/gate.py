"""The one gate that text passes on its way from an agent to another: redact, screen, and fail closed."""

from __future__ import annotations

from collections.abc import Mapping

from tikitaka.safety.findings import WITHHELD, Redaction, Screening, failure
from tikitaka.safety.redact import DETECTORS, Detector, redact
from tikitaka.safety.screen import RULES, Rule, find_injections

RULES_VERSION = "1"


def screen(text: str, *, detectors: tuple[Detector, ...] = DETECTORS, rules: tuple[Rule, ...] = RULES) -> Screening:
    """The text as it may go on, and whether a person must see it first; whatever breaks withholds the text."""
    try:
        redaction = redact(text, detectors=detectors)
        injections = find_injections(redaction.text, rules=rules)
    except Exception:  # noqa: BLE001 - an unknown failure must withhold, never pass
        return Screening(text=WITHHELD, redacted=False, quarantined=True, findings=(failure(text),))
    return Screening(
        text=redaction.text,
        redacted=bool(redaction.findings),
        quarantined=bool(injections),
        findings=(*redaction.findings, *injections),
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
