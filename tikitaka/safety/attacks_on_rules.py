"""Clauses that go for the agent's own rules: dropping, outranking, replacing or revealing them."""

from __future__ import annotations

import itertools

from tikitaka.safety.clauses import SCOPES, about_documents, aimed, negated
from tikitaka.safety.intent import Clause, orders
from tikitaka.safety.wordlists import words

_OWN = words("your all any every those my everything")
_REQUIRED = words("must should shall need required have ought")
_THIS = words("this next following below line lines text message note above here")
_OF_THE_READER = words("your you me hidden verbatim above answer reply secret confidential word")
_KNOWN_TO_YOU = words("got received given follow obey operate loaded")
_QUESTIONS = words("did-you were-you have-you do-you are-you")


def override(clause: Clause) -> bool:
    """Tells the reader to drop rules that are the reader's, not those of a tool or a document."""
    for at, other in aimed(clause, "override", "rules", within=9, plain=True):
        if about_documents(clause, other):
            continue
        if clause.has("reader") and _REQUIRED.intersection(clause.words):
            return True
        if clause.has("prior") or clause.has("prompt") or clause.has("submit"):
            return True
        if _OWN.intersection(clause.words[at + 1 : other + 1]):
            return True
        if len(clause.words) <= other + 2 or clause.words[other + 1] in {",", ";", "and", "you", "above"}:
            return True
    return False


def voided(clause: Clause) -> bool:
    """States that the reader's rules are no longer in force, or are to be turned around."""
    if not (clause.has("rules") or clause.has("prompt")):
        return False
    said = set(clause.words)
    if said & {"opposite", "contrary", "whatever", "regardless"} and said & {"your", "you"}:
        return True
    close = said & {
        "above",
        "previous",
        "prior",
        "preceding",
        "your",
        "earlier",
        "every",
        "former",
        "session",
        "today",
    } or "before this" in " ".join(clause.words)
    limits = "all" in said and said & {
        "restrictions",
        "limitations",
        "guardrails",
        "safeguards",
        "constraints",
        "limits",
    }
    return clause.has("void") and bool(close or limits) and not about_documents(clause, 0)


def authority(clause: Clause) -> bool:
    """Claims to rank above the reader's rules."""
    if not clause.has("authority") or not (clause.has("rules") or clause.has("prompt")):
        return False
    return bool({"your", "you", "message", "note"}.intersection(clause.words)) and not about_documents(clause, 0)


def new_role(clause: Clause) -> bool:
    """Gives the reader a role without limits."""
    if not clause.has("become", "restricted"):
        return False
    last = max(clause.roles["restricted"])
    if clause.words[0] in {"enable", "activate", "enter"} and SCOPES.intersection(clause.words[last + 1 : last + 4]):
        return False
    close = any(0 <= b - a <= 10 for a in clause.roles["become"] for b in clause.roles["restricted"])
    return close and bool({"you", "your"}.intersection(clause.words) or orders(clause, "become"))


def submission(clause: Clause) -> bool:
    """Tells the reader to obey whoever wrote this."""
    if clause.has("newyours") or (clause.has("anyrequest") and bool(orders(clause, "obey"))):
        return True
    if clause.has("reader", "obey") and _REQUIRED.intersection(clause.words) and _THIS.intersection(clause.words):
        return not about_documents(clause, 0)
    if not clause.has("submit") or negated(clause, clause.roles["submit"][0]):
        return False
    others = any(clause.has(role) for role in ("fromnow", "override", "reader"))
    return others or bool(orders(clause, "obey")) or "you" in clause.words


def new_orders(clause: Clause) -> bool:
    """Announces new or real instructions, with something that only an attacker adds."""
    if not clause.has("fromnow"):
        return False
    if orders(clause, "override") and {"context", "rest", "everything", "above"}.intersection(clause.words):
        return True
    lifted = clause.has("unfounded", "approved") and "you" in clause.words
    return clause.has("restricted") or clause.has("conceal") or lifted


def prompt_leak(clause: Clause) -> bool:
    """Asks for the reader's own instructions."""
    pairs = {f"{a}-{b}" for a, b in itertools.pairwise(clause.words)}
    if {"what", "which"}.intersection(clause.words[:2]) and clause.has("rules") and pairs & _QUESTIONS:
        return True
    if clause.words[:1] in {("what",), ("how",)} and clause.has("prompt") and "your" in clause.words:
        return True
    if any(
        _KNOWN_TO_YOU.intersection(clause.words[b + 1 : b + 4]) for _, b in aimed(clause, "reveal", "rules", within=6)
    ):
        return True
    for at, other in aimed(clause, "reveal", "prompt", within=10):
        if _OF_THE_READER.intersection(clause.words[at : other + 8]):
            return True
        if len(clause.words) <= 8 and not SCOPES.intersection(clause.words[other:]):
            return True
    return False


def decode_and_follow(clause: Clause) -> bool:
    """Wants hidden text decoded and followed."""
    verbs = {"decode", "unscramble", "decrypt", "deobfuscate", "reverse", "rot13"}
    pairs = {f"{a} {b}" for a, b in itertools.pairwise(clause.words)}
    followed = {
        *("follow it", "obey it", "execute it", "follow the", "do what", "run it", "carry it"),
        *("act on", "follow them", "do it", "follow what", "obey what", "execute what"),
    }
    return bool(verbs.intersection(clause.words[:8]) and pairs & followed)
