"""The one thread that loads torch. It starts when the first text comes that no cache holds."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from apps.providers.embedding.weights import WEIGHTS_DIGEST, verify_weights, weights_folder
from tikitaka.ports import Vector

_BATCH = 32
_WAIT_S = 300


class EncoderThread:
    """Encodes batches one after the other; callers wait for theirs, and hold no transaction meanwhile."""

    digest = WEIGHTS_DIGEST

    def __init__(self) -> None:
        self._folder = weights_folder()
        self._queue: queue.SimpleQueue[tuple[list[str], Future[list[Vector]]]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._model: Any = None

    def load(self) -> None:
        """Loads the model now, in the calling thread: a worker does so once, and its children share the memory."""
        if self._model is None:
            self._model = self._load()

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Unit vectors of 384 places; a text is read up to 256 word pieces."""
        if not texts:
            return []
        future: Future[list[Vector]] = Future()
        self._queue.put((list(texts), future))
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="encoder", daemon=True)
                self._thread.start()
        return future.result(timeout=_WAIT_S)

    def _work(self) -> None:
        while True:
            texts, future = self._queue.get()
            try:
                self.load()
                future.set_result(_encode(self._model, texts))
            except Exception as error:  # noqa: BLE001 whoever waits must be told
                future.set_exception(error)

    def _load(self) -> Any:
        verify_weights(self._folder)
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        return SentenceTransformer(str(self._folder), device="cpu")


def _encode(model: Any, texts: list[str]) -> list[Vector]:
    vectors = model.encode(texts, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False)
    return [tuple(float(value) for value in vector) for vector in vectors]
