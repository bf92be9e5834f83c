"""The attacks that are known by a verb and an object, in languages other than English."""

from __future__ import annotations

from tikitaka.safety.clauses import DOCUMENTS
from tikitaka.safety.intent import Clause, orders_abroad

_BEHIND_BACKS = ("send", "reveal", "disable", "destroy", "data", "secret", "override", "claim", "privilege", "rules")


def _names(clause: Clause, role: str) -> bool:
    return role in clause.abroad or role in clause.roles


def _paired(clause: Clause, verb: str, target: str) -> bool:
    """An order whose object stands elsewhere in the clause; the verb itself may not double as the object."""
    places = [*clause.abroad.get(target, ()), *clause.roles.get(target, ())]
    return any(other != at for at in orders_abroad(clause, verb) for other in places)


def override(clause: Clause) -> bool:
    return _paired(clause, "override", "rules") and not DOCUMENTS.intersection(clause.words)


def prompt_leak(clause: Clause) -> bool:
    return _paired(clause, "reveal", "prompt")


def secret_request(clause: Clause) -> bool:
    return _paired(clause, "reveal", "secret") or _paired(clause, "send", "secret")


def exfiltration(clause: Clause) -> bool:
    if not clause.outside or not orders_abroad(clause, "send"):
        return False
    return clause.suspicious or any(_names(clause, role) for role in ("data", "secret", "prompt"))


def disable_safety(clause: Clause) -> bool:
    return _paired(clause, "disable", "safety")


def concealment(clause: Clause) -> bool:
    if "hush" in clause.abroad:
        return True
    return "conceal" in clause.abroad and any(_names(clause, role) for role in _BEHIND_BACKS)


def self_approval(clause: Clause) -> bool:
    return bool(orders_abroad(clause, "claim")) and "approved" in clause.abroad


def submission(clause: Clause) -> bool:
    return "fromnow" in clause.abroad and "obey" in clause.abroad


def destruction(clause: Clause) -> bool:
    return bool(orders_abroad(clause, "destroy")) and "everything" in clause.abroad
