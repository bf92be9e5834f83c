"""One POST to an address that was checked: no redirect, no proxy, one deadline for all of it, little of the answer.

The connection goes to the very addresses that were judged. A name that stands for something else a moment later, or a
receiver that drips one byte at a time, gains nothing.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import httpcore2

from tikitaka.webhooks.addresses import Target, UrlFault, judge, target_of
from tikitaka.webhooks.trying import SendFault, fault_of

Resolver = Callable[[str, int], Collection[str]]
_ANSWER_BYTES_MAX = 4_096
_ADDRESSES_TRIED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What came of an attempt; without a fault it was received."""

    status: int | None = None
    fault: SendFault | None = None


def resolve(host: str, port: int) -> Collection[str]:
    """Every address that a host's name stands for; none when it stands for nothing."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(row[4][0]) for row in found))


def examine(url: str, *, private: Collection[str], resolver: Resolver = resolve) -> list[str] | UrlFault:
    """The addresses that an event may be sent to just now, or why it may not."""
    target = target_of(url)
    if isinstance(target, UrlFault):
        return target
    addresses = list(resolver(target.host, target.port))
    return judge(target, addresses, private=private) or addresses


def post(
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes,
    timeout_s: float,
    private: Collection[str],
    resolver: Resolver = resolve,
) -> Sent:
    """Sends once and never raises for what a receiver or the network does."""
    target = target_of(url)
    if isinstance(target, UrlFault):
        return Sent(fault=SendFault.BAD_URL)
    addresses = examine(url, private=private, resolver=resolver)
    if isinstance(addresses, UrlFault):
        return Sent(fault=SendFault(addresses.value))
    try:
        status = _exchange(target, addresses, headers, body, time.monotonic() + timeout_s)
    except (httpcore2.TimeoutException, TimeoutError):
        return Sent(fault=SendFault.TIMEOUT)
    except (httpcore2.ConnectError, ssl.SSLError) as error:
        return Sent(fault=SendFault.TLS if _is_tls(error) else SendFault.CONNECTION)
    except (httpcore2.NetworkError, OSError):
        return Sent(fault=SendFault.CONNECTION)
    except (httpcore2.ProtocolError, httpcore2.UnsupportedProtocol, ValueError):
        return Sent(fault=SendFault.PROTOCOL)
    return Sent(status=status, fault=fault_of(status))


def _exchange(target: Target, addresses: list[str], headers: Mapping[str, str], body: bytes, deadline: float) -> int:
    """The status of the answer. A little of its body is read for the receiver's sake and thrown away."""
    given = {"content-type": "application/json", "user-agent": "Tiki-Taka-Webhooks/1", "accept": "*/*", **headers}
    backend = _CheckedBackend(addresses, deadline)
    with (
        httpcore2.ConnectionPool(ssl_context=_tls() if target.secure else None, network_backend=backend) as pool,
        pool.stream("POST", target.url, headers=list(given.items()), content=body) as answer,
    ):
        status: int = answer.status
        _taste(answer.stream)
        return status


def _taste(stream: Any) -> None:
    """What goes wrong behind the status changes nothing: the receiver has said that it has the event, or has not."""
    read = 0
    try:
        for chunk in stream:
            read += len(chunk)
            if read >= _ANSWER_BYTES_MAX:
                return
    except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, OSError):
        return


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Certificates are checked against those that the system trusts; SSL_CERT_FILE names others."""
    return ssl.create_default_context()


def _is_tls(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


class _CheckedBackend(httpcore2.NetworkBackend):
    """Connects to the addresses that it was given and asks nobody for others."""

    def __init__(self, addresses: list[str], deadline: float) -> None:
        self._addresses = addresses[:_ADDRESSES_TRIED]
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 it was looked up and judged before
        port: int,
        timeout: float | None = None,  # noqa: ARG002 the deadline is for everything together
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        last: Exception | None = None
        for address in self._addresses:
            try:
                stream = httpcore2.SyncBackend().connect_tcp(
                    address, port, timeout=_left(self._deadline), socket_options=socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last = error
            else:
                return _TimedStream(stream, self._deadline)
        raise last or httpcore2.ConnectError("no address")


class _TimedStream(httpcore2.NetworkStream):
    """A connection of which every step has only what is left of the deadline, and no step reads much."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._stream.read(min(max_bytes, _ANSWER_BYTES_MAX), timeout=_left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._stream.write(buffer, timeout=_left(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout=_left(self._deadline))
        return _TimedStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("the time for this attempt is over")
    return left
