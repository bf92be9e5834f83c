"""No model."""

from __future__ import annotations

from tikitaka.ports import ModelReply, ModelRequest


class OffModel:
    """Answers nothing; planning falls back and extraction picks sentences."""

    name = priced_as = "off"

    def complete(self, request: ModelRequest) -> ModelReply:  # noqa: ARG002 the protocol's parameter
        return ModelReply(body=None, failure="off", provider="off")
