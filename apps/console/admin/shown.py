"""Columns and fields as a person may look at them: everything hidden is drawn, nobody else's rows are offered."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from tikitaka.safety import show_hidden


class Shown:
    """A column or read-only field of text: what an agent or a person wrote, with hidden characters made visible."""

    def __init__(
        self, field: models.Field[Any, Any], *, whole: bool, instead_of: Callable[[str, models.Model], str]
    ) -> None:
        self._field = field
        self._whole = whole
        self._instead_of = instead_of
        self.__name__ = field.name
        self.short_description = str(field.verbose_name)
        self.admin_order_field = field.name

    def __str__(self) -> str:
        return self._field.name

    def __call__(self, row: models.Model) -> str | SafeString:
        value = getattr(row, self._field.name)
        if value is None or value == "":
            return self._instead_of(self._field.name, row)
        if isinstance(value, models.Model):
            return _linked(value) if self._whole else show_hidden(str(value))
        if isinstance(self._field, models.JSONField):
            return _block(json.dumps(value, ensure_ascii=False, indent=2))
        if isinstance(self._field, models.TextField) and self._whole:
            return _block(str(value))
        return show_hidden(str(value))


class Titled:
    """A row whose name stands in a title or a breadcrumb."""

    def __init__(self, row: models.Model) -> None:
        self._row = row

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)

    def __str__(self) -> str:
        return show_hidden(str(self._row))


class VisibleRowsFilter(admin.RelatedFieldListFilter):
    """Offers the rows that the person may see; Django's own filter would name the teams of every tenant."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[Any]:
        related = model_admin.admin_site._registry[field.remote_field.model]  # noqa: SLF001 no public way
        return [(row.pk, show_hidden(str(row))) for row in related.get_queryset(request)]


def is_text(field: models.Field[Any, Any]) -> bool:
    """True where the value may hold words of an agent or a person."""
    return isinstance(field, (models.CharField, models.TextField, models.JSONField, models.ForeignKey))


def _block(text: str) -> SafeString:
    return format_html('<pre class="console-text">{}</pre>', show_hidden(text))


def _linked(row: models.Model) -> str | SafeString:
    meta = row._meta  # noqa: SLF001 Django's documented name
    text = show_hidden(str(row))
    try:
        page = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk])
    except NoReverseMatch:
        return text
    return format_html('<a href="{}" class="text-link">{}</a>', page, text)
