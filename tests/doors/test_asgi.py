"""The site for uvicorn: what a request leaves behind."""

from __future__ import annotations

import pytest
from django.core.signals import request_finished
from django.db import connection, transaction

import config.asgi


@pytest.mark.django_db(transaction=True)
def test_no_request_leaves_a_connection() -> None:
    assert config.asgi.application
    connection.ensure_connection()
    request_finished.send(sender=None)
    assert connection.connection is None


@pytest.mark.django_db(transaction=True)
def test_but_never_one_in_a_transaction() -> None:
    with transaction.atomic():
        connection.ensure_connection()
        request_finished.send(sender=None)
        assert connection.connection is not None
