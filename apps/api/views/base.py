"""What all addresses share."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, TypeVar
from uuid import UUID

from django.db.models import Model
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.api.authentication import actor_of
from apps.api.idempotency import HEADER
from apps.api.paging import page
from apps.api.parsing import BODY_BYTES
from apps.api.reach import VIEW, reach, refuse, rows_of
from apps.api.reading import Rows
from apps.api.shapes.base import PageQuery, Query, Shape, require_known
from tikitaka.authz import Permission, Principal

M = TypeVar("M", bound=Model)
KEY = OpenApiParameter(
    HEADER, str, OpenApiParameter.HEADER, description="The same request with the same key is done once (24 hours)."
)


class StreamRenderer(BaseRenderer):
    """So that an `Accept` of the stream's own type is understood; the stream itself passes by any renderer."""

    charset = None

    def render(self, data: object, *_: object) -> bytes:
        """Only refusals come this way; they are JSON whatever was accepted."""
        return JSONRenderer().render(data)


class Door(APIView):
    """One address. `names` are the operation ids by method, which clients are generated from."""

    body_bytes = BODY_BYTES
    names: ClassVar[dict[str, str]] = {}

    @property
    def actor(self) -> Principal:
        """Who asks."""
        return actor_of(self.request)

    def rows(self, model: type[Model], *, sees: Permission = VIEW, path: str = "team") -> Rows:
        """The rows that the caller may see."""
        return rows_of(self.actor, model, sees=sees, path=path)

    def reach(self, model: type[M], identity: UUID, permission: Permission = VIEW, **how: Any) -> M:
        """The row on which the caller holds `permission`; see apps.api.reach."""
        return reach(self.actor, model, identity, permission, **how)

    def found(
        self, model: type[Model], identity: UUID, shape: type[Shape], *, sees: Permission = VIEW, path: str = "team"
    ) -> dict[str, Any]:
        """The row in its shape, if the caller sees it; else it is refused like what does not exist."""
        found = self.rows(model, sees=sees, path=path).where(id=identity).one(shape)
        if found is None:
            self.miss(model, identity, sees=sees)
        return found

    def miss(self, model: type[Model], identity: UUID, *, sees: Permission = VIEW) -> NoReturn:
        """Refuses a row that was not found among those which the caller sees."""
        refuse(self.actor, model, identity, sees)

    def page(self, rows: Rows, shape: type[Shape], *queries: type[Query], **how: Any) -> Response:
        """One page; parameters that neither paging nor `queries` know are refused."""
        require_known(self.request, PageQuery, *queries)
        return page(self.request, rows, shape, **how)

    def shown(self, model: type[Model], identity: UUID, shape: type[Shape]) -> dict[str, Any]:
        """A row that is known to exist, in its shape."""
        found = Rows(model).where(id=identity).one(shape)
        assert found is not None
        return found


def page_of(shape: type[Shape]) -> Any:
    """The shape of a page, for the description."""
    return inline_serializer(
        f"{shape.__name__.removesuffix('Shape')}Page",
        {
            "items": shape(many=True),
            "next": serializers.CharField(allow_null=True, help_text="`cursor` of the next page"),
        },
    )
