"""Nodes that the caller runs itself. The calls about an attempt go with the attempt's own token."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tikitaka.client.calls import Call, Id, Reply, get, given, of_attempt, post
from tikitaka.client.errors import Conflict
from tikitaka.client.reading import maybe, one
from tikitaka.client.records.external import Completion, Heartbeat, Lease, Stored
from tikitaka.client.records.work import Attempt
from tikitaka.client.secret import Secret

_REPORTED = ("completed", "failed", "cancelled")


def lease_node(team: Id, *, agents: Collection[Id] | None = None, wait_s: int | None = None) -> Call[Lease | None]:
    """The next ready node, waiting up to `wait_s` seconds for one. Sent once: a lease whose answer is lost runs out."""
    body = given(team=team, agents=agents, wait_s=wait_s)
    return replace(post("lease_node", "/api/v1/nodes/lease", maybe(Lease), body=body), wait_s=wait_s or 0)


def heartbeat(attempt: Id, *, token: Secret | str | None = None) -> Call[Heartbeat]:
    """Keeps the lease."""
    call = post("heartbeat", "/api/v1/attempts/{attempt}/heartbeat", one(Heartbeat), attempt=attempt)
    return of_attempt(call, token, repeat=True)


def append_spans(attempt: Id, spans: Sequence[Mapping[str, Any]], *, token: Secret | str | None = None) -> Call[Stored]:
    """Stores what the agent did; a number that comes again replaces the span, so a batch may be sent twice."""
    path = "/api/v1/attempts/{attempt}/spans/batch"
    call = post("append_spans", path, one(Stored), body={"spans": spans}, attempt=attempt)
    return of_attempt(call, token, repeat=True)


def complete_attempt(
    attempt: Id,
    *,
    output: str | None = None,
    error: str | None = None,
    detail: str | None = None,
    usage: Mapping[str, int] | None = None,
    thread: str | None = None,
    token: Secret | str | None = None,
) -> Call[Completion]:
    """Writes the end of an attempt. When the answer is lost, the attempt is looked up with the client's own token."""
    body = given(output=output, error=error, detail=detail, usage=usage, thread=thread)
    call = post("complete_attempt", "/api/v1/attempts/{attempt}/complete", one(Completion), body=body, attempt=attempt)
    ended = get("get_attempt", "/api/v1/attempts/{attempt}", _ended, attempt=attempt)
    return of_attempt(call, token, repeat=True, ended=ended)


def _ended(reply: Reply) -> Completion:
    """What an earlier try has reported. An attempt that was given up by the server was not completed by us."""
    found = one(Attempt)(reply)
    if found.status not in _REPORTED:
        raise Conflict(409, "attempt_over", f"the attempt is {found.status}")
    return Completion(attempt=found.id, status=found.status)
