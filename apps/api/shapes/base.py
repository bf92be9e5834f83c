"""The two kinds of shapes: strict ones for what comes in, plain ones for what goes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from tikitaka.errors import Invalid

PAGE_MAX = 200


class Shape(serializers.Serializer):
    """The fields of an answer. A field's `source` names the column; rows are read without building models."""


class Strict(serializers.Serializer):
    """What comes in. A field that nobody knows is refused: it is a misspelling, or a wish that would be ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = {str(name): ["is not a known field"] for name in data if name not in self.fields}
            if unknown:
                raise serializers.ValidationError(unknown)
        return super().to_internal_value(data)

    @classmethod
    def read(cls, request: Request) -> dict[str, Any]:
        """The validated body."""
        return dict(_shape(cls).run_validation(request.data if request.data is not None else {}))


_shapes: dict[type[Strict], Strict] = {}


def _shape(kind: type[Strict]) -> Strict:
    """One of each kind is enough: it keeps nothing of what it validates, and making one copies every field."""
    found = _shapes.get(kind)
    return found if found is not None else _shapes.setdefault(kind, kind())


class Query(Strict):
    """What comes in behind the question mark."""

    @classmethod
    def of(cls, request: Request) -> dict[str, Any]:
        """The validated parameters. Those of other parts of the same address are not looked at."""
        shape = _shape(cls)
        mine = {name: value for name, value in request.query_params.items() if name in shape.fields}
        return dict(shape.run_validation(mine))


class PageQuery(Query):
    """Which part of a list."""

    cursor = serializers.CharField(required=False, max_length=200, help_text="`next` of the page before")
    limit = serializers.IntegerField(default=50, min_value=1, max_value=PAGE_MAX, help_text="rows of a page")
    order = serializers.ChoiceField(
        choices=["asc", "desc"], default="asc", help_text="oldest first, or the newest; keep it from page to page"
    )


def require_known(request: Request, *queries: type[Query]) -> None:
    """Refuses parameters that none of `queries` knows."""
    unknown = {
        name: "is not a known parameter"
        for name in request.query_params
        if not any(name in _shape(query).fields for query in queries)
    }
    if unknown:
        raise Invalid(**unknown)


class Nothing(Strict):
    """A body without fields."""


class AnyJSON(serializers.JSONField):
    """JSON of any form within bounds: text that can be stored, not deeper than a person could read."""

    _DEPTH = 32

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not _storable(value, self._DEPTH):
            raise serializers.ValidationError("holds text that cannot be stored, or is nested too deep")
        return value


def _storable(value: Any, depth: int) -> bool:
    if depth < 0:
        return False
    if isinstance(value, str):
        return "\x00" not in value and not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, Mapping):
        return all(_storable(name, depth) and _storable(inner, depth - 1) for name, inner in value.items())
    if isinstance(value, list):
        return all(_storable(inner, depth - 1) for inner in value)
    return True
