"""Answers kept in files, for demonstration and tests: `<purpose>-<n>.json` is the n-th answer for that purpose."""

from __future__ import annotations

import json
from pathlib import Path

from tikitaka.ports import ModelReply, ModelRequest
from tikitaka.text import digest


class ReplayModel:
    """Finds the answer by what is asked: the first file of the purpose whose `when` text stands in the request.

    A file is `{"when": "...", "reply": {...}}` with the reply as a server sends it. Asking twice answers twice the
    same, so that a retried job meets the same model.
    """

    name = priced_as = "replay"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def complete(self, request: ModelRequest) -> ModelReply:
        for path in sorted(self._folder.glob(f"{request.purpose}-*.json")):
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["when"] in request.user:
                model = f"recorded-{digest(json.dumps(document['reply'], sort_keys=True))[:12]}"
                usage = document["reply"].get("usage") or {}
                return ModelReply(
                    body=document["reply"],
                    provider=self.name,
                    model=model,
                    input_tokens=int(usage.get("prompt_tokens", 0)),
                    output_tokens=int(usage.get("completion_tokens", 0)),
                )
        return ModelReply(body=None, failure="http_error", provider=self.name, model="no recorded answer")
