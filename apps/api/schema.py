"""The description of the door: our authentication, and every refusal of every operation."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from rest_framework import serializers

from apps.api.shapes.base import Shape

_ALWAYS = {
    400: ("A value is wrong; `fields` names it.", "invalid"),
    401: ("No token, or one that is not valid.", "not_authenticated"),
    403: ("You may see this, but not do that to it; the refusal is an entry of the ledger.", "forbidden"),
    404: ("No such object, or none that you may see.", "not_found"),
    406: ("Answers are JSON.", "not_acceptable"),
    429: ("Too many requests in this minute.", "too_many_requests"),
    503: ("The database, or what counts requests, does not answer; nothing was done.", "database_away"),
}
_WRITING = {
    409: ("The thing is not in a state that allows this, or the key came with another request.", "wrong_state"),
    413: ("The body is too large.", "too_large"),
    415: ("Bodies are JSON.", "unsupported_media_type"),
}


class Refusal(Shape):
    """Why a request was refused."""

    code = serializers.CharField(help_text="stable; what a program looks at")
    detail = serializers.CharField(help_text="for people")
    fields = serializers.DictField(child=serializers.CharField(), help_text="what is wrong, by the field's name")
    facts = serializers.DictField(required=False, help_text="what else is to be known, such as the present version")


class DoorSchema(AutoSchema):
    """An operation is named after its address, grouped by its first word, and declares all that can come back."""

    def get_tags(self) -> list[str]:
        return [self.path.removeprefix("/api/v1/").split("/")[0]]

    def get_operation_id(self) -> str:
        return str(getattr(self.view, "names", {}).get(self.method, super().get_operation_id()))

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        refusals = _ALWAYS | ({} if self.method == "GET" else _WRITING)
        for status, (meaning, code) in refusals.items():
            example = OpenApiExample(code, value={"code": code, "detail": meaning, "fields": {}})
            shape = OpenApiResponse(Refusal, description=meaning, examples=[example])
            bodies.setdefault(str(status), self._get_response_for_code(shape, str(status), direction=direction))
        return bodies


class BearerScheme(OpenApiAuthenticationExtension):
    target_class = "apps.api.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:  # noqa: ARG002 the library's hook
        return {"type": "http", "scheme": "bearer", "description": "A token of a machine: `tk_…`."}


class PersonScheme(OpenApiAuthenticationExtension):
    target_class = "apps.api.authentication.PersonAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:  # noqa: ARG002 the library's hook
        return {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": "A person at the console."}


def refuse_unknown_fields(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Bodies that come in are strict, see shapes.base.Strict; the description says so."""
    for name, schema in result.get("components", {}).get("schemas", {}).items():
        if name.endswith("Request") and schema.get("type") == "object" and "properties" in schema:
            schema["additionalProperties"] = False
    return result
