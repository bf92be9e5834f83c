"""Reading a language model's reply: from what the server sent to one JSON value, or one named reason.

Used by planning and by note extraction; the contract is fixed by tests/cases/model_replies.jsonl. The reasoning field
is never read, quotes are never repaired, cut JSON is never closed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_THINK = re.compile(r"\s*<(think|thinking)>.*?</\1>", re.DOTALL)
_ORPHAN_THINK_END = re.compile(r"</(?:think|thinking)>")
_INDEX = re.compile(r"[0-9]{1,4}\Z", re.ASCII)
MAX_REPLY_CHARS = 1_000_000


class ReplyFault(StrEnum):
    """Why a reply could not be read as JSON."""

    INVALID_JSON = "invalid_json"
    TRUNCATED = "truncated"
    EMPTY_CONTENT = "empty_content"
    REFUSAL = "refusal"
    TIMEOUT = "timeout"
    HTTP_ERROR = "http_error"
    DUPLICATE_KEY = "duplicate_key"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """Nothing usable came; `reason` is kept with the raw reply."""

    reason: ReplyFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """The JSON value that the model answered with; not validated yet."""

    value: Any


class _DuplicateKey(ValueError):
    pass


def read_reply(body: Mapping[str, Any] | None, *, list_key: str) -> Readable | Unreadable:
    """The value in a chat-completion body (`status`, `finish_reason`, `message`); `list_key` is the expected list."""
    if body is None:
        return Unreadable(reason=ReplyFault.HTTP_ERROR)
    status = body.get("status")
    if body.get("error") == "timeout" or status in ("timeout", 408, 504):
        return Unreadable(reason=ReplyFault.TIMEOUT)
    if not isinstance(status, int) or not 200 <= status < 300:
        return Unreadable(reason=ReplyFault.HTTP_ERROR)
    finish = body.get("finish_reason")
    message = body.get("message")
    if finish == "length":
        return Unreadable(reason=ReplyFault.TRUNCATED)
    if finish == "content_filter" or (isinstance(message, Mapping) and message.get("refusal")):
        return Unreadable(reason=ReplyFault.REFUSAL)
    if not isinstance(message, Mapping):
        return Unreadable(reason=ReplyFault.EMPTY_CONTENT)
    arguments = _tool_arguments(message)
    if isinstance(arguments, Mapping | list):
        return Readable(value=_unwrapped(arguments, list_key))
    text = arguments if isinstance(arguments, str) else _content_text(message.get("content"))
    if not text.strip():
        return Unreadable(reason=ReplyFault.EMPTY_CONTENT)
    return _parse(text[:MAX_REPLY_CHARS], list_key)


def as_index(value: Any) -> int | None:
    """A 1-based number as models write it: an int, a whole float or 1 to 4 ASCII digits; never a bool or a name."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e6:
        return int(value)
    if isinstance(value, str) and _INDEX.match(value):
        return int(value)
    return None


def _tool_arguments(message: Mapping[str, Any]) -> Any:
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls or not isinstance(calls[0], Mapping):
        return None
    function = calls[0].get("function")
    return function.get("arguments") if isinstance(function, Mapping) else None


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _parse(text: str, list_key: str) -> Readable | Unreadable:
    text = _without_thoughts(text.removeprefix("\ufeff").strip())
    duplicate = False
    for candidate in _candidates(text):
        try:
            value = _loads(candidate)
        except _DuplicateKey:
            duplicate = True
            continue
        except (ValueError, RecursionError):
            continue
        if isinstance(value, str):
            try:
                value = _loads(value)
            except _DuplicateKey:
                return Unreadable(reason=ReplyFault.DUPLICATE_KEY)
            except (ValueError, RecursionError):
                continue
        if isinstance(value, dict | list):
            return Readable(value=_unwrapped(value, list_key))
    return Unreadable(reason=ReplyFault.DUPLICATE_KEY if duplicate else ReplyFault.INVALID_JSON)


def _without_thoughts(text: str) -> str:
    leading = _THINK.match(text)
    if leading:
        return text[leading.end() :].strip()
    orphan = _ORPHAN_THINK_END.search(text)
    return text[orphan.end() :].strip() if orphan else text


def _candidates(text: str) -> Iterator[str]:
    yield text
    for fence in _FENCE.finditer(text):
        yield fence.group(1).strip()
    for opening, closing in (("{", "}"), ("[", "]")):
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            yield text[start : end + 1]


def _loads(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except _DuplicateKey:
        raise
    except ValueError:
        repaired = _without_trailing_commas(text)
        if repaired == text:
            raise
        return json.loads(repaired, object_pairs_hook=_object, parse_constant=_no_constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _DuplicateKey
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _without_trailing_commas(text: str) -> str:
    """Commas before a closing bracket removed, outside strings only."""
    kept: list[str] = []
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "}]":
            back = len(kept) - 1
            while back >= 0 and kept[back].isspace():
                back -= 1
            if back >= 0 and kept[back] == ",":
                del kept[back]
        kept.append(character)
    return "".join(kept)


def _unwrapped(value: Any, list_key: str) -> Any:
    """A bare array is the list itself; an object whose single key holds the expected object is opened once."""
    if isinstance(value, Mapping) and list_key not in value and len(value) == 1:
        inner = next(iter(value.values()))
        if isinstance(inner, Mapping) and list_key in inner:
            return inner
    return value
