"""Clauses that go for the people and controls in between: switching off, hiding, feigning, granting."""

from __future__ import annotations

from tikitaka.safety.clauses import PLAIN, SCOPES, about_documents, aimed, near, negated, only_plain
from tikitaka.safety.intent import Clause, orders
from tikitaka.safety.wordlists import words

_WEAK_SAFETY = words(
    """
    monitoring logging sandbox sandboxing firewall antivirus protection protections filters ledger audit
    auditing supervision confirmation confirmations verification reviewer the quarantined security code review
    approvals approval
    """
)
_READER = words("you your me my")
_THINGS_OF_THE_READER = words("your you anything everything this these me my them")
_OVERSEERS = words(
    "reviewer reviewers auditor auditors human humans maintainer maintainers owner owners "
    "approver approvers supervisor security manager"
)
_WEAK_ADVERBS = words("quietly silently secretly covertly discreetly stealthily unnoticed")
_REPORTERS = words("we they it i tests logs")
_PEOPLE = words(
    """
    user users reviewer reviewers human humans operator operators auditor auditors customer customers team
    results result report reports evidence log logs owner manager maintainers maintainer metrics coverage status
    """
)
_WORK = words("note notes message messages anyone code change changes author")
_SPLIT_VERBS = {
    **dict.fromkeys(("turn", "switch", "shut"), words("off down")),
    **dict.fromkeys(("leave", "keep", "take", "cut"), words("out off")),
    "set": words("false off none no disabled zero"),
}
_PARTS_OF_CONTROLS = words(
    """
    check checks filter filters step steps log logs trail scan scanner rules module layer settings gate gates
    review queue controls
    """
)
_DELIVER = words("send put pass route submit run take push hand")
_SWEEPING = words("this note everything every my me mine these message messages")
_ALARMS = words("alert alerts alarm alarms notification notifications pager")
_ITSELF = words("note message instruction instructions change you")
_IMPERATIVES = words(
    """
    merge deploy commit push run release publish continue proceed go do land ship apply approve accept execute
    just install act edit change write then and please always you
    """
)
_ACTS = ("grant", "send", "disable", "destroy", "copyall", "deceive", "override", "claim")
_TARGETS = ("privilege", "safety", "data", "secret", "mine", "everywhere", "deceive", "rules")


def disable_safety(clause: Clause) -> bool:
    """Switches a control off; weaker words for one count only without a place or time of their own."""
    for at, other in aimed(clause, "disable", "safety", within=7, plain=True):
        if about_documents(clause, other):
            continue
        if clause.words[other] in _WEAK_SAFETY and _is_scoped(clause, at, other):
            continue
        return True
    return _switched_off(clause) or _neglected(clause)


def _is_scoped(clause: Clause, at: int, other: int) -> bool:
    if clause.words[at] in {"do", "dont", "never"} or _READER.intersection(clause.words) or clause.has("conceal"):
        return False
    return bool(SCOPES.intersection(clause.words[other + 1 : other + 3]))


def _switched_off(clause: Clause) -> bool:
    """`turn the safety checks off`: the verb's two halves, or a setting and its value, stand around the object."""
    for at, word in enumerate(clause.words):
        ending = _SPLIT_VERBS.get(word)
        if ending is None or negated(clause, at) or (at and clause.words[at - 1] in _REPORTERS):
            continue
        for other in clause.roles.get("safety", ()):
            close = clause.words[other : other + 6]
            end = next((place for place, said in enumerate(close) if said in ending), None)
            if end is None or not 0 < other - at <= 4 or not only_plain(clause, at, other):
                continue
            if all(said in PLAIN or said in _PARTS_OF_CONTROLS for said in close[1:end]):
                return word != "set" or "to" in close
    return False


def _neglected(clause: Clause) -> bool:
    """Tells the reader to leave a control out, without naming the control as a thing."""
    said = set(clause.words)
    if clause.has("neglect") and said & _THINGS_OF_THE_READER and orders(clause, "neglect"):
        return True
    if clause.has("need_no", "safety") and ("you" in said or clause.roles["need_no"][0] == 0):
        return True
    if clause.has("unasked") and clause.words[0] in _IMPERATIVES and (said & _OVERSEERS or clause.has("safety")):
        return True
    if _kept_away(clause):
        return True
    return bool(orders(clause, "lower")) and clause.has("bar") and bool(said & {"my", "me", "mine", "so"})


def _kept_away(clause: Clause) -> bool:
    """`do not send this through quarantine`."""
    for at, word in enumerate(clause.words):
        if (
            word in _DELIVER
            and negated(clause, at)
            and {"this", "it", "them", "these"}.intersection(clause.words[at + 1 : at + 3])
        ):
            return any(0 < other - at <= 6 for other in clause.roles.get("safety", ()))
    return False


def concealment(clause: Clause) -> bool:
    """Wants something done or kept behind people's backs."""
    said = set(clause.words)
    if clause.words[0] in {"suppress", "mute", "silence"} and said & _ALARMS and said & {"this", "you", "your", "my"}:
        return True
    if (
        clause.has("hidden_from")
        and said & _OVERSEERS
        and said & {"this", "it", "that", "these", "sure", "ensure", "second"}
    ):
        return True
    if (
        (orders(clause, "destroy") or orders(clause, "swap"))
        and clause.has("traces")
        and "this" in said
        and said & _ITSELF
    ):
        return True
    for at in clause.roles.get("conceal", ()):
        if clause.words[at] not in _WEAK_ADVERBS:
            if not (at > 0 and clause.words[at - 1] in _REPORTERS):
                return True
        elif (orders(clause, "swap") and clause.has("proof")) or (
            any(orders(clause, role) for role in _ACTS) and _is_aimed(clause)
        ):
            return True
    return False


def _is_aimed(clause: Clause) -> bool:
    return clause.outside or clause.has("reader") or any(clause.has(role) for role in _TARGETS)


def self_approval(clause: Clause) -> bool:
    """Wants work reported as checked that nobody checked."""
    if orders(clause, "trust") and clause.has("unfounded") and _WORK.intersection(clause.words):
        return True
    if not clause.has("claim", "approved"):
        return False
    for at in orders(clause, "claim"):
        if negated(clause, at) or not near(clause, at, "approved", within=8):
            continue
        rest = set(clause.words[at:])
        if clause.words[at] in {"say", "pretend", "claim", "tell", "assure", "insist"}:
            return True
        if clause.has("unfounded"):
            return True
        if rest & {"note", "notes", "yourself", "reviewer", "reviewers"} or clause.has("safety", "disable"):
            return not rest & {"once", "after", "when"}
    return False


def blind_approval(clause: Clause) -> bool:
    """Wants approval without anybody looking."""
    if clause.has("affirm") and (clause.has("safety") or {"every", "all", "any"}.intersection(clause.words)):
        return True
    if any(said.startswith(("auto-approv", "autoapprov")) for said in clause.words) and clause.has("safety"):
        return clause.words[0] in {"make", "let", "set", "have", "please", "you"}
    for at in orders(clause, "regard"):
        rest = set(clause.words[at:])
        if "as" in rest and near(clause, at, "approved", within=9) and rest & _SWEEPING and not negated(clause, at):
            return True
    if not any(clause.words[at] == "approve" and not negated(clause, at) for at in orders(clause, "claim")):
        return False
    said = set(clause.words)
    everything = said & {"everything", "every", "all", "any"}
    of_notes = said & {"note", "notes", "request", "requests", "automatically", "author"}
    return (clause.has("unfounded") or bool(everything and of_notes)) and not said & {"after", "once"}


def privilege(clause: Clause) -> bool:
    """Gives the writer, or an account at the next occasion, more rights."""
    after_modal = [at for at in clause.roles.get("grant", ()) if at and clause.words[at - 1] in {"should", "must"}]
    for at in [*orders(clause, "grant"), *after_modal]:
        if negated(clause, at) or not near(clause, at, "privilege", within=12):
            continue
        if clause.has("trigger") or near(clause, at, "mine", within=6):
            return True
    return False


def deception(clause: Clause) -> bool:
    """Wants people misled or results falsified."""
    for at in orders(clause, "deceive"):
        if negated(clause, at):
            continue
        close = set(clause.words[at : at + 9])
        if close & {"backdoor", "backdoors"} or clause.words[at] in {"lie", "mislead", "deceive"} or close & _PEOPLE:
            tested = close & {"tests", "test", "fixture", "clock"}
            return not tested or bool(close & {"reviewer", "user", "human", "results"})
    return False
