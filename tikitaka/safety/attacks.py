"""The kinds of attack that a clause can be, with what a reviewer is told about each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from tikitaka.safety import attacks_abroad as abroad
from tikitaka.safety import attacks_on_controls as controls
from tikitaka.safety import attacks_on_data as data
from tikitaka.safety import attacks_on_rules as rules
from tikitaka.safety.intent import Clause, read_clause


@dataclass(frozen=True, slots=True)
class Attack:
    """A kind of attack: its stable id, what to tell the reviewer, and the tests of which any suffices."""

    rule: str
    detail: str
    tests: tuple[Callable[[Clause], bool], ...]


ATTACKS: tuple[Attack, ...] = (
    Attack(
        "intent.override",
        "Tells the reading agent to drop the instructions it was given.",
        (rules.override, abroad.override),
    ),
    Attack("intent.voided", "Declares the agent's own rules void.", (rules.voided,)),
    Attack("intent.authority", "Claims to rank above the agent's own rules.", (rules.authority,)),
    Attack("intent.role", "Gives the reading agent a new role without limits.", (rules.new_role,)),
    Attack(
        "intent.submission",
        "Tells the reading agent to obey whoever wrote this.",
        (rules.submission, abroad.submission),
    ),
    Attack("intent.new_orders", "Announces new orders that lift limits or hide something.", (rules.new_orders,)),
    Attack("intent.prompt_leak", "Asks for the agent's own instructions.", (rules.prompt_leak, abroad.prompt_leak)),
    Attack("intent.decode", "Wants hidden text decoded and followed.", (rules.decode_and_follow,)),
    Attack("intent.secret_request", "Asks for the value of a secret.", (data.secret_request, abroad.secret_request)),
    Attack(
        "intent.exfiltration", "Sends the team's data to an outside address.", (data.exfiltration, abroad.exfiltration)
    ),
    Attack("intent.destruction", "Wants everything of a kind destroyed.", (data.destruction, abroad.destruction)),
    Attack("intent.spreading", "Wants itself copied to other agents.", (data.spreading,)),
    Attack("intent.disable_safety", "Switches a safety control off.", (controls.disable_safety, abroad.disable_safety)),
    Attack(
        "intent.concealment",
        "Wants something done or kept behind people's backs.",
        (controls.concealment, abroad.concealment),
    ),
    Attack(
        "intent.self_approval",
        "Wants work reported as checked that was not.",
        (controls.self_approval, abroad.self_approval),
    ),
    Attack("intent.blind_approval", "Wants approval without anybody looking.", (controls.blind_approval,)),
    Attack("intent.privilege", "Gives the writer more rights.", (controls.privilege,)),
    Attack("intent.deception", "Wants people or results falsified.", (controls.deception,)),
)


@lru_cache(maxsize=2048)
def attacks_in(sentence: str) -> tuple[Attack, ...]:
    """Every kind of attack that the sentence is; remembered, since most views of a text share most sentences."""
    clause = read_clause(sentence)
    if not clause.roles and not clause.abroad:
        return ()
    return tuple(attack for attack in ATTACKS if any(test(clause) for test in attack.tests))
