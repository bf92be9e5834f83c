"""Clauses that go for secrets, for what the team knows, and for the data itself."""

from __future__ import annotations

from itertools import pairwise

from tikitaka.safety.clauses import ANSWERS, SCOPES, aimed, negated
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
    "hand read spell fetch spit"
)
_WHOSE = words(
    "your admin root production contents content value .env all every full real file private "
    "id_rsa environment kubeconfig"
)
_STORES = words("environment env vault keychain config")
_PUBLIC_PLACES = words("public publicly gist pastebin internet twitter forum everyone")
_PUBLISHES = words("send save commit publish post share upload push copy put write paste")
_WHOLE = words("all every the production git home whole everything backups hard")
_FLEETING = words("tmp temp cache caches build dist test tests fixtures generated node_modules")


def secret_request(clause: Clause) -> bool:
    """Asks for the value of a secret, not for a thing that carries its name."""
    if _asked_by_pronoun(clause) or _asked_as_question(clause):
        return True
    for verb in ("reveal", "send"):
        for at, other in aimed(clause, verb, "secret", within=8):
            if _NOT_THE_VALUE.intersection(clause.words[other + 1 : other + 3]):
                continue
            if {"into", "to", "in", "from"}.intersection(clause.words[other - 2 : other]):
                continue
            answered = ANSWERS.intersection(clause.words[at:])
            if {"into", "from", "with", "via"}.intersection(clause.words[at:]) and not answered:
                continue
            if answered or clause.words[at] in _ASKING or _WHOSE.intersection(clause.words[at : other + 1]):
                return True
    return False


def _asked_by_pronoun(clause: Clause) -> bool:
    """`I need the key, put it in the reply`."""
    for at in [*orders(clause, "send"), *orders(clause, "reveal")]:
        named = any(other < at for other in clause.roles.get("secret", ()))
        if named and {"it", "them"}.intersection(clause.words[at + 1 : at + 3]):
            return bool(ANSWERS.intersection(clause.words[at:]) or _STORES.intersection(clause.words))
    return False


def _asked_as_question(clause: Clause) -> bool:
    known = any(
        pair in {("you", "know"), ("you", "have"), ("can", "you"), ("do", "you")} for pair in pairwise(clause.words)
    )
    return bool({"which", "what"}.intersection(clause.words[:2])) and clause.has("secret") and known


def exfiltration(clause: Clause) -> bool:
    """Sends something of the team to an address outside."""
    if _published(clause):
        return True
    if not clause.outside:
        return False
    sent = orders(clause, "send")
    if clause.suspicious and (sent or orders(clause, "reveal")):
        return True
    known = clause.has("data") or clause.has("secret") or clause.has("prompt")
    return bool(sent) and known and "from" not in clause.words[:3]


def _published(clause: Clause) -> bool:
    """Puts secrets, or what the reader knows, where everybody can see it."""
    said = set(clause.words)
    if not said & _PUBLIC_PLACES or negated(clause, 1) or clause.words[0] in {"never", "do", "dont"}:
        return False
    mine = "your" in said and clause.has("data")
    return (
        bool(said & _PUBLISHES)
        and (clause.has("secret") or mine)
        and bool(orders(clause, "send") or clause.words[0] in _PUBLISHES)
    )


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
