"""The two addresses of the server, by the standard library. Redirects are not followed: the token is for one server."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener
from uuid import UUID

from tikitaka.errors import TikiTakaError
from tikitaka.sync.folder import Held
from tikitaka.sync.manifest import ANSWER_BYTES_MAX, BadAnswer, Manifest, read_manifest

_TIMEOUT_S = 20
_FINAL = frozenset({400, 401, 403, 404, 405})
_NOT_REMOTE = "workspace_not_remote"


class Refused(TikiTakaError):
    """The server will not answer this machine, however often it asks."""

    code = "refused"


class Unanswered(TikiTakaError):
    """The server did not answer as it should; `after_s` is when it wants to be asked again, 0 for when we like."""

    code = "unanswered"

    def __init__(self, detail: str, after_s: int = 0) -> None:
        self.after_s = after_s
        super().__init__(detail)


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Server:
    """One agent's machine at one server."""

    def __init__(self, address: str, agent: UUID, token: str) -> None:
        self._address = f"{address.rstrip('/')}/api/v1/agents/{agent}/workspace"
        self._token = token
        self._opener = build_opener(_NoRedirects)

    def fetch(self, *, known: str, wait_s: int) -> Manifest | None:
        """The manifest; None when it still is the known one after `wait_s` seconds."""
        headers = {"If-None-Match": f'"{known}"'} if known else {}
        answer = self._ask(f"{self._address}?wait_s={wait_s}", headers, timeout=wait_s + _TIMEOUT_S)
        return None if answer is None else read_manifest(answer)

    def report(self, version: str, held: Mapping[str, Held]) -> list[str]:
        """Says what lies in the folder; which of the files the server finds wrong."""
        files = [{"path": path, "digest": what.digest, "fault": what.fault} for path, what in held.items()]
        body = json.dumps({"version": version, "files": files}).encode()
        headers = {"Content-Type": "application/json"}
        answer = self._ask(f"{self._address}/report", headers, timeout=_TIMEOUT_S, body=body)
        try:
            return [path for path in held if path in {row["path"] for row in json.loads(answer or b"")["wrong"]}]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise BadAnswer("the answer to a report is none") from error

    def _ask(self, address: str, headers: dict[str, str], *, timeout: int, body: bytes | None = None) -> bytes | None:
        request = Request(address, data=body, headers=headers)  # noqa: S310 the scheme was looked at
        request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=timeout) as answer:
                found: bytes = answer.read(ANSWER_BYTES_MAX + 1)
        except HTTPError as error:
            with error:
                if error.code == 304:
                    return None
                raise _refusal(error) from None
        except (OSError, HTTPException) as error:
            raise Unanswered(f"no answer: {type(error).__name__}") from None
        if len(found) > ANSWER_BYTES_MAX:
            raise BadAnswer("the answer is too large")
        return found


def _refusal(error: HTTPError) -> TikiTakaError:
    """What a status means for us; of the answer's words only the code is taken, and only if it is a word."""
    code = _code(error)
    words = f"status {error.code}" + (f" {code}" if code else "")
    if error.code in _FINAL or 300 <= error.code < 400 or code == _NOT_REMOTE:
        return Refused(words)
    after = error.headers.get("Retry-After", "")
    return Unanswered(words, int(after) if after.isascii() and after.isdigit() and len(after) < 4 else 0)


def _code(error: HTTPError) -> str:
    try:
        found = json.loads(error.read(65_536))["code"]
    except (OSError, HTTPException, ValueError, TypeError, KeyError, RecursionError):
        return ""
    return found if isinstance(found, str) and re.fullmatch(r"[a-z_]{1,40}", found) else ""
