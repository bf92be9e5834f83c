"""`Idempotency-Key`: the same request with the same key is done once, and answered the same way again.

The key is written in the first transaction that the request opens, so effect and key are there together or not at all;
nothing is held over what is slow. Refusals are not kept: they change nothing and may be tried again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import actor_of
from apps.api.models import IdempotencyKey
from apps.ledger import clock
from apps.ledger.services.recording import first_transaction
from tikitaka.errors import Invalid, WrongState

HEADER = "Idempotency-Key"
_KEPT = timedelta(hours=24)
_CHARS = 128
_WAIT_S = 5.0
_LOOK_S = 0.05
_FORGET_S = 600.0
_forgotten_at = 0.0


class KeyUsed(WrongState):
    """The key came with another request before."""

    code = "key_used"


class ReplyLost(WrongState):
    """The request was done, but its answer was lost; look at what it was about."""

    code = "reply_lost"


def once(request: Request, act: Callable[[], Response]) -> Response:
    """Answers with what `act` answers, or with what it answered the first time."""
    key = request.headers.get(HEADER)
    if key is None:
        return act()
    if not 1 <= len(key) <= _CHARS or not key.isascii() or not key.isprintable():
        raise Invalid(**{HEADER: f"must be 1 to {_CHARS} printable characters"})
    row = IdempotencyKey(
        principal=str(actor_of(request).id), key=key, request_digest=_digest(request), created_at=clock.now()
    )
    known = _known(row)
    if known is not None:
        return _again(known, row)
    try:
        with first_transaction(lambda: _write(row)):
            response = act()
    except _Taken:
        known = _known(row)
        if known is None:
            raise
        return _again(known, row)
    IdempotencyKey.objects.filter(pk=row.pk).update(reply_status=response.status_code, reply=_plain(response))
    _forget_now_and_then()
    return response


class _Taken(Exception):
    """Somebody else wrote the key between our looking and our writing."""


def _write(row: IdempotencyKey) -> None:
    try:
        row.save(force_insert=True)
    except IntegrityError as error:
        raise _Taken from error


def forget_old_keys() -> int:
    """Removes what nobody will send again; how many."""
    return IdempotencyKey.objects.filter(created_at__lt=clock.now() - _KEPT).delete()[0]


def _forget_now_and_then() -> None:
    """Whoever writes keys takes old ones away: there is nothing to run beside the door."""
    global _forgotten_at
    now = time.monotonic()
    if now - _forgotten_at > _FORGET_S:
        _forgotten_at = now
        forget_old_keys()


def _known(row: IdempotencyKey) -> IdempotencyKey | None:
    return IdempotencyKey.objects.filter(principal=row.principal, key=row.key).first()


def _again(known: IdempotencyKey, row: IdempotencyKey) -> Response:
    """The first answer. Whoever asks while the first request is being answered waits for it a little."""
    if known.request_digest != row.request_digest:
        raise KeyUsed
    until = time.monotonic() + _WAIT_S
    while known.reply_status is None:
        if time.monotonic() > until:
            raise ReplyLost
        time.sleep(_LOOK_S)
        known.refresh_from_db()
    return Response(known.reply, status=known.reply_status, headers={"Idempotent-Replayed": "true"})


def _digest(request: Request) -> str:
    body = json.dumps(request.data, sort_keys=True, cls=DjangoJSONEncoder)
    text = f"{request.method} {request.get_full_path()}\n{request.headers.get('If-Match', '')}\n{body}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(response: Response) -> Any:
    return json.loads(JSONRenderer().render(response.data))
