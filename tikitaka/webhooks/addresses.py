"""Where an event may be sent. Whoever names an address names it to our server, which may reach more than they do."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

URL_CHARS_MAX = 500
_PORTS = {"https": 443, "http": 80}
_PLAIN = re.compile(r"[!-~]+")  # printable ASCII without blanks: no parser can be led to another host by it
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\.?")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# IPv6 is public where unicast addresses are given out, but for ranges that carry an IPv4 address inside or are special.
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_NOT_IN_V6 = tuple(
    ipaddress.IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "3ffe::/16")
)
_NOT_IN_V4 = tuple(
    ipaddress.IPv4Network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/3",
    )
)  # fmt: skip


class UrlFault(StrEnum):
    """Why nothing is sent to an address."""

    TOO_LONG = "url_too_long"
    MALFORMED = "url_malformed"
    SCHEME = "url_scheme"
    NOT_HTTPS = "url_not_https"
    CREDENTIALS = "url_credentials"
    FRAGMENT = "url_fragment"
    UNRESOLVED = "unresolved"
    PRIVATE_ADDRESS = "private_address"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An address that may be asked for: the host as it is looked up, without brackets."""

    url: str
    host: str
    port: int
    secure: bool


def target_of(url: str) -> Target | UrlFault:
    """The parts of an address, or why it is none. Plain HTTP is for this very machine only."""
    if len(url) > URL_CHARS_MAX:
        return UrlFault.TOO_LONG
    if not _PLAIN.fullmatch(url) or "\\" in url:
        return UrlFault.MALFORMED
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return UrlFault.MALFORMED
    if parts.scheme not in _PORTS:
        return UrlFault.SCHEME
    if "@" in parts.netloc:
        return UrlFault.CREDENTIALS
    if "#" in url:
        return UrlFault.FRAGMENT
    if port == 0 or not _is_host(host):
        return UrlFault.MALFORMED
    if parts.scheme == "http" and not is_loopback_name(host):
        return UrlFault.NOT_HTTPS
    return Target(url=url, host=host, port=port or _PORTS[parts.scheme], secure=parts.scheme == "https")


def is_loopback_name(host: str) -> bool:
    """A name that stands for this very machine."""
    literal = address_of(host)
    return literal.is_loopback if literal is not None else host in ("localhost", "localhost.")


def address_of(text: str) -> _Address | None:
    """The address that a text is; None for a name."""
    try:
        return ipaddress.ip_address(text.split("%", 1)[0])
    except ValueError:
        return None


def is_public(address: str) -> bool:
    """An address that anybody on the internet could reach, and nothing of ours that they could not."""
    parsed = address_of(address)
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _NOT_IN_V4)
    if isinstance(parsed, ipaddress.IPv6Address):
        return "%" not in address and parsed in _GLOBAL_V6 and not any(parsed in network for network in _NOT_IN_V6)
    return False


def judge(target: Target, addresses: Collection[str], *, private: Collection[str]) -> UrlFault | None:
    """Why nothing is sent to what a host's name stands for just now. One address that is not public spoils them all.

    `private` are the hosts for which the operator allows addresses that are not public. Without TLS even those must
    be this very machine.
    """
    if not addresses:
        return UrlFault.UNRESOLVED
    if not target.secure and not all(_is_loopback(address) for address in addresses):
        return UrlFault.PRIVATE_ADDRESS
    if target.host.rstrip(".") in {host.strip("[]").rstrip(".").lower() for host in private}:
        return None
    return None if all(map(is_public, addresses)) else UrlFault.PRIVATE_ADDRESS


def _is_loopback(address: str) -> bool:
    parsed = address_of(address)
    return parsed is not None and parsed.is_loopback


def _is_host(host: str) -> bool:
    """A name or a whole address. A name that is all digits is an address in a form that resolvers differ about."""
    if ":" in host:
        return "%" not in host and address_of(host) is not None
    if not _HOST.fullmatch(host) or len(host) > 253 or ".." in host:
        return False
    last = host.rstrip(".").rsplit(".", 1)[-1]
    return address_of(host) is not None or not re.fullmatch(r"[0-9]+|0[xX][0-9A-Fa-f]*", last)
