"""Questions about one clause that several kinds of attack ask."""

from __future__ import annotations

from collections.abc import Iterator

from tikitaka.safety.intent import Clause, orders
from tikitaka.safety.wordlists import words

NEGATIONS = words("not never dont cannot cant no didnt wont doesnt shouldnt mustnt without nobody")
DOCUMENTS = words(
    """
    readme wiki docs doc documentation confluence runbook guide manual changelog contributing eslint lint linter
    ruff mypy tsconfig gitignore dockerfile makefile template templates install installation setup build
    compiler css yaml json schema webpack nginx terraform helm prettier editorconfig robots
    """
)
SCOPES = words(
    """
    in for when during while if on unless until under inside within locally only after before because at by from
    """
)
# Words that may stand between a verb and what it aims at without making it something technical.
PLAIN = words(
    """
    the all any your my our of those these that this and or other such every each own you were given to as set
    by system safety security developer original openai anthropic admin administrators about earlier previous
    prior above before existing initial old former preceding first what has have been are is a an with its their
    from team company operator user users core current usual normal standard default received got human it up
    everything anything content ethical moral internal hidden secret strict whole entire so far just silly
    stupid restrictive for whatever on past step steps and next off down around out memory knowledge not away
    aside following attention no run use wait ask perform apply warnings alerts findings do need injection
    triggering tripping alerting waking hitting going through running using doing calling starting being caught
    detected by waiting asking getting
    """
)
ANSWERS = words("me here chat answer answers reply summary note comment message report response")
_PARTICLE_VERBS = words("do pay set throw put lay no stop dont turn switch shut work get opt never")


def negated(clause: Clause, at: int) -> bool:
    """Whether a negation stands right before the word."""
    return any(word in NEGATIONS for word in clause.words[max(0, at - 2) : at])


def about_documents(clause: Clause, after: int) -> bool:
    """Whether what follows names a document or a tool: then its rules are not the agent's."""
    return any(word in DOCUMENTS for word in clause.words[after : after + 8])


def only_plain(clause: Clause, at: int, other: int) -> bool:
    """Whether nothing technical stands between the verb and its object."""
    length = 4 if clause.words[at] in _PARTICLE_VERBS else 1
    return all(word in PLAIN for word in clause.words[at + length : other])


def aimed(clause: Clause, verb: str, target: str, *, within: int, plain: bool = False) -> Iterator[tuple[int, int]]:
    """Orders of `verb` that are not negated, with a `target` close behind."""
    for at in orders(clause, verb):
        if negated(clause, at):
            continue
        for other in clause.roles.get(target, ()):
            if 0 < other - at <= within and (not plain or only_plain(clause, at, other)):
                yield at, other


def near(clause: Clause, at: int, role: str, *, within: int) -> bool:
    """Whether the role follows the position closely."""
    return any(0 < other - at <= within for other in clause.roles.get(role, ()))
