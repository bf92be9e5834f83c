"""The operations of the door, as methods of both clients.

Each is described once, in tikitaka.client.operations. A method of `Client` answers, the same method of `AsyncClient`
is awaited; lists and streams are iterators, or asynchronous iterators.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, ParamSpec, TypeVar, overload

from tikitaka.client.calls import Call
from tikitaka.client.operations import external, ledger, memory, tasks, teams, webhooks
from tikitaka.client.reading import Page
from tikitaka.client.records.work import Event

P = ParamSpec("P")
T = TypeVar("T")


class Operation(Generic[P, T]):
    """Answers with one thing."""

    def __init__(self, describe: Callable[P, Call[T]]) -> None:
        self.describe = describe

    @overload
    def __get__(self, client: Sends, owner: object) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: SendsAsync, owner: object) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Any, owner: object) -> Any:
        return _bound(client.send, self.describe)


class Listing(Generic[P, T]):
    """Goes through all pages."""

    def __init__(self, describe: Callable[P, Call[Page[T]]]) -> None:
        self.describe = describe

    @overload
    def __get__(self, client: Sends, owner: object) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: SendsAsync, owner: object) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: object) -> Any:
        return _bound(client.every, self.describe)


class Events(Generic[P]):
    """Goes on until the stream has ended, over lost connections."""

    def __init__(self, describe: Callable[P, Call[Any]]) -> None:
        self.describe = describe

    @overload
    def __get__(self, client: Sends, owner: object) -> Callable[P, Iterator[Event]]: ...
    @overload
    def __get__(self, client: SendsAsync, owner: object) -> Callable[P, AsyncIterator[Event]]: ...
    def __get__(self, client: Any, owner: object) -> Any:
        return _bound(client.events, self.describe)


class Lines(Generic[P]):
    """Line by line; a lost connection ends it with an error, half a log is none."""

    def __init__(self, describe: Callable[P, Call[Any]]) -> None:
        self.describe = describe

    @overload
    def __get__(self, client: Sends, owner: object) -> Callable[P, Iterator[str]]: ...
    @overload
    def __get__(self, client: SendsAsync, owner: object) -> Callable[P, AsyncIterator[str]]: ...
    def __get__(self, client: Any, owner: object) -> Any:
        return _bound(client.lines, self.describe)


def _bound(send: Callable[[Call[Any]], Any], describe: Callable[..., Call[Any]]) -> Callable[..., Any]:
    return lambda *args, **named: send(describe(*args, **named))


class Door:
    """Every operation, by the name that the door's description gives it."""

    list_organizations = Listing(teams.list_organizations)
    get_organization = Operation(teams.get_organization)
    pause_organization = Operation(teams.pause_organization)
    resume_organization = Operation(teams.resume_organization)
    list_teams = Listing(teams.list_teams)
    get_team = Operation(teams.get_team)
    create_team = Operation(teams.create_team)
    pause_team = Operation(teams.pause_team)
    resume_team = Operation(teams.resume_team)
    archive_team = Operation(teams.archive_team)
    list_members = Listing(teams.list_members)
    list_budgets = Listing(teams.list_budgets)
    list_agents = Listing(teams.list_agents)
    register_agent = Operation(teams.register_agent)
    get_agent = Operation(teams.get_agent)
    change_agent = Operation(teams.change_agent)
    retire_agent = Operation(teams.retire_agent)

    list_tasks = Listing(tasks.list_tasks)
    submit_task = Operation(tasks.submit_task)
    get_task = Operation(tasks.get_task)
    approve_plan = Operation(tasks.approve_plan)
    cancel_task = Operation(tasks.cancel_task)
    resume_task = Operation(tasks.resume_task)
    list_nodes = Listing(tasks.list_nodes)
    get_node = Operation(tasks.get_node)
    retry_node = Operation(tasks.retry_node)
    list_attempts = Listing(tasks.list_attempts)
    get_attempt = Operation(tasks.get_attempt)
    list_spans = Listing(tasks.list_spans)
    get_context = Operation(tasks.get_context)
    list_messages = Listing(tasks.list_messages)
    follow_task = Events(tasks.follow_task)

    lease_node = Operation(external.lease_node)
    heartbeat = Operation(external.heartbeat)
    append_spans = Operation(external.append_spans)
    complete_attempt = Operation(external.complete_attempt)

    list_segments = Listing(memory.list_segments)
    get_segment = Operation(memory.get_segment)
    close_thread = Operation(memory.close_thread)
    list_notes = Listing(memory.list_notes)
    get_note = Operation(memory.get_note)
    write_note = Operation(memory.write_note)
    approve_note = Operation(memory.approve_note)
    reject_note = Operation(memory.reject_note)
    edit_note = Operation(memory.edit_note)
    revoke_note = Operation(memory.revoke_note)
    list_review_items = Listing(memory.list_review_items)
    list_flushes = Listing(memory.list_flushes)
    list_landings = Listing(memory.list_landings)
    list_incidents = Listing(memory.list_incidents)
    get_incident = Operation(memory.get_incident)
    close_incident = Operation(memory.close_incident)

    get_ledger = Operation(ledger.get_ledger)
    list_entries = Listing(ledger.list_entries)
    verify_ledger = Operation(ledger.verify_ledger)
    export_ledger = Lines(ledger.export_ledger)
    list_tokens = Listing(ledger.list_tokens)
    issue_token = Operation(ledger.issue_token)
    issue_agent_token = Operation(ledger.issue_agent_token)
    revoke_token = Operation(ledger.revoke_token)
    get_current_token = Operation(ledger.get_current_token)

    list_webhooks = Listing(webhooks.list_webhooks)
    get_webhook = Operation(webhooks.get_webhook)
    create_webhook = Operation(webhooks.create_webhook)
    change_webhook = Operation(webhooks.change_webhook)
    rotate_webhook_secret = Operation(webhooks.rotate_webhook_secret)
    remove_webhook = Operation(webhooks.remove_webhook)
    test_webhook = Operation(webhooks.test_webhook)
    list_deliveries = Listing(webhooks.list_deliveries)
    redeliver = Operation(webhooks.redeliver)
    list_imports = Listing(webhooks.list_imports)
    import_recording = Operation(webhooks.import_recording)


class Sends(Door):
    """A client that answers."""

    @abstractmethod
    def send(self, call: Call[T]) -> T: ...
    @abstractmethod
    def every(self, call: Call[Page[T]]) -> Iterator[T]: ...
    @abstractmethod
    def events(self, call: Call[Any]) -> Iterator[Event]: ...
    @abstractmethod
    def lines(self, call: Call[Any]) -> Iterator[str]: ...


class SendsAsync(Door):
    """A client that is awaited."""

    @abstractmethod
    async def send(self, call: Call[T]) -> T: ...
    @abstractmethod
    def every(self, call: Call[Page[T]]) -> AsyncIterator[T]: ...
    @abstractmethod
    def events(self, call: Call[Any]) -> AsyncIterator[Event]: ...
    @abstractmethod
    def lines(self, call: Call[Any]) -> AsyncIterator[str]: ...
