"""The two clients. They send, wait and read; what they send and when is decided in the modules beside this one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, Self, TypeVar

import httpx2

from tikitaka.client.addresses import base_url, is_here
from tikitaka.client.calls import Call, Reply
from tikitaka.client.door import Sends, SendsAsync
from tikitaka.client.exchange import Lost, Patience, Send, Steps, Wait, error_of, perform
from tikitaka.client.reading import Page
from tikitaka.client.records.work import Event
from tikitaka.client.secret import Secret, secret
from tikitaka.client.streams import Following, Rows

T = TypeVar("T")
_CONNECT_S = 10.0
_SILENCE_S = 60.0  # a stream says every fifteen seconds that it is still there


class _Settings:
    """What both clients know: where the server is, who asks, and how patient they are."""

    def __init__(
        self, url: str, token: Secret | str, *, timeout_s: float, patience: Patience | None, allow_http: bool
    ) -> None:
        self.url = base_url(url, allow_http=allow_http)
        self.patience = patience or Patience()
        self._token, self._timeout_s = secret(token), timeout_s

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _request(self, call: Call[Any], silence_s: float | None = None) -> dict[str, Any]:
        """A request in the library's words."""
        token = call.token or self._token
        wait = silence_s or self._timeout_s + call.wait_s
        return {
            "method": call.method,
            "url": self.url + call.target,
            "params": dict(call.query) or None,
            "json": None if call.body is None else dict(call.body),
            "content": call.content,
            "headers": {
                "Accept": "application/json",
                **({} if call.content is None else {"Content-Type": "text/plain"}),
                **call.headers,
                "Authorization": f"Bearer {token.reveal()}",
            },
            "timeout": httpx2.Timeout(wait, connect=_CONNECT_S),
        }


def _reply(response: httpx2.Response) -> Reply:
    after = response.headers.get("Retry-After", "")
    seconds = float(after) if after.isascii() and after.isdigit() else None
    return Reply(status=response.status_code, content=response.content, retry_after_s=seconds)


class Client(_Settings, Sends):
    """Speaks with the door and waits for its answers. May be used by several threads."""

    def __init__(
        self,
        url: str,
        token: Secret | str,
        *,
        timeout_s: float = 30,
        patience: Patience | None = None,
        allow_http: bool = False,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, token, timeout_s=timeout_s, patience=patience, allow_http=allow_http)
        self._http = httpx2.Client(transport=transport, follow_redirects=False, trust_env=not is_here(self.url))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the connections back."""
        self._http.close()

    def send(self, call: Call[T], *, patience: Patience | None = None) -> T:
        """The answer to a call; raises what it ends with instead."""
        steps: Steps[T] = perform(call, patience or self.patience)
        found: Reply | Lost | None = None
        try:
            while True:
                found = self._do(steps.send(found))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    def _do(self, step: Send | Wait) -> Reply | Lost | None:
        if isinstance(step, Wait):
            time.sleep(step.seconds)
            return None
        try:
            return _reply(self._http.request(**self._request(step.call)))
        except httpx2.RequestError as error:
            return Lost(type(error).__name__)

    def every(self, call: Call[Page[T]]) -> Iterator[T]:
        """The rows of all pages, asked for as they are needed."""
        while True:
            page = self.send(call)
            yield from page.items
            if page.next is None:
                return
            call = replace(call, query={**call.query, "cursor": page.next})

    def events(self, call: Call[Any]) -> Iterator[Event]:
        """The events of a stream, going on behind the last one when the connection is lost."""
        following = Following(call, self.patience)
        while not following.ended:
            found: Reply | Lost = Lost("the stream was closed")
            try:
                with self._stream(following.call) as response:
                    if response.status_code == 200:
                        for raw in httpx2.EventSource(response):
                            yield following.event(raw.event, raw.data, raw.id)
                    else:
                        response.read()
                        found = _reply(response)
            except httpx2.RequestError as error:
                found = Lost(type(error).__name__)
            if not following.ended:
                time.sleep(following.pause_s(found))

    def lines(self, call: Call[Any]) -> Iterator[str]:
        """The lines of a file, as they come."""
        rows, lost = Rows(), None
        try:
            with self._stream(call) as response:
                if response.status_code != 200:
                    response.read()
                    raise error_of(_reply(response))
                for chunk in response.iter_bytes():
                    yield from rows.feed(chunk)
        except httpx2.RequestError as error:
            lost = Lost(type(error).__name__)
        rows.close(lost)

    @contextmanager
    def _stream(self, call: Call[Any]) -> Iterator[httpx2.Response]:
        with self._http.stream(**self._request(call, _SILENCE_S)) as response:
            yield response


class AsyncClient(_Settings, SendsAsync):
    """Speaks with the door without holding up the event loop."""

    def __init__(
        self,
        url: str,
        token: Secret | str,
        *,
        timeout_s: float = 30,
        patience: Patience | None = None,
        allow_http: bool = False,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, token, timeout_s=timeout_s, patience=patience, allow_http=allow_http)
        self._http = httpx2.AsyncClient(transport=transport, follow_redirects=False, trust_env=not is_here(self.url))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Gives the connections back."""
        await self._http.aclose()

    async def send(self, call: Call[T], *, patience: Patience | None = None) -> T:
        """The answer to a call; raises what it ends with instead."""
        steps: Steps[T] = perform(call, patience or self.patience)
        found: Reply | Lost | None = None
        try:
            while True:
                found = await self._do(steps.send(found))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    async def _do(self, step: Send | Wait) -> Reply | Lost | None:
        if isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
            return None
        try:
            return _reply(await self._http.request(**self._request(step.call)))
        except httpx2.RequestError as error:
            return Lost(type(error).__name__)

    async def every(self, call: Call[Page[T]]) -> AsyncIterator[T]:
        """The rows of all pages, asked for as they are needed."""
        while True:
            page = await self.send(call)
            for item in page.items:
                yield item
            if page.next is None:
                return
            call = replace(call, query={**call.query, "cursor": page.next})

    async def events(self, call: Call[Any]) -> AsyncIterator[Event]:
        """The events of a stream, going on behind the last one when the connection is lost."""
        following = Following(call, self.patience)
        while not following.ended:
            found: Reply | Lost = Lost("the stream was closed")
            try:
                async with self._stream(following.call) as response:
                    if response.status_code == 200:
                        async for raw in httpx2.EventSource(response):
                            yield following.event(raw.event, raw.data, raw.id)
                    else:
                        await response.aread()
                        found = _reply(response)
            except httpx2.RequestError as error:
                found = Lost(type(error).__name__)
            if not following.ended:
                await asyncio.sleep(following.pause_s(found))

    async def lines(self, call: Call[Any]) -> AsyncIterator[str]:
        """The lines of a file, as they come."""
        rows, lost = Rows(), None
        try:
            async with self._stream(call) as response:
                if response.status_code != 200:
                    await response.aread()
                    raise error_of(_reply(response))
                async for chunk in response.aiter_bytes():
                    for line in rows.feed(chunk):
                        yield line
        except httpx2.RequestError as error:
            lost = Lost(type(error).__name__)
        rows.close(lost)

    @asynccontextmanager
    async def _stream(self, call: Call[Any]) -> AsyncIterator[httpx2.Response]:
        async with self._http.stream(**self._request(call, _SILENCE_S)) as response:
            yield response
