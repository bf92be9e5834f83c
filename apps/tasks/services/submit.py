"""Submitting a task: the task and the message that carries its prompt, in one transaction."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from apps.accounts.services.authorize import authorize
from apps.ledger import clock
from apps.ledger.ids import new_id
from apps.ledger.queries import ask
from apps.ledger.rows import insert
from apps.ledger.services import recording
from apps.tasks.models import AuthorKind, Message, Task
from apps.tasks.services.budgets import open_task_budget
from apps.tasks.services.log import take_numbers
from apps.teams.models import Team
from apps.teams.selectors import active_count, locked_open
from tikitaka.authz import Permission, Principal, PrincipalKind
from tikitaka.errors import WrongState
from tikitaka.ledger.events import TaskSubmitted
from tikitaka.safety import Finding, redact
from tikitaka.scheduling.budget import NO_LIMITS, Limits
from tikitaka.text import digest, require


class TeamNotReady(WrongState):
    """A team needs at least two active agents and must not be archived."""

    code = "team_not_ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The saved task, and what in its prompt looks like a secret, to be pointed out to the person."""

    task: Task
    looks_secret: tuple[Finding, ...]


def submit_task(
    *, actor: Principal, team: Team, prompt: str, plan_only: bool = False, limits: Limits = NO_LIMITS
) -> Submitted:
    """Saves task and message with the next number, and the task's own budget when it has limits.

    The prompt is delivered as typed; what is derived is redacted.
    """
    authorize(actor, Permission.TASK_RUN, team, organization=team.organization_id, object_id=team.pk)

    policy = settings.TIKITAKA_POLICY
    prompt = require("prompt", prompt, limit=policy.prompt_chars)
    now = clock.now()

    with recording(team.organization_id, actor=actor.actor) as ledger:
        (seq,) = take_numbers(team.pk, 1)  # the scheduler's row before the team's own, as everybody locks them
        is_open, agents = ask(locked_open(team.pk), active_count(team.pk))
        if not is_open or agents < policy.team_agents_min:
            raise TeamNotReady
        task = Task(
            id=new_id(),
            organization_id=team.organization_id,
            team=team,
            prompt=prompt,
            plan_only=plan_only,
            submitted_by_id=actor.id if actor.kind is PrincipalKind.USER else None,
            submitted_at=now,
            first_seq=seq,
        )
        message = Message(
            organization_id=team.organization_id,
            team=team,
            task=task,
            seq=seq,
            author_kind=AuthorKind.PERSON,
            text=prompt,
            at=now,
        )
        insert(task)
        insert(message)
        open_task_budget(task=task, limits=limits, ledger=ledger)
        ledger.record(TaskSubmitted(task=task.pk, team=team.pk, prompt_digest=digest(prompt), source="person"))
    return Submitted(task=task, looks_secret=redact(prompt).findings)
