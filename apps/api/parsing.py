"""Bodies: JSON of a bounded size and depth, read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from apps.api.errors import TooLarge

BODY_BYTES = 1024 * 1024
LARGE_BODY_BYTES = 8 * 1024 * 1024


class BoundedJSONParser(BaseParser):
    """Refuses what is larger than the address takes, not JSON, too deep, or holds a number that no number is."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,  # noqa: ARG002 the framework's parameters
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return json.loads(bounded(stream, parser_context).decode(), parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise ParseError("the body is not JSON that can be read") from error


def bounded(stream: Any, parser_context: Mapping[str, Any] | None) -> bytes:
    """The body, or TooLarge when it is larger than the address takes."""
    limit: int = getattr((parser_context or {}).get("view"), "body_bytes", BODY_BYTES)
    raw: bytes = stream.read(limit + 1)
    if len(raw) > limit:
        raise TooLarge(f"the body is larger than {limit} bytes")
    return raw


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)
