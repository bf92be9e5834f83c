"""Pages by cursor: the place behind the last row, never a count, so that inserts move nothing."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.reading import Rows
from apps.api.shapes.base import PageQuery, Shape
from apps.ledger.rows import Condition, column
from tikitaka.errors import Invalid

M = TypeVar("M", bound=Model)
_NUMBER_MAX = 2**63 - 1  # what a column holds
_NOT_OURS = "is not one that this address gave"


def page(
    request: Request, rows: Rows, shape: type[Shape], *, by: str = "id", read: Callable[[Any], Any] = UUID
) -> Response:
    """One page of `rows` in the order of the unique field `by`, which `shape` has too."""
    asked = PageQuery.of(request)
    place, descending = column(rows.model, by), asked["order"] == "desc"
    if asked.get("cursor"):
        behind = _place(asked["cursor"], read)
        rows = rows.having(Condition(f"{place} {'<' if descending else '>'} %s", (behind,)))
    order = f"{place} DESC" if descending else place
    return Response(_cut(rows.all(shape, order=order, limit=asked["limit"] + 1).ask(), asked["limit"], by))


def _cut(found: list[dict[str, Any]], limit: int, by: str) -> dict[str, Any]:
    """One row more than was asked for says that there is a next page."""
    items = found[:limit]
    return {"items": items, "next": cursor_of(items[-1][by]) if len(found) > limit else None}


def place_of(request: Request, rows: QuerySet[M]) -> tuple[list[M], str | None]:
    """The rows of one page as models, where an answer needs more than columns, and the cursor of the next."""
    asked = PageQuery.of(request)
    limit, descending = asked["limit"], asked["order"] == "desc"
    if asked.get("cursor"):
        rows = rows.filter(**{f"pk__{'lt' if descending else 'gt'}": _place(asked["cursor"], UUID)})
    found = list(rows.order_by("-pk" if descending else "pk")[: limit + 1])
    return found[:limit], cursor_of(found[limit - 1].pk) if len(found) > limit else None


def cursor_of(value: Any) -> str:
    """The text that stands for the place behind the row of this value."""
    return base64.urlsafe_b64encode(json.dumps(str(value)).encode()).decode().rstrip("=")


def _place(cursor: str, read: Callable[[Any], Any]) -> Any:
    try:
        place = read(json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))))
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, binascii.Error) as error:
        raise Invalid(cursor=_NOT_OURS) from error
    if isinstance(place, int) and abs(place) > _NUMBER_MAX:
        raise Invalid(cursor=_NOT_OURS)
    return place
