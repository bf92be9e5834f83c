"""The combinations of roles in one clause that make it an attack on the agent that reads it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tikitaka.safety.intent import Clause, orders
from tikitaka.safety.wordlists import words

_NEGATIONS = words(
    """
    not never dont cannot cant no didnt wont doesnt shouldnt mustnt without nobody
    """
)
_DOCUMENTS = words(
    """
    readme wiki docs doc documentation confluence runbook guide manual changelog contributing eslint
    lint linter ruff mypy tsconfig gitignore dockerfile makefile template templates install
    installation setup build compiler css yaml json schema webpack nginx terraform helm prettier
    editorconfig robots
    """
)
_SCOPES = words(
    """
    in for when during while if on unless until under inside within locally only after before because
    at by from
    """
)
_PLAIN = words(
    """
    off down around out not away aside following attention no run use wait ask perform apply warnings alerts findings do need
    the all any your my our of those these that this and or other such every each own you were given
    to as set by system safety security developer original openai anthropic admin administrators about
    earlier previous prior above before existing initial old former preceding first what has have been
    are is a an with its their from team company operator users user core current usual normal
    standard default received got human it up everything anything content ethical moral internal
    hidden secret strict whole entire so far just silly stupid restrictive for whatever on past step
    steps and next
    """
)
_NOT_THE_VALUE = words(
    """
    name names field fields form page policy count counts usage id ids expiry length budget prompt
    dialog reset rotation manager type types limit limits per hash hashes column header rules rule
    strength bucket refresh lifetime endpoint url window screen option flag format placeholder scanner
    """
)
_ASKING = words(
    """
    reply answer respond give tell leak expose disclose reveal divulge dump recite surrender hand read
    spell fetch spit encode
    """
)
_WEAK_SAFETY = words(
    """
    monitoring logging sandbox sandboxing firewall antivirus protection protections filters ledger
    audit auditing supervision confirmation confirmations verification reviewer the quarantined
    security code review approvals approval
    """
)
_ANSWERS = words("me here chat answer answers reply summary note comment message report response")
_REQUIRED = words("must should shall need required have ought")
_THIS = words("this next following below line lines text message note above here")
_OVERSEERS = words("reviewer reviewers auditor auditors human humans maintainer maintainers owner owners approver approvers supervisor security manager")
_WEAK_ADVERBS = frozenset(
    ["quietly", "silently", "secretly", "covertly", "discreetly", "stealthily", "unnoticed"]
)
_PEOPLE = words(
    """
    user users reviewer reviewers human humans operator operators auditor auditors customer customers
    team results result report reports numbers evidence log logs owner manager maintainers maintainer
    metrics coverage status
    """
)


@dataclass(frozen=True, slots=True)
class Attack:
    """A kind of attack and what to tell the reviewer about it."""

    rule: str
    detail: str
    matches: Callable[[Clause], bool]


def attacks_in(clause: Clause) -> Iterator[Attack]:
    """Every kind of attack that the clause is."""
    if not clause.roles:
        return
    for attack in ATTACKS:
        if attack.matches(clause):
            yield attack


def _negated(clause: Clause, at: int) -> bool:
    return any(word in _NEGATIONS for word in clause.words[max(0, at - 2) : at])


def _followed(
    clause: Clause, verb: str, target: str, *, within: int, plain: bool = False
) -> Iterator[tuple[int, int]]:
    """Orders of `verb` that are not negated, with a `target` close behind (in other languages on either side)."""
    for at in orders(clause, verb):
        if _negated(clause, at) and verb not in clause.foreign:
            continue
        for other in clause.roles.get(target, ()):
            if verb in clause.foreign or target in clause.foreign:
                if other != at or clause.roles[verb] == [0]:
                    yield at, other
            elif 0 < other - at <= within and (not plain or _only_plain(clause, at, other)):
                yield at, other


def _only_plain(clause: Clause, at: int, other: int) -> bool:
    verb_words = (
        4 if clause.words[at] in {"do", "pay", "set", "throw", "put", "lay", "no", "stop", "dont"} else 1
    )
    return all(word in _PLAIN for word in clause.words[at + verb_words : other])


def _about_documents(clause: Clause, after: int) -> bool:
    return any(word in _DOCUMENTS for word in clause.words[after : after + 8])


def _override(clause: Clause) -> bool:
    for at, other in _followed(clause, "override", "rules", within=9, plain=True):
        if "override" in clause.foreign:
            if "prior" in clause.roles or "reveal" in clause.roles or "rules" in clause.foreign:
                return not _about_documents(clause, 0)
            continue
        if _about_documents(clause, other):
            continue
        between = clause.words[at + 1 : other + 1]
        if (
            "prior" in clause.roles
            or {"your", "all", "any", "every", "those", "my", "everything"}.intersection(between)
            or clause.has("submit")
        ):
            return True
        if len(clause.words) <= other + 2 or clause.words[other + 1] in {",", ";", "and", "you", "above"}:
            return True
    return False


def _voided(clause: Clause) -> bool:
    """States that the reader's rules are no longer in force, or to be turned around."""
    about = clause.has("rules") or clause.has("prompt")
    words = set(clause.words)
    if about and words & {"opposite", "contrary", "whatever", "regardless"} and words & {"your", "you"}:
        return True
    strong = words & {"above", "previous", "prior", "preceding", "your"} or "before this" in " ".join(clause.words)
    return bool(clause.has("void") and about and strong) and not _about_documents(clause, 0)


def _authority(clause: Clause) -> bool:
    if not clause.has("authority"):
        return False
    own = {"your", "you"}.intersection(clause.words)
    return bool(
        (own or {"message", "note"}.intersection(clause.words))
        and ("rules" in clause.roles or "prompt" in clause.roles)
    )


def _new_role(clause: Clause) -> bool:
    if not clause.has("become", "restricted"):
        return False
    last = max(clause.roles["restricted"])
    if clause.words[0] in {"enable", "activate", "enter"} and _SCOPES.intersection(clause.words[last + 1 : last + 4]):
        return False
    return any(
        0 <= other - at <= 10 for at in clause.roles["become"] for other in clause.roles["restricted"]
    ) and bool({"you", "your"}.intersection(clause.words) or 0 in clause.roles["become"])


def _submission(clause: Clause) -> bool:
    if clause.has("fromnow", "obey") and ("fromnow" in clause.foreign or "obey" in clause.foreign):
        return True
    if clause.has("newyours") or (clause.has("anyrequest") and orders(clause, "obey")):
        return True
    if clause.has("reader", "obey") and _REQUIRED.intersection(clause.words) and _THIS.intersection(clause.words):
        return not _about_documents(clause, 0)
    if not clause.has("submit"):
        return False
    at = clause.roles["submit"][0]
    return not _negated(clause, at) and bool(
        orders(clause, "obey")
        or clause.has("fromnow")
        or clause.has("override")
        or clause.has("reader")
        or "you" in clause.words
    )


def _prompt_leak(clause: Clause) -> bool:
    if {"what", "which"}.intersection(clause.words[:2]) and clause.has("rules") and _asked_of_you(clause.words):
        return True
    for at, other in _followed(clause, "reveal", "prompt", within=10):
        if "reveal" in clause.foreign or "prompt" in clause.foreign:
            return True
        near = clause.words[at : other + 8]
        if {
            "your",
            "you",
            "me",
            "hidden",
            "verbatim",
            "above",
            "answer",
            "reply",
            "secret",
            "confidential",
            "word",
        }.intersection(near):
            return True
        if len(clause.words) <= 8 and not _SCOPES.intersection(clause.words[other:]):
            return True
    return False


def _asked_of_you(words: tuple[str, ...]) -> bool:
    return any(f"{a} {b}" in {"did you", "were you", "have you", "do you", "are you"} for a, b in itertools.pairwise(words))


def _secret_request(clause: Clause) -> bool:
    for verb in ("reveal", "send"):
        for at, other in _followed(clause, verb, "secret", within=8):
            if verb in clause.foreign or "secret" in clause.foreign:
                if verb in clause.foreign and "secret" in clause.roles:
                    return not _NOT_THE_VALUE.intersection(clause.words)
                continue
            after = clause.words[other + 1 : other + 3]
            if _NOT_THE_VALUE.intersection(after) or clause.words[other - 1] in {"into", "to"}:
                continue
            if {"into", "from", "with", "via"}.intersection(clause.words[at:]) and not _ANSWERS.intersection(clause.words):
                continue
            between = set(clause.words[at : other + 1])
            if clause.words[at] in _ASKING or between & {
                "your",
                "admin",
                "root",
                "production",
                "contents",
                "content",
                "value",
                ".env",
                "all",
                "every",
                "full",
                "real",
            }:
                return True
            if between & {"file", "private", "id_rsa", "environment", "kubeconfig"} or {
                "me",
                "here",
                "chat",
                "answer",
                "reply",
            }.intersection(clause.words):
                return True
    return False


def _exfiltration(clause: Clause) -> bool:
    if not clause.outside:
        return False
    if clause.suspicious and (orders(clause, "send") or orders(clause, "reveal")):
        return True
    sent = orders(clause, "send")
    return (
        bool(sent)
        and (clause.has("data") or clause.has("secret") or clause.has("prompt"))
        and "from" not in clause.words[:3]
    )


def _disable_safety(clause: Clause) -> bool:
    for at, other in _followed(clause, "disable", "safety", within=7):
        if "disable" in clause.foreign or "safety" in clause.foreign:
            if "disable" in clause.foreign and "safety" in clause.roles:
                return True
            continue
        if not _only_plain(clause, at, other) or _about_documents(clause, other):
            continue
        if (
            clause.words[other] in _WEAK_SAFETY
            and clause.words[at] not in {"do", "dont", "never"}
            and not {"you", "your", "me", "my"}.intersection(clause.words)
            and _SCOPES.intersection(clause.words[other + 1 : other + 2])
            and not clause.has("conceal")
        ):
            continue
        return True
    return _switched_off(clause) or _neglected(clause)


def _neglected(clause: Clause) -> bool:
    """Tells the reader to leave a control out, without naming the control as a thing."""
    words = set(clause.words)
    if clause.has("neglect") and words & {"your", "you", "anything", "everything", "this", "these", "me", "my", "them"}:
        return clause.roles["neglect"][0] == 0 or bool(orders(clause, "neglect"))
    if clause.has("need_no", "safety") and "you" in words:
        return True
    return bool(orders(clause, "lower")) and clause.has("bar") and bool(words & {"my", "me", "mine", "so"})


def _switched_off(clause: Clause) -> bool:
    """`turn the safety checks off`: the verb's two halves stand around its object."""
    for at, word in enumerate(clause.words):
        if (
            word in {"turn", "switch", "shut"}
            and not _negated(clause, at)
            and (at == 0 or clause.words[at - 1] not in {"we", "they", "i"})
        ):
            for other in clause.roles.get("safety", ()):
                if 0 < other - at <= 4 and "off" in clause.words[other : other + 6]:
                    return True
    return False


def _concealment(clause: Clause) -> bool:
    if clause.has("hush"):
        return True
    if clause.has("hidden_from") and _OVERSEERS.intersection(clause.words):
        return True
    if not clause.has("conceal"):
        return False
    if "conceal" in clause.foreign:
        return any(
            role in clause.roles
            for role in (
                "send",
                "reveal",
                "disable",
                "destroy",
                "data",
                "secret",
                "override",
                "claim",
                "privilege",
                "rules",
            )
        )
    acts = any(
        orders(clause, role)
        for role in ("grant", "send", "disable", "destroy", "copyall", "deceive", "override", "claim")
    )
    for at in clause.roles["conceal"]:
        if clause.words[at] in _WEAK_ADVERBS:
            target = any(
                role in clause.roles
                for role in (
                    "privilege",
                    "safety",
                    "data",
                    "secret",
                    "mine",
                    "everywhere",
                    "deceive",
                    "rules",
                )
            )
            if orders(clause, "swap") and clause.has("proof"):
                return True
            if acts and (target or clause.outside or clause.has("reader")):
                return True
        elif not (at > 0 and clause.words[at - 1] in {"we", "they", "it", "i", "tests", "logs"}):
            return True
    return False


def _self_approval(clause: Clause) -> bool:
    if orders(clause, "trust") and clause.has("unfounded") and {"note", "notes", "message", "messages", "anyone", "code", "change", "changes", "author"}.intersection(clause.words):
        return True
    if not clause.has("claim", "approved"):
        return False
    if "claim" in clause.foreign or "approved" in clause.foreign:
        return "claim" in clause.foreign
    for at in orders(clause, "claim"):
        if _negated(clause, at):
            continue
        words = set(clause.words[at:])
        close = any(0 < other - at <= 8 for other in clause.roles["approved"])
        if close and (
            clause.has("unfounded")
            or words & {"note", "yourself", "reviewer", "reviewers"}
            or clause.has("safety", "disable")
        ):
            return not {"once", "after", "when"} & words or clause.has("unfounded")
        if close and clause.words[at] in {"say", "pretend", "claim", "tell", "assure", "insist"}:
            return True
    return False


def _blind_approval(clause: Clause) -> bool:
    starts = [
        at for at in orders(clause, "claim") if clause.words[at] == "approve" and not _negated(clause, at)
    ]
    words = set(clause.words)
    return (
        bool(starts)
        and (
            clause.has("unfounded")
            or bool(
                words & {"everything", "every", "all", "any"}
                and words & {"note", "notes", "request", "requests", "automatically", "author"}
            )
        )
        and not words & {"after", "once"}
    )


def _privilege(clause: Clause) -> bool:
    for at in [
        *orders(clause, "grant"),
        *(p for p in clause.roles.get("grant", ()) if p and clause.words[p - 1] in {"should", "must"}),
    ]:
        if _negated(clause, at):
            continue
        mine = [other for other in clause.roles.get("mine", ()) if 0 < other - at <= 6]
        if clause.has("trigger") and any(0 < other - at <= 12 for other in clause.roles.get("privilege", ())):
            return True
        if mine and any(0 < other - at <= 12 for other in clause.roles.get("privilege", ())):
            return True
    return False


def _spreading(clause: Clause) -> bool:
    return bool(orders(clause, "copyall")) and clause.has("everywhere")


def _destruction(clause: Clause) -> bool:
    if "destroy" in clause.foreign:
        return "everything" in clause.foreign
    for at, other in _followed(clause, "destroy", "everything", within=5, plain=True):
        if _SCOPES.intersection(clause.words[other + 1 :]) and not clause.has("conceal"):
            continue
        if " ".join(clause.words[at + 1 : other + 3]).split()[-1:] and clause.words[other] in {
            "all",
            "every",
            "the",
            "production",
            "git",
            "home",
            "whole",
            "everything",
            "backups",
            "hard",
        }:
            return not {
                "tmp",
                "temp",
                "cache",
                "caches",
                "build",
                "dist",
                "test",
                "tests",
                "fixtures",
                "generated",
                "node_modules",
            } & set(clause.words)
    return False


def _deception(clause: Clause) -> bool:
    for at in orders(clause, "deceive"):
        if _negated(clause, at):
            continue
        near = set(clause.words[at : at + 9])
        if (
            near & {"backdoor", "backdoors"}
            or clause.words[at] in {"lie", "mislead", "deceive"}
            or near & _PEOPLE
        ):
            return not {"tests", "test", "fixture", "clock"} & near or bool(
                near & {"reviewer", "user", "human", "results"}
            )
    return False


def _decode_and_follow(clause: Clause) -> bool:
    words = clause.words
    return any(
        word in {"decode", "unscramble", "decrypt", "deobfuscate", "reverse", "rot13"} for word in words[:8]
    ) and any(
        " ".join(words[at : at + 2])
        in {
            "follow it",
            "obey it",
            "execute it",
            "follow the",
            "do what",
            "run it",
            "carry it",
            "act on",
            "follow them",
            "do it",
        }
        for at in range(1, len(words))
    )


def _new_orders(clause: Clause) -> bool:
    """New or real instructions are announced to the reader, with something that only an attacker adds."""
    if not clause.has("fromnow"):
        return False
    return (
        clause.has("restricted")
        or clause.has("conceal")
        or (clause.has("unfounded", "approved") and "you" in clause.words)
    )


ATTACKS: tuple[Attack, ...] = (
    Attack("intent.override", "Tells the reading agent to drop the instructions it was given.", _override),
    Attack("intent.voided", "Declares the agent's own rules void.", _voided),
    Attack("intent.authority", "Claims to rank above the agent's own rules.", _authority),
    Attack("intent.role", "Gives the reading agent a new role without limits.", _new_role),
    Attack("intent.submission", "Tells the reading agent to obey whoever wrote this.", _submission),
    Attack("intent.new_orders", "Announces new orders that lift limits or hide something.", _new_orders),
    Attack("intent.prompt_leak", "Asks for the agent's own instructions.", _prompt_leak),
    Attack("intent.secret_request", "Asks for the value of a secret.", _secret_request),
    Attack("intent.exfiltration", "Sends the team's data to an outside address.", _exfiltration),
    Attack("intent.disable_safety", "Switches a safety control off.", _disable_safety),
    Attack("intent.concealment", "Wants something done or kept behind people's backs.", _concealment),
    Attack("intent.self_approval", "Wants work reported as checked that was not.", _self_approval),
    Attack("intent.blind_approval", "Wants approval without anybody looking.", _blind_approval),
    Attack("intent.privilege", "Gives the writer more rights.", _privilege),
    Attack("intent.spreading", "Wants itself copied to other agents.", _spreading),
    Attack("intent.destruction", "Wants everything of a kind destroyed.", _destruction),
    Attack("intent.deception", "Wants people or results falsified.", _deception),
    Attack("intent.decode", "Wants hidden text decoded and followed.", _decode_and_follow),
)
