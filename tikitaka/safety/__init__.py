"""Safety: secrets replaced, hostile text held for a person, hidden text shown. It fails closed."""

from tikitaka.safety.findings import Finding, Redaction, Screening
from tikitaka.safety.gate import RULES_VERSION, redact_captured, screen, screen_fields
from tikitaka.safety.hidden import show_hidden
from tikitaka.safety.redact import redact

__all__ = [
    "RULES_VERSION",
    "Finding",
    "Redaction",
    "Screening",
    "redact",
    "redact_captured",
    "screen",
    "screen_fields",
    "show_hidden",
]
