"""Audience words: `only X may know` denies the others, `do not tell Y` denies Y, ordinary rules nobody."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.routing.eligibility import audience_exclusions
from tikitaka.routing.profiles import AgentProfile

TEAM = tuple(
    AgentProfile(key=key, name=name, description="", instructions="")
    for key, name in (
        ("s", "Security Agent"),
        ("b", "Backend Agent"),
        ("f", "Frontend Agent"),
        ("d", "Docs Agent"),
    )
)


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("Only the security agent may know this.", "bfd"),
        ("Known to security and backend staff only.", "fd"),
        ("Confidential to security.", "bfd"),
        ("The incident stays within the security team.", "bfd"),
        ("For backend only.", "sfd"),
        ("Share it only with security and backend.", "fd"),
        ("No details outside security.", "bfd"),
        ("Nobody but backend should hear of it.", "sfd"),
        ("The code name is in batch 12; only the backend sees it.", "sfd"),
        ("Nur für Security.", "bfd"),
        ("Nur Backend darf das wissen.", "sfd"),
        ("Solo para backend.", "sfd"),
        ("Réservé au backend.", "sfd"),
        ("Do not tell the frontend or docs about the breach in backend.", "fd"),
        ("Don't share the figures with docs.", "d"),
        ("This is not for docs.", "d"),
        ("Keep this from the frontend agent until Friday.", "f"),
        ("Hide this from docs and frontend.", "fd"),
        ("This must not reach frontend.", "f"),
        ("Frontend must not know the date.", "f"),
        ("The frontend agent should never be told about this.", "f"),
        ("Share with everyone except docs.", "d"),
        ("Der Frontend Agent darf davon nichts wissen.", "f"),
    ],
)
def test_it_denies_whom_the_words_deny(text, denied):
    found = audience_exclusions(text, TEAM)

    assert set(found.excluded) == set(denied)
    assert found.has_audience_words
    assert all(text[span.start : span.end] == span.text for span in found.excluded.values())


@pytest.mark.parametrize(
    "text",
    [
        "The frontend only needs the public API contract. Do not expose backend env values.",
        "only the public contract",
        "The frontend must not read environment values.",
        "Only the backend may read environment values.",
        "Only call the API from backend.",
        "The docs are only for public endpoints.",
        "Backend must not get slower than 200 ms.",
        "Never log tokens in the backend.",
    ],
)
def test_an_ordinary_rule_is_no_audience(text):
    found = audience_exclusions(text, TEAM)

    assert not found.excluded
    assert not found.has_audience_words


@pytest.mark.parametrize("text", ["Do not tell anyone.", "Keep it quiet.", "Results go only to the physician."])
def test_words_that_name_no_agent_are_pointed_out_and_deny_nobody(text):
    found = audience_exclusions(text, TEAM)

    assert found.has_audience_words
    assert not found.excluded


@pytest.mark.parametrize("piece", [" ", "\n ", ". ", "a ", "only the ", "never share a a a ", "keep a b "])
def test_hostile_repetition_is_read_quickly(piece):
    started = time.perf_counter()

    audience_exclusions(piece * (4_000 // len(piece)), TEAM)

    assert time.perf_counter() - started < 2


def test_runs_of_blanks_change_nothing_and_the_span_keeps_them():
    text = "Do  not\t tell   the\tfrontend."
    found = audience_exclusions(text, TEAM)

    assert set(found.excluded) == {"f"}
    assert found.excluded["f"].text == text[:-1]


def test_two_words_of_one_name_narrow_each_other():
    team = [
        AgentProfile(key="sec", name="Security Engineer", description="", instructions=""),
        AgentProfile(key="data", name="Data Engineer", description="", instructions=""),
    ]

    assert set(audience_exclusions("Only the security engineer may know.", team).excluded) == {"data"}
    assert set(audience_exclusions("Do not tell the engineers.", team).excluded) == {"sec", "data"}


def test_who_is_denied_stays_denied_though_also_allowed():
    found = audience_exclusions("Only security and docs may know this. Do not tell docs.", TEAM)

    assert set(found.excluded) == {"b", "f", "d"}


@given(st.text(max_size=300))
def test_any_text_is_read_and_spans_stand_in_it(text):
    found = audience_exclusions(text, TEAM)

    assert set(found.excluded) <= {agent.key for agent in TEAM}
    assert all(text[span.start : span.end] == span.text for span in found.excluded.values())
    assert found.has_audience_words or not found.excluded


WORDS = "only the backend docs may know not tell for and this it . , from keep to"


@given(st.lists(st.sampled_from(WORDS.split())))
def test_adding_a_stranger_to_the_team_frees_nobody(words):
    stranger = AgentProfile(key="x", name="Zoologist", description="", instructions="")
    text = " ".join(words)

    assert set(audience_exclusions(text, TEAM).excluded) <= set(audience_exclusions(text, [*TEAM, stranger]).excluded)
