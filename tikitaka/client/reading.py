"""From JSON to records. Fields that a record does not have are ignored: a newer server does not break this client."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

from tikitaka.client.calls import Reply
from tikitaka.client.errors import Unreadable
from tikitaka.client.secret import Secret

T = TypeVar("T")
_MADE: Mapping[Any, Callable[[str], Any]] = {UUID: UUID, datetime: datetime.fromisoformat, Secret: Secret}
_PLAIN = (str, int, bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some rows, and the cursor of the page behind them; None at the end."""

    items: tuple[T, ...]
    next: str | None


def one(record: type[T]) -> Callable[[Reply], T]:
    """Reads an answer that is one record."""
    return lambda reply: _read(record, document(reply))


def maybe(record: type[T]) -> Callable[[Reply], T | None]:
    """The same where nothing may have come, which is status 204."""
    return lambda reply: None if reply.status == 204 else _read(record, document(reply))


def page(record: type[T]) -> Callable[[Reply], Page[T]]:
    """Reads one page of records."""

    def read(reply: Reply) -> Page[T]:
        body = document(reply)
        if not isinstance(body, dict) or not isinstance(body.get("items"), list):
            raise Unreadable("a page without items")
        return Page(items=tuple(_read(record, item) for item in body["items"]), next=body.get("next"))

    return read


def lines(reply: Reply) -> tuple[str, ...]:
    """Reads lines of JSON as they are."""
    return tuple(line for line in reply.content.decode().split("\n") if line)


def document(reply: Reply) -> Any:
    """The JSON of an answer. A text that is none is not repeated: nobody knows what is in it."""
    try:
        return json.loads(reply.content)
    except ValueError:
        raise Unreadable(f"the answer with status {reply.status} is not JSON") from None


def _read(record: type[T], value: Any) -> T:
    if not isinstance(value, dict):
        raise Unreadable(f"{record.__name__}: not an object")
    found = {}
    for name, kind in _kinds(record).items():
        try:
            found[name] = _value(kind, value[name])
        except KeyError:
            raise Unreadable(f"{record.__name__} without {name}") from None
        except (TypeError, ValueError):
            raise Unreadable(f"{record.__name__}.{name} has an unknown form") from None
    return record(**found)


def _read_kinds(record: Any) -> dict[str, Any]:
    hints = get_type_hints(record)
    return {field.name: hints[field.name] for field in fields(record)}


_kinds: Callable[[Any], dict[str, Any]] = cache(_read_kinds)


def _value(kind: Any, value: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        (kind,) = (part for part in inner if part is not NoneType)
        return None if value is None else _value(kind, value)
    if origin is tuple:
        return tuple(_value(inner[0], item) for item in _of(list, value))
    if is_dataclass(kind) and kind is not Secret:
        return _read(kind, value)  # type: ignore[arg-type]
    if kind in _MADE:
        return _MADE[kind](_of(str, value))
    if kind in _PLAIN:
        return _of(kind, value)
    return _of(dict, value) if origin is Mapping else value


def _of(kind: type[T], value: Any) -> T:
    """A value of exactly this kind: true is no number."""
    if type(value) is not kind:
        raise TypeError
    return value
