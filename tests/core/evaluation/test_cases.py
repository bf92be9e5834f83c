"""Case files: read with labels or without, refused with the line."""

import json

import pytest

from tikitaka.errors import Invalid
from tikitaka.evaluation.cases import extraction_cases, routing_cases, segment_cases

TEAM = {
    "kind": "team",
    "team": "t",
    "agents": [{"key": "a", "name": "A", "description": "d", "instructions": "i"}],
}
NOTE = {
    "kind": "note",
    "id": "t-1",
    "team": "t",
    "content": "c",
    "description": "e",
    "recipients": ["a"],
    "must_not": [],
}


def lines(*rows):
    return [json.dumps(row) for row in rows]


def test_teams_and_notes_are_read_whatever_their_order():
    found = routing_cases(lines(NOTE, TEAM))

    assert found.teams["t"][0].name == "A"
    assert found.notes[0].recipients == {"a"}
    assert found.notes[0].text.description == "e"


def test_without_labels_every_label_is_empty():
    bare = {"id": "t-1", "team": "t", "content": "c"}

    assert routing_cases(lines(TEAM, bare)).notes[0].recipients == frozenset()
    assert segment_cases(lines({"id": "s", "prompts": ["a"]})).sequences[0].shifts == frozenset()
    transcript = {"id": "x", "messages": [{"speaker": "A", "text": "b"}]}
    assert extraction_cases(lines(transcript)).transcripts[0].durable == frozenset()


def test_shifts_and_durable_are_positions_from_zero():
    transcript = {
        "id": "x",
        "messages": [{"speaker": "A", "text": "b", "durable": flag} for flag in (False, True)],
    }

    assert segment_cases(lines({"id": "s", "prompts": ["a", "b"], "shifts": [1]})).sequences[0].shifts == {1}
    assert extraction_cases(lines(transcript)).transcripts[0].durable == {1}


@pytest.mark.parametrize("read", [routing_cases, segment_cases, extraction_cases])
@pytest.mark.parametrize("broken", ["{", "[]", "{}", '{"id": "x"}', "7"])
def test_a_broken_line_is_named(read, broken):
    with pytest.raises(Invalid, match="line 3"):
        read(["", " \n", broken])


def test_a_note_of_an_unknown_team_is_named():
    with pytest.raises(Invalid, match="t-1"):
        routing_cases(lines(NOTE))


def test_the_digest_is_of_the_lines_that_count():
    one, two = lines({"id": "s", "prompts": ["a"]}, {"id": "s", "prompts": ["b"]})

    assert segment_cases([one, "", two]).digest == segment_cases([one + "\n", two]).digest
    assert segment_cases([one]).digest != segment_cases([two]).digest
