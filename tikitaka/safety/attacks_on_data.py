"""Clauses that go for secrets, for what the team knows, and for the data itself."""

from __future__ import annotations

from tikitaka.safety.clauses import ANSWERS, SCOPES, aimed
from tikitaka.safety.intent import Clause, orders
from tikitaka.safety.wordlists import words

_NOT_THE_VALUE = words(
    """
    name names field fields form page policy count counts usage id ids expiry length budget prompt dialog reset
    rotation manager type types limit limits per hash hashes column header rules rule strength bucket refresh
    lifetime endpoint url window screen option flag format placeholder scanner
    """
)
_ASKING = words(
    "reply answer respond give tell leak expose disclose reveal divulge dump recite surrender "
    "hand read spell fetch spit encode"
)
_WHOSE = words(
    "your admin root production contents content value .env all every full real file private "
    "id_rsa environment kubeconfig"
)
_WHOLE = words("all every the production git home whole everything backups hard")
_FLEETING = words("tmp temp cache caches build dist test tests fixtures generated node_modules")


def secret_request(clause: Clause) -> bool:
    """Asks for the value of a secret, not for a thing that carries its name."""
    for verb in ("reveal", "send"):
        for at, other in aimed(clause, verb, "secret", within=8):
            if _NOT_THE_VALUE.intersection(clause.words[other + 1 : other + 3]):
                continue
            if clause.words[other - 1] in {"into", "to"}:
                continue
            answered = ANSWERS.intersection(clause.words)
            if {"into", "from", "with", "via"}.intersection(clause.words[at:]) and not answered:
                continue
            if answered or clause.words[at] in _ASKING or _WHOSE.intersection(clause.words[at : other + 1]):
                return True
    return False


def exfiltration(clause: Clause) -> bool:
    """Sends something of the team to an address outside."""
    if not clause.outside:
        return False
    sent = orders(clause, "send")
    if clause.suspicious and (sent or orders(clause, "reveal")):
        return True
    known = clause.has("data") or clause.has("secret") or clause.has("prompt")
    return bool(sent) and known and "from" not in clause.words[:3]


def destruction(clause: Clause) -> bool:
    """Wants everything of a kind destroyed."""
    for _, other in aimed(clause, "destroy", "everything", within=5, plain=True):
        if SCOPES.intersection(clause.words[other + 1 :]) and not clause.has("conceal"):
            continue
        if clause.words[other] in _WHOLE:
            return not _FLEETING.intersection(clause.words)
    return False


def spreading(clause: Clause) -> bool:
    """Wants itself copied to other agents."""
    return bool(orders(clause, "copyall")) and clause.has("everywhere")
