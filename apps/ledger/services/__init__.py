"""The ways to write the ledger: recording() and deny(). Nothing else does."""

from apps.ledger.services.denials import deny
from apps.ledger.services.recording import Recorder, aside, first_transaction, recording

__all__ = ["Recorder", "aside", "deny", "first_transaction", "recording"]
