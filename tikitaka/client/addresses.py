"""Where a token may be sent to."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def base_url(url: str, *, allow_http: bool) -> str:
    """The address without a slash at its end. Over plain HTTP a token goes to this machine only, unless it may."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or "@" in url:
        raise ValueError("the address must be http:// or https:// with a host, and nothing secret in it")
    if parts.scheme == "http" and not allow_http and not _is_loopback(parts.hostname):
        raise ValueError("a token is not sent over plain HTTP to another machine; use https://, or allow_http=True")
    return url.rstrip("/")


def is_here(url: str) -> bool:
    """True of this machine's own addresses. A proxy of the environment must not be shown a token on the way there."""
    return _is_loopback(urlsplit(url).hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
