"""Tasks, their nodes and attempts, and what was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tikitaka.client.calls import RESUME, Call, Id, get, given, keyed, post
from tikitaka.client.operations.teams import Order, pages
from tikitaka.client.reading import Page, lines, one, page
from tikitaka.client.records.work import Attempt, Context, Message, Node, Span, Submission, Task


def list_tasks(
    *,
    team: Id | None = None,
    status: str | None = None,
    limit: int | None = None,
    order: Order | None = None,
    cursor: str | None = None,
) -> Call[Page[Task]]:
    query = pages(limit, order, cursor, team=team, status=status)
    return get("list_tasks", "/api/v1/tasks", page(Task), query=query)


def submit_task(
    team: Id,
    prompt: str,
    *,
    plan: Sequence[Mapping[str, Any]] | None = None,
    plan_only: bool | None = None,
    attempts_max: int | None = None,
    tokens_max: int | None = None,
    key: str | None = None,
) -> Call[Submission]:
    """A prompt to a team, or a ready plan with it."""
    body = given(
        team=team, prompt=prompt, plan=plan, plan_only=plan_only, attempts_max=attempts_max, tokens_max=tokens_max
    )
    return keyed(post("submit_task", "/api/v1/tasks", one(Submission), body=body), key)


def get_task(task: Id) -> Call[Task]:
    return get("get_task", "/api/v1/tasks/{task}", one(Task), task=task)


def approve_plan(task: Id, *, key: str | None = None) -> Call[Task]:
    """Lets a task run that stopped after planning."""
    return keyed(post("approve_plan", "/api/v1/tasks/{task}/approve", one(Task), task=task), key)


def cancel_task(task: Id, *, key: str | None = None) -> Call[Task]:
    """Stops a task. An attempt that is leased is told at its next heartbeat."""
    return keyed(post("cancel_task", "/api/v1/tasks/{task}/cancel", one(Task), task=task), key)


def resume_task(task: Id, *, key: str | None = None) -> Call[Task]:
    """Runs again what did not finish; finished work stays."""
    return keyed(post("resume_task", "/api/v1/tasks/{task}/resume", one(Task), task=task), key)


def list_nodes(
    task: Id, *, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[Node]]:
    query = pages(limit, order, cursor)
    return get("list_nodes", "/api/v1/tasks/{task}/nodes", page(Node), query=query, task=task)


def get_node(node: Id) -> Call[Node]:
    return get("get_node", "/api/v1/nodes/{node}", one(Node), node=node)


def retry_node(node: Id, *, key: str | None = None) -> Call[Node]:
    """Runs a failed node of a settled task again, and what it blocked."""
    return keyed(post("retry_node", "/api/v1/nodes/{node}/retry", one(Node), node=node), key)


def list_attempts(
    task: Id, *, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[Attempt]]:
    query = pages(limit, order, cursor)
    return get("list_attempts", "/api/v1/tasks/{task}/attempts", page(Attempt), query=query, task=task)


def get_attempt(attempt: Id) -> Call[Attempt]:
    return get("get_attempt", "/api/v1/attempts/{attempt}", one(Attempt), attempt=attempt)


def list_spans(
    attempt: Id, *, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[Span]]:
    """What an agent did in an attempt, redacted when it was captured."""
    query = pages(limit, order, cursor)
    return get("list_spans", "/api/v1/attempts/{attempt}/spans", page(Span), query=query, attempt=attempt)


def get_context(attempt: Id) -> Call[Context]:
    """What an attempt was given, as it was saved before the attempt began."""
    return get("get_context", "/api/v1/attempts/{attempt}/context", one(Context), attempt=attempt)


def list_messages(
    task: Id, *, limit: int | None = None, order: Order | None = None, cursor: str | None = None
) -> Call[Page[Message]]:
    """What was said in a task, in the order of the team's log."""
    query = pages(limit, order, cursor)
    return get("list_messages", "/api/v1/tasks/{task}/messages", page(Message), query=query, task=task)


def follow_task(task: Id, *, after: str = "") -> Call[tuple[str, ...]]:
    """The events of a task until it has ended, behind the event `after`."""
    call = get("follow_task", "/api/v1/tasks/{task}/events", lines, task=task)
    return replace(call, headers={"Accept": "text/event-stream", **({RESUME: after} if after else {})})
