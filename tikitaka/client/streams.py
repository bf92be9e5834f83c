"""Following a stream over lost connections, without connecting: where to go on, and when to give up."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tikitaka.client.calls import RESUME, Call, Reply
from tikitaka.client.errors import Unreachable, Unreadable
from tikitaka.client.exchange import Lost, Patience, error_of
from tikitaka.client.records.work import Event

_END = "end"


class Following:
    """How far a stream has been read. Lines that were read are not told again; the state is, after every connecting."""

    def __init__(self, call: Call[Any], patience: Patience) -> None:
        self._call, self._patience = call, patience
        self._tries = 0
        self.ended = False

    @property
    def call(self) -> Call[Any]:
        """What to ask for now."""
        return self._call

    def event(self, name: str, data: str, identity: str) -> Event:
        """Reads one event, and remembers its place."""
        try:
            body = json.loads(data)
        except ValueError:
            raise Unreadable("an event that is not JSON") from None
        if not isinstance(body, dict):
            raise Unreadable("an event that is not an object")
        self._tries = 0
        self.ended = name == _END
        if identity:
            self._call = replace(self._call, headers={**self._call.headers, RESUME: identity})
        return Event(name=name, data=body, id=identity)

    def pause_s(self, found: Reply | Lost) -> float:
        """Seconds until connecting again; raises when that is no use. A stream that was closed counts as lost."""
        self._tries += 1
        pause = self._patience.pause_s(self._tries, found)
        if pause is None:
            raise error_of(found)
        return pause


class Rows:
    """The lines of a file, ended by line feeds alone: other signs that end a line may stand in its texts."""

    def __init__(self) -> None:
        self._rest = b""
        self._count = 0

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that are whole now."""
        *found, self._rest = (self._rest + chunk).split(b"\n")
        self._count += len(found)
        return [line.decode() for line in found]

    def close(self, lost: Lost | None) -> None:
        """Raises unless the file has come to its end: half a log is none."""
        if lost is not None or self._rest:
            raise Unreachable(f"the connection was lost after {self._count} lines")
