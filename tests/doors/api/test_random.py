"""Random requests made from the description: no fault of ours, and no answer that the description does not declare.

TIKITAKA_RANDOM_REQUESTS is how many of them there are at least; `make test-services` asks for more.
"""

from __future__ import annotations

import dataclasses
import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.cache import cache
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from apps.conductor import external
from tests.doors.conftest import Stage, set_up
from tests.support.cast import Cast
from tests.support.machines import service_token
from tikitaka.policy import DEFAULT

pytestmark = pytest.mark.django_db(transaction=True)
WANTED = int(os.environ.get("TIKITAKA_RANDOM_REQUESTS", "600"))
SHARDS = 4
# Streams: they last as long as what they tell of, and are read in tests of their own.
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
STREAMS = {"follow_task", "export_ledger"}


@pytest.fixture
def stage(committed_cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    settings.TIKITAKA_POLICY = dataclasses.replace(DEFAULT, requests_per_minute=1_000_000)
    lease = external.lease_node
    monkeypatch.setattr(external, "lease_node", lambda **asked: lease(**{**asked, "wait_s": 0}))
    cache.clear()
    yield set_up(committed_cast)
    cache.clear()


@pytest.mark.parametrize("shard", range(SHARDS))
def test_whatever_is_asked(shard: int, stage: Stage) -> None:
    schema = schemathesis.openapi.from_wsgi("/api/schema/?format=json", app=get_wsgi_application())
    token = service_token(stage.cast.owner, stage.cast.organization)
    known = {label.split(".")[1]: [str(stage.rows[label].pk), str(stage.others[label].pk)] for label in stage.rows} | {
        "node": [str(stage.rows["tasks.attempt"].node_id)]
    }
    operations = [result.ok() for result in schema.get_all_operations()]
    asked = [operation for operation in operations if operation.definition.raw["operationId"] not in STREAMS]
    counted: Counter[int] = Counter()
    for operation in asked[shard::SHARDS]:
        counted += ask(operation, WANTED * 13 // (10 * len(asked)) + 1, token, known)  # some have few cases
    assert counted.total() >= WANTED // SHARDS
    assert {status for status in counted if status >= 500} == set()
    assert counted[200] + counted[201] >= 5, f"almost nothing was understood: {counted}"


def ask(operation: Any, times: int, token: str, known: dict[str, list[str]]) -> Counter[int]:
    """Requests to one operation, `times` of them; how many were answered with which status."""
    chance = random.Random(operation.label)
    counted: Counter[int] = Counter()

    @hypothesis.settings(
        max_examples=times, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @hypothesis.given(case=operation.as_strategy())
    def one(case: Any) -> None:
        name_what_exists(case, known, chance)
        response = case.call(headers={"Authorization": f"Bearer {token}"})
        counted[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    one()
    return counted


def name_what_exists(case: Any, known: dict[str, list[str]], chance: random.Random) -> None:
    """Random ids are never there; half of the requests name something that is, half of that somebody else's."""
    for place in (case.path_parameters, case.query, case.body):
        if not isinstance(place, dict):
            continue
        for name in place:
            if name in known and chance.random() < 0.5:
                place[name] = chance.choice(known[name])
