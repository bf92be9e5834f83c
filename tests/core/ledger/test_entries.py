"""The entry format: golden vector, second opinion on canonical form, and a chain in which no byte can change."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.ledger.canonical import NotCanonical, canonical_bytes, canonical_header
from tikitaka.ledger.chain import Broken, StoredEntry, Verified, verify
from tikitaka.ledger.entries import (
    GENESIS_PREV,
    Actor,
    Draft,
    Head,
    clock_stepped,
    commitment,
    leaf_of,
    place,
    timestamp,
)
from tikitaka.ledger.events import KNOWN_TYPES

ORIGIN = "tikitaka.example/org/0190f0d2-0000-7000-8000-000000000001/1"
WORDS = "Frontend needs only the public API contract."
LEAVES = [
    "2094863bb46b9497afc48e032d3e123114e6889406a4379637f1768872794704",
    "2e3af4d2171149841544ef167b517a984bf747c2305fb212e408609f5d87ef2d",
    "bed99abc495437ab5e990474cdef918b53e2f9841ce70234b633b511c20f402a",
]


def at(minute: int) -> datetime:
    return datetime(2026, 1, 5, 9, minute, tzinfo=UTC)


def golden() -> list[tuple[Draft, datetime]]:
    return [
        (
            Draft(
                id=UUID("0190f0d2-aaaa-7000-8000-000000000000"),
                type="ledger.log.opened",
                occurred_at=at(14),
                actor=Actor(kind="system", id="tikitaka"),
                subject={"kind": "organization", "id": "0190f0d2-0000-7000-8000-000000000001"},
                facts={"incarnation": 1},
            ),
            at(14),
        ),
        (
            Draft(
                id=UUID("0190f0d2-bbbb-7000-8000-000000000000"),
                type="memory.recipient.withheld",
                occurred_at=at(40),
                actor=Actor(kind="policy", id="recognition"),
                subject={"kind": "note", "id": "n-1"},
                context={"team": "t-1"},
                facts={
                    "reason": "below_threshold",
                    "recipient": "agent-frontend",
                    "score_bp": 4120,
                    "threshold_bp": 7200,
                },
            ),
            at(40),
        ),
        (
            Draft(
                id=UUID("0190f0d2-cccc-7000-8000-000000000000"),
                type="review.decision.recorded",
                occurred_at=at(41),
                actor=Actor(
                    kind="user",
                    id="u-1",
                    auth={"assurance": 2, "methods": ["password", "webauthn"], "reauth_age_s": 42},
                ),
                subject={"kind": "note", "id": "n-1"},
                context={"review_item": "r-1", "team": "t-1"},
                facts={"reasons": ["severe"], "verdict": "approved"},
                commitments={"words": commitment("words", bytes(range(32)), WORDS)},
            ),
            at(41),
        ),
    ]


def chain_of(drafts) -> list[StoredEntry]:
    head = Head(origin=ORIGIN, size=0, tip=GENESIS_PREV, last_at=None)
    stored = []
    for draft, now in drafts:
        entry, head = place(draft, head, now=now)
        stored.append(StoredEntry(header=entry.header, leaf=entry.leaf, copies={"seq": entry.seq}))
    return stored


def check(entries: list[StoredEntry], size: int | None = 3, tip: str | None = LEAVES[-1]) -> Verified | Broken:
    return verify(entries, origin=ORIGIN, known_types=KNOWN_TYPES, size=size, tip=tip)


class TestGoldenVector:
    def test_leaves(self) -> None:
        assert [entry.leaf for entry in chain_of(golden())] == LEAVES

    def test_first_header_byte_for_byte(self) -> None:
        assert chain_of(golden())[0].header.decode() == (
            '{"actor":{"id":"tikitaka","kind":"system"},"context":{},"facts":{"incarnation":1},'
            '"id":"0190f0d2-aaaa-7000-8000-000000000000","occurred_at":"2026-01-05T09:14:00.000000Z",'
            f'"origin":"{ORIGIN}","prev":"{"0" * 64}","recorded_at":"2026-01-05T09:14:00.000000Z","sealed":{{}},'
            '"seq":0,"subject":{"id":"0190f0d2-0000-7000-8000-000000000001","kind":"organization"},'
            '"type":"ledger.log.opened","v":1}'
        )

    def test_sealed_words(self) -> None:
        wanted = "d8e1c51a4803f4ae64c95a785529bcd85c53992353d1742692798d074067dcff"
        assert commitment("words", bytes(range(32)), WORDS) == wanted

    def test_the_chain_verifies(self) -> None:
        assert check(chain_of(golden())) == Verified(size=3, tip=LEAVES[-1])


class TestCanonicalForm:
    values = st.recursive(
        st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(alphabet='aé漢🎉\n"\\', max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True), inner, max_size=3)
        ),
    )

    @given(values)
    def test_agrees_with_another_implementation(self, value) -> None:
        assert canonical_bytes(value) == rfc8785.dumps(value)

    @pytest.mark.parametrize(
        "value",
        [1.5, None, {"Key": 1}, {"a": None}, 2**53, "e\u0301", {"a": float("nan")}, "\ud800", {1: 2}],
        ids=["float", "null", "upper case key", "null inside", "large", "not NFC", "nan", "surrogate", "number key"],
    )
    def test_what_could_differ_is_refused(self, value) -> None:
        with pytest.raises(NotCanonical):
            canonical_bytes(value)

    def test_a_header_is_at_most_16_kib(self) -> None:
        with pytest.raises(NotCanonical):
            canonical_header({"a": "x" * 16_400})

    @given(
        st.dictionaries(st.sampled_from(["kind", "id"]), st.text(alphabet='aé"\\', max_size=4), min_size=2),
        st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True), values, max_size=3),
        st.none() | st.uuids(),
        st.none() | st.just({"assurance": 2}),
    )
    def test_a_placed_header_is_in_the_general_form(self, subject, facts, supersedes, auth) -> None:
        actor = Actor(kind="user", id=subject["id"], auth=auth)
        draft = replace(golden()[1][0], subject=subject, facts=facts, supersedes=supersedes, actor=actor)
        entry, _ = place(draft, Head(origin=ORIGIN, size=7, tip=LEAVES[0], last_at=at(1)), now=at(2))
        assert entry.header == canonical_header(json.loads(entry.header)) == rfc8785.dumps(json.loads(entry.header))

    def test_a_fault_is_named_by_its_place_in_the_header(self) -> None:
        draft = replace(golden()[1][0], facts={"score": {"bp": 0.5}})
        with pytest.raises(NotCanonical, match=r"header\.facts\.score\.bp is a float"):
            place(draft, Head(origin=ORIGIN, size=0, tip=GENESIS_PREV, last_at=None), now=at(2))


class TestTampering:
    def test_an_entry_that_does_not_say_when_is_broken(self) -> None:
        entries = chain_of(golden())
        header = entries[0].header.replace(b"recorded_at", b"recorded_bt")
        entries[0] = StoredEntry(header=header, leaf=leaf_of(header), copies=entries[0].copies)
        broken = check(entries)
        assert isinstance(broken, Broken)
        assert (broken.seq, broken.rule) == (0, "unreadable")

    @given(st.data())
    def test_one_changed_byte_anywhere_breaks_verification(self, data) -> None:
        entries = chain_of(golden())
        place_ = data.draw(st.integers(0, 2))
        header = bytearray(entries[place_].header)
        index = data.draw(st.integers(0, len(header) - 1))
        header[index] ^= data.draw(st.integers(1, 255))
        leaf = data.draw(st.sampled_from([entries[place_].leaf, leaf_of(bytes(header))]))
        entries[place_] = StoredEntry(header=bytes(header), leaf=leaf, copies=entries[place_].copies)
        assert isinstance(check(entries), Broken)

    @pytest.mark.parametrize(
        ("change", "rule"),
        [
            (lambda e: e[:2], "head"),
            (lambda e: e[1:], "numbering"),
            (lambda e: [e[0], e[2], e[1]], "numbering"),
            (lambda e: [e[0], e[0], e[1], e[2]], "numbering"),
            (lambda e: [], "head"),
            (lambda e: [*e[:2], StoredEntry(header=e[2].header, leaf="0" * 64, copies={})], "leaf"),
            (lambda e: [*e[:2], StoredEntry(header=e[2].header, leaf=e[2].leaf, copies={"seq": 7})], "column"),
            (lambda e: [*e[:2], spaced(e[2])], "not_canonical"),
            (lambda e: [*e[:2], altered(e[2], origin="other/org/x/1")], "origin"),
            (lambda e: [*e[:2], altered(e[2], prev="0" * 64)], "link"),
            (lambda e: [*e[:2], altered(e[2], type="made.up")], "type"),
            (lambda e: [*e[:2], altered(e[2], recorded_at=timestamp(at(1)))], "clock"),
            (lambda e: [*e[:2], altered(e[2], v=2)], "version"),
            (lambda e: [*e[:2], raw(b"[]")], "unreadable"),
            (lambda e: [*e[:2], raw(b"{")], "unreadable"),
        ],
    )
    def test_the_first_fault_is_named(self, change, rule: str) -> None:
        found = check(change(chain_of(golden())))
        assert isinstance(found, Broken)
        assert found.rule == rule

    def test_a_cut_tail_needs_the_head(self) -> None:
        assert isinstance(check(chain_of(golden())[:2], size=None, tip=None), Verified)
        assert isinstance(check(chain_of(golden())[:2], size=3, tip=None), Broken)


class TestClock:
    def test_recorded_time_never_runs_backwards(self) -> None:
        head = Head(origin=ORIGIN, size=1, tip=LEAVES[0], last_at=at(40))
        entry, after = place(golden()[1][0], head, now=at(20))
        assert entry.recorded_at == at(40)
        assert after.last_at == at(40)

    @pytest.mark.parametrize(("back", "stepped"), [(0, 0), (2, 0), (3, 3_000), (-5, 0)])
    def test_a_jump_of_more_than_two_seconds_is_noted(self, back: int, stepped: int) -> None:
        head = Head(origin=ORIGIN, size=1, tip=LEAVES[0], last_at=at(40))
        assert clock_stepped(head, at(40) - timedelta(seconds=back)) == stepped


def altered(entry: StoredEntry, **changes) -> StoredEntry:
    header = json.loads(entry.header) | changes
    return raw(canonical_header(header))


def spaced(entry: StoredEntry) -> StoredEntry:
    return raw(entry.header.replace(b":", b": ", 1))


def raw(header: bytes) -> StoredEntry:
    return StoredEntry(header=header, leaf=leaf_of(header), copies={})
