"""JSON from outside, read without trust: the wrong type is nothing, and nothing raises."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NoReturn

Item = Mapping[str, Any]
JsonFault = Literal["not_json", "too_deep", "too_long"]
LineFault = JsonFault | Literal["not_an_object"]

LINE_CHARS_MAX = 32 * 1024 * 1024
_DEPTH_MAX = 100
COUNT_MAX = 2**53


def decode_object(line: str) -> dict[str, Any] | LineFault:
    """The JSON object of one line, or what is wrong with the line. NaN and endless nesting are no JSON here."""
    value, fault = decode_json(line)
    if fault is not None:
        return fault
    return value if isinstance(value, dict) else "not_an_object"


def decode_json(line: str) -> tuple[Any, JsonFault | None]:
    """Any JSON value by the same rules; the second is what is wrong with it."""
    if len(line) > LINE_CHARS_MAX:
        return None, "too_long"
    try:
        value = json.loads(line, strict=False, parse_constant=_no_number)
    except RecursionError:
        return None, "too_deep"
    except ValueError:
        return None, "not_json"
    return (None, "too_deep") if _deeper(value, _DEPTH_MAX) else (value, None)


def text(value: Any) -> str:
    """The value when it is text, else nothing."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Item:
    """The value when it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def objects(value: Any) -> list[Item]:
    """The objects of a list; everything else is left out."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def integer(value: Any) -> int | None:
    """A whole number that any database can keep."""
    good = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= COUNT_MAX
    return value if good else None


def counts(value: Any) -> dict[str, int]:
    """The entries of an object that count something, under names that are names."""
    found = {key: integer(count) for key, count in mapping(value).items() if key.isidentifier() and key.isascii()}
    return {key: count for key, count in found.items() if count is not None and count >= 0}


def moment(value: Any) -> datetime | None:
    """A time in ISO 8601, in UTC; one without a zone is taken as UTC."""
    try:
        read = datetime.fromisoformat(text(value))
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def compact(value: Any) -> str:
    """The value as one line of JSON with sorted keys, so that the same arguments read the same."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def arguments(value: Any) -> Any:
    """Arguments of a call, which some forms write as JSON inside a string."""
    if not isinstance(value, str):
        return value
    decoded = decode_object(value)
    return decoded if isinstance(decoded, dict) else value


def pieces(content: Any) -> list[str]:
    """The texts of a message's content: one string, or a list of blocks; an image without words is named as such."""
    if isinstance(content, str):
        return [content] if content.strip() else []
    blocks = objects(content)
    found = [text(block.get("text")) for block in blocks]
    found = [piece for piece in found if piece.strip()]
    if not found and any("image" in text(block.get("type")) for block in blocks):
        return ["[image]"]
    return found


def strings(value: Any) -> Iterator[str]:
    """Every text inside a value, in order, without the names of its fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings(item)


def _deeper(value: Any, limit: int) -> bool:
    level: list[Any] = [value]
    for _ in range(limit):
        level = [child for item in level for child in _children(item)]
        if not level:
            return False
    return True


def _children(value: Any) -> list[Any]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [child for child in inside if isinstance(child, dict | list)]


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
