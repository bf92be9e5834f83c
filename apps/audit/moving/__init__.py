"""Moving an embedded installation to PostgreSQL: every row, the ledger's bytes unchanged, verified at both ends."""

from apps.audit.moving.move import Moved, move

__all__ = ["Moved", "move"]
