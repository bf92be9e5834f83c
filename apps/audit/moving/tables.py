"""What is moved: every table of the product and of the libraries it uses, parents before children."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models import Q

# People log in again: a session is worth nothing to anybody else, and its key is no number to continue from.
LEFT_OUT = frozenset({"sessions.Session"})
# An entry may only follow the one before it, so these rows go in the order of their log; all others by primary key.
_ORDERS = {"ledger.Entry": ("log_id", "seq")}
_CHUNK = 2_000

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table, its columns, and the columns that give every row its place in the order of copying."""

    model: type[models.Model]
    fields: tuple[models.Field[Any, Any], ...]
    order: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.model._meta.db_table

    @property
    def refers_to_itself(self) -> bool:
        return any(field.related_model is self.model for field in self.fields)

    def objects(self, alias: str) -> models.QuerySet[Any]:
        """All rows of a database in the order of copying."""
        return self.model._base_manager.using(alias).order_by(*self.order)

    def rows(self, alias: str, *, after: Row | None = None) -> Iterator[Row]:
        """The rows of a database in order, streamed, as values of Python; with `after` only those behind it."""
        found = self.objects(alias)
        if after is not None:
            found = found.filter(_behind(self.order, after))
        return found.values_list(*(field.attname for field in self.fields)).iterator(_CHUNK)

    def keys(self, alias: str) -> Iterator[Row]:
        """The places of all rows, in order."""
        return self.objects(alias).values_list(*self.order).iterator(_CHUNK)

    def last_key(self, alias: str) -> Row | None:
        """The place of the last row; None when there is none."""
        return self.objects(alias).reverse().values_list(*self.order).first()

    def count(self, alias: str) -> int:
        return self.objects(alias).count()

    def key_of(self, row: Row) -> Row:
        """The place of a row that rows() gave."""
        names = [field.attname for field in self.fields]
        return tuple(row[names.index(name)] for name in self.order)


def _behind(order: tuple[str, ...], key: Row) -> Q:
    """Rows whose place comes after `key`, column by column."""
    condition = Q()
    for at, name in enumerate(order):
        same = dict(zip(order[:at], key[:at], strict=True))
        condition |= Q(**same, **{f"{name}__gt": key[at]})
    return condition


def tables() -> list[Table]:
    """All tables to move; those that a table refers to come before it. Raises CycleError when two need each other."""
    moved = [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy and model._meta.label not in LEFT_OUT
    ]
    parents = {model: [other for other in _referred(model) if other is not model] for model in moved}
    return [_table(model) for model in TopologicalSorter(parents).static_order()]


def _table(model: type[models.Model]) -> Table:
    key = model._meta.pk.attname
    return Table(
        model=model,
        fields=tuple(model._meta.local_concrete_fields),
        order=_ORDERS.get(model._meta.label, (key,)),
    )


def _referred(model: type[models.Model]) -> list[type[models.Model]]:
    related = [field.related_model for field in model._meta.local_concrete_fields]
    return [other for other in related if isinstance(other, type)]
