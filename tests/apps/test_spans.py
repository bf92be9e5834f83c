"""Spans as they are stored: cleaned, redacted, cut, replaced when they come again."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.tasks.models import Span
from apps.tasks.services.attempts import save_spans
from apps.tasks.services.claim import claim_ready
from tests.support.cast import Cast
from tests.support.plans import node
from tests.support.secrets import github_token
from tikitaka.capture.events import SpanDraft
from tikitaka.policy import DEFAULT


@pytest.fixture
def save(cast: Cast):
    from apps.conductor.story import submit

    submit(actor=cast.operator, team=cast.team, prompt="x", plan=[node(1)])
    (claimed,) = claim_ready(team=cast.team.pk, organization=cast.team.organization_id, policy=DEFAULT)

    def store(*drafts: SpanDraft, first: int = 1) -> list[Span]:
        numbered = list(enumerate(drafts, start=first))
        save_spans(attempt=claimed.attempt, fence=claimed.fence, spans=numbered, policy=DEFAULT)
        return list(Span.objects.filter(attempt=claimed.attempt).order_by("seq"))

    return store


@pytest.mark.parametrize("before", [0, 3_980, 3_999, 63_990])
def test_no_part_of_a_secret_is_left_at_a_cut(save, before: int) -> None:
    secret = github_token()
    (span,) = save(
        SpanDraft(kind="command", text="x " * (before // 2) + f"export TOKEN={secret} and so on " + "y " * 40_000)
    )
    assert secret[:12] not in span.text
    assert len(span.text) <= DEFAULT.span_text_chars


def test_structured_data_is_redacted_in_keys_and_values(save) -> None:
    secret = github_token()
    (span,) = save(SpanDraft(kind="tool_call", text="t", data={secret: [f"token {secret}", {"a": secret}], "n": 1}))
    assert secret not in str(span.data)
    assert span.data["n"] == 1


def test_a_span_that_comes_again_is_the_same_span_later(save) -> None:
    save(SpanDraft(kind="command", text="$ ls", status="started"))
    (span,) = save(SpanDraft(kind="command", text="$ ls\na", status="completed"))
    assert (span.status, span.text) == ("completed", "$ ls\na")


def test_nul_and_surrogates_are_replaced(save) -> None:
    (span,) = save(SpanDraft(kind="error", text="a\x00b\ud800c"))
    assert span.text == "a\ufffdb\ufffdc"


@pytest.mark.parametrize("watched", [False, True])
def test_a_batch_replaces_what_is_there_and_adds_the_rest(save, watched: bool) -> None:
    drafts = [SpanDraft(kind="command", text=f"$ {name}", data={"a": [1]}) for name in ("ls", "pwd")]
    at = save(*drafts)[1].at
    with CaptureQueriesContext(connection) if watched else nullcontext():
        found = save(*(replace(draft, text="$ id", status="failed") for draft in [*drafts, drafts[0]]), first=2)
    assert [(span.seq, span.text, span.status, span.data) for span in found] == [
        (1, "$ ls", "completed", {"a": [1]}),
        *((seq, "$ id", "failed", {"a": [1]}) for seq in (2, 3, 4)),
    ]
    assert found[1].at == at
