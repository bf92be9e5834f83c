"""Any endpoint that speaks the OpenAI chat-completion protocol."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from typing import Any

import structlog

from tikitaka.ports import ModelReply, ModelRequest

log = structlog.get_logger(__name__)


class OpenAiModel:
    """Asks with a JSON schema; a server that refuses response_format with 400 is asked once more without it.

    The whole call has one deadline: a thread that hangs is left behind and reported as a timeout at once.
    """

    name = "openai"

    def __init__(self, *, url: str, name: str, key: str) -> None:
        self._url = url
        self._model = self.priced_as = name
        self._key = key

    def complete(self, request: ModelRequest) -> ModelReply:
        box: dict[str, ModelReply] = {}
        ask = partial(self._answer, request, box)
        thread = threading.Thread(target=ask, daemon=True, name="model-call")
        thread.start()
        thread.join(request.timeout_s)
        return box.get("reply") or ModelReply(body=None, failure="timeout", provider=self.name, model=self._model)

    def _answer(self, request: ModelRequest, box: dict[str, ModelReply]) -> None:
        """Whatever breaks in the thread is a failure with a name, not silence that would pass for a timeout."""
        try:
            box["reply"] = self._ask(request)
        except Exception:
            log.exception("a model call broke", purpose=request.purpose)
            box["reply"] = ModelReply(body=None, failure="http_error", provider=self.name, model=self._model)

    def _ask(self, request: ModelRequest) -> ModelReply:
        import openai

        client = openai.OpenAI(
            base_url=self._url, api_key=self._key or "none", timeout=request.timeout_s, max_retries=0
        )
        try:
            try:
                return self._reply(self._create(client, request, with_schema=True))
            except openai.BadRequestError as error:
                if "response_format" not in str(error):
                    raise
                return self._reply(self._create(client, request, with_schema=False))
        except openai.APITimeoutError:
            return ModelReply(body=None, failure="timeout", provider=self.name, model=self._model)
        except openai.APIStatusError as error:
            body = {"status": error.status_code, "message": None}
            return ModelReply(body=body, failure="http_error", provider=self.name, model=self._model)
        except (openai.OpenAIError, ValueError):
            return ModelReply(body=None, failure="http_error", provider=self.name, model=self._model)
        finally:
            client.close()

    def _create(self, client: Any, request: ModelRequest, *, with_schema: bool) -> Any:
        extra: dict[str, Any] = {}
        if with_schema:
            schema = {"name": request.purpose, "schema": _plain(request.schema), "strict": True}
            extra["response_format"] = {"type": "json_schema", "json_schema": schema}
        return client.chat.completions.create(
            model=self._model,
            messages=[{"role": "system", "content": request.system}, {"role": "user", "content": request.user}],
            temperature=0,
            **extra,
        )

    def _reply(self, completion: Any) -> ModelReply:
        document = completion.model_dump()
        choice = (document.get("choices") or [{}])[0]
        usage = document.get("usage") or {}
        body = {"status": 200, "finish_reason": choice.get("finish_reason"), "message": choice.get("message")}
        return ModelReply(
            body=body,
            provider=self.name,
            model=self._model,
            input_tokens=int(usage.get("prompt_tokens") or 0),
            output_tokens=int(usage.get("completion_tokens") or 0),
        )


def _plain(value: Any) -> Any:
    """A schema as JSON takes it: read-only mappings become dicts, at every depth."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
