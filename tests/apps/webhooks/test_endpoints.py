"""Endpoints and the ledger behind them: who may make one, what it is told, what never leaks, what is never lost."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from cryptography.exceptions import InvalidTag
from django.db import IntegrityError, transaction

from apps.accounts.services.authorize import AccessRefused
from apps.conductor import retention
from apps.conductor.incidents import open_incident
from apps.conductor.models import Incident, IncidentKind, WebhookDelivery, WebhookEndpoint
from apps.conductor.retention import prunable, prune
from apps.conductor.sweep import sweep
from apps.conductor.teams import archive_team
from apps.conductor.webhooks import reading
from apps.conductor.webhooks.endpoints import (
    EndpointRemoved,
    EndpointSwitchedOff,
    NewSecret,
    TooManyEndpoints,
    change_endpoint,
    create_endpoint,
    redeliver,
    remove_endpoint,
    rotate_secret,
    send_test,
)
from apps.conductor.webhooks.reading import read_ledger
from apps.conductor.webhooks.secrets import secrets_of
from apps.conductor.webhooks.selectors import due_endpoints
from apps.ledger import clock
from apps.ledger.models import Log
from apps.ledger.sealing import open_text, seal_text
from apps.ledger.selectors import Position, end_of_log, entries, entries_from
from apps.ledger.services import recording
from apps.ledger.services.rotation import rotate_sealing_key
from apps.memory.services.review import revoke
from apps.teams.models import Team
from apps.teams.services.teams import create_team
from tests.support.cast import Cast, add_agent
from tests.support.hosts import Woken
from tests.support.notes import RULE, landed, proposed
from tikitaka.errors import Invalid
from tikitaka.ledger.events import TaskSettled
from tikitaka.policy import Policy
from tikitaka.webhooks.events import WebhookEvent

pytestmark = pytest.mark.django_db
PUBLIC = "93.184.215.14"
URL = "https://hooks.example.com/in?token=only-the-receiver-knows"
ALL = [event.value for event in WebhookEvent]


def public(host: str, port: int) -> list[str]:
    return [PUBLIC]


def make(cast: Cast, **options: Any) -> NewSecret:
    given = {"actor": cast.owner, "organization": cast.organization, "url": URL, "events": ALL, "resolver": public}
    return create_endpoint(**{**given, **options})


def change(cast: Cast, endpoint: WebhookEndpoint, **options: Any) -> WebhookEndpoint:
    given = {"actor": cast.owner, "url": URL, "events": ALL, "resolver": public}
    return change_endpoint(endpoint=endpoint, **{**given, **options})


def settle(team: Team, status: str = "completed") -> None:
    """The entry of a task that ended."""
    with recording(team.organization_id) as ledger:
        ledger.record(TaskSettled(task=uuid4(), team=team.pk, status=status))


def told(endpoint: WebhookEndpoint) -> list[str]:
    """What the endpoint is told after reading, in order."""
    read_ledger(endpoint.pk)
    return list(endpoint.deliveries.order_by("seq").values_list("event", flat=True))


def bodies(endpoint: WebhookEndpoint) -> list[dict[str, Any]]:
    return [json.loads(body)["data"] for body in endpoint.deliveries.order_by("seq").values_list("body", flat=True)]


def second_team(cast: Cast) -> Team:
    team = create_team(actor=cast.operator, organization=cast.organization, name="Second")
    for name in ("One", "Two"):
        add_agent(cast.operator, team, name)
    return team


def recorded(cast: Cast, kind: str) -> list[str]:
    return [entry.header for entry in entries(cast.organization.pk, types=(kind,))]


class TestMakingOne:
    def test_whoever_manages_teams_may(self, cast: Cast) -> None:
        for who in (cast.owner, cast.operator):
            assert make(cast, actor=who).endpoint.created_by_id == who.id

    def test_nobody_else_may(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        delivery = send_test(actor=cast.owner, endpoint=endpoint)
        for who in (cast.reviewer, cast.auditor, cast.stranger):
            calls: list[Any] = [
                lambda who=who: make(cast, actor=who),
                lambda who=who: change(cast, endpoint, actor=who),
                lambda who=who: rotate_secret(actor=who, endpoint=endpoint),
                lambda who=who: remove_endpoint(actor=who, endpoint=endpoint),
                lambda who=who: send_test(actor=who, endpoint=endpoint),
                lambda who=who: redeliver(actor=who, delivery=delivery),
            ]
            for call in calls:
                with pytest.raises(AccessRefused):
                    call()
        assert WebhookEndpoint.objects.count() == 1
        assert len(recorded(cast, "access.denied")) >= 6

    def test_the_entry_names_the_host_and_no_secret(self, cast: Cast) -> None:
        made = make(cast, teams=[cast.team.pk])
        (entry,) = recorded(cast, "webhook.created")
        facts = json.loads(entry)["facts"]
        assert facts == {"host": "hooks.example.com", "events": sorted(ALL), "teams": [str(cast.team.pk)]}
        for hidden in ("only-the-receiver-knows", made.secret):
            assert not any(hidden in row.header for row in entries(cast.organization.pk))

    def test_the_secret_is_encrypted_at_rest(self, cast: Cast) -> None:
        made = make(cast)
        row = WebhookEndpoint.objects.get()
        assert made.secret.encode() not in bytes(row.secret)
        assert secrets_of(row, clock.now()) == [made.secret]
        other = make(cast).endpoint
        WebhookEndpoint.objects.filter(pk=other.pk).update(secret=row.secret)
        other.refresh_from_db()
        with pytest.raises(InvalidTag):
            secrets_of(other, clock.now())

    def test_another_sealing_key_opens_it_once_it_is_rotated(self, cast: Cast, settings: Any) -> None:
        made, old = make(cast), settings.TIKITAKA_SEALING_KEY
        settings.TIKITAKA_SEALING_KEY = os.urandom(24).hex()
        with pytest.raises(InvalidTag):
            secrets_of(made.endpoint, clock.now())
        rotate_sealing_key(old=old)
        assert secrets_of(made.endpoint, clock.now()) == [made.secret]

    def test_what_was_sealed_for_something_else_does_not_open(self, cast: Cast) -> None:
        one, two, where = uuid4(), uuid4(), cast.organization.pk
        sealed = seal_text(where, "x", "word", bound_to=one)
        assert open_text(where, "x", sealed, bound_to=one) == "word"
        for wrong in ((where, "x", sealed, two), (where, "y", sealed, one), (where, "x", b"", one)):
            with pytest.raises(InvalidTag):
                open_text(*wrong[:3], bound_to=wrong[3])

    @pytest.mark.parametrize(
        ("url", "addresses", "reason"),
        [
            ("http://hooks.example.com/", [PUBLIC], "url_not_https"),
            ("https://user:word@hooks.example.com/", [PUBLIC], "url_credentials"),
            (URL, ["10.0.0.7"], "private_address"),
            (URL, [PUBLIC, "169.254.169.254"], "private_address"),
            (URL, ["::ffff:127.0.0.1"], "private_address"),
            (URL, [], "unresolved"),
            ("http://localhost:6379/", ["127.0.0.1"], "private_address"),
        ],
    )
    def test_an_address_that_is_refused(self, cast: Cast, url: str, addresses: list[str], reason: str) -> None:
        with pytest.raises(Invalid) as refused:
            make(cast, url=url, resolver=lambda host, port: addresses)
        assert refused.value.fields == {"url": reason}
        endpoint = make(cast).endpoint
        with pytest.raises(Invalid) as refused:
            change(cast, endpoint, url=url, resolver=lambda host, port: addresses)
        assert refused.value.fields == {"url": reason}
        assert WebhookEndpoint.objects.get().url == URL

    def test_literal_addresses_are_judged_by_the_real_resolver(self, cast: Cast) -> None:
        for host in ("127.0.0.1", "[::1]", "10.0.0.1", "169.254.169.254", "[::ffff:10.0.0.1]", "localhost"):
            with pytest.raises(Invalid) as refused:
                create_endpoint(actor=cast.owner, organization=cast.organization, url=f"https://{host}/", events=ALL)
            assert refused.value.fields == {"url": "private_address"}, host

    def test_a_host_that_the_operator_allows(self, cast: Cast, settings: Any) -> None:
        settings.TIKITAKA_WEBHOOK_PRIVATE = ["hooks.example.com"]
        make(cast, resolver=lambda host, port: ["10.0.0.7"])

    @pytest.mark.parametrize("events", [[], ["task.started"], ["webhook.test"]])
    def test_events_that_are_none(self, cast: Cast, events: list[str]) -> None:
        with pytest.raises(Invalid) as refused:
            make(cast, events=events)
        assert set(refused.value.fields) == {"events"}

    def test_another_organizations_team_is_refused_like_none(self, cast: Cast) -> None:
        answers = set()
        for teams in ([cast.other_team.pk], [uuid4()], [cast.team.pk, cast.other_team.pk], []):
            with pytest.raises(Invalid) as refused:
                make(cast, teams=teams)
            answers.add(str(refused.value))
        assert len(answers) == 1
        assert not WebhookEndpoint.objects.exists()

    def test_there_is_a_limit(self, cast: Cast, settings: Any) -> None:
        settings.TIKITAKA_POLICY = Policy(webhook_endpoints_max=2)
        first = make(cast).endpoint
        make(cast)
        with pytest.raises(TooManyEndpoints):
            make(cast)
        remove_endpoint(actor=cast.owner, endpoint=first)
        make(cast)


class TestReading:
    def test_every_event_of_the_story(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        settle(cast.team)
        note = landed(cast)
        revoke(actor=cast.reviewer, note=note, words="no longer so")
        open_incident(organization=cast.organization.pk, team=None, kind=IncidentKind.DRIFT, subject="x")
        found = told(endpoint)
        assert set(found) == set(ALL)
        assert found[0] == "task.settled"
        assert found.index("note.waiting") < found.index("note.landed") < found.index("note.revoked")
        data = {json.loads(row.body)["type"]: json.loads(row.body)["data"] for row in WebhookDelivery.objects.all()}
        assert data["note.landed"]["agents"] == [str(cast.agents["backend"].pk)]
        assert data["note.revoked"]["note"] == str(note.pk)
        assert data["incident.opened"]["incident"] == str(Incident.objects.get(kind="drift").pk)

    def test_no_word_of_a_note_or_of_a_person_leaves(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        note = landed(cast)
        revoke(actor=cast.reviewer, note=note, words="because of this")
        told(endpoint)
        everything = " ".join(WebhookDelivery.objects.values_list("body", flat=True))
        for word in (RULE, note.description, note.skill_key, "because of this", note.content_digest, "reviewer"):
            assert word not in everything

    def test_each_entry_once_however_often_it_is_read(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        settle(cast.team)
        assert [read_ledger(endpoint.pk) for _ in range(3)] == [1, 0, 0]
        WebhookEndpoint.objects.update(cursor_seq=0)  # as if an older copy of the row had come back
        read_ledger(endpoint.pk)
        settled = WebhookDelivery.objects.filter(event="task.settled")
        assert settled.count() == 1

    def test_the_database_has_one_delivery_for_an_entry(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        settle(cast.team)
        read_ledger(endpoint.pk)
        row = WebhookDelivery.objects.get()
        row.pk = uuid4()
        with pytest.raises(IntegrityError), transaction.atomic():
            row.save(force_insert=True)

    def test_what_happened_before_is_not_told(self, cast: Cast) -> None:
        settle(cast.team)
        endpoint = make(cast).endpoint
        assert told(endpoint) == []
        settle(cast.team)
        assert told(endpoint) == ["task.settled"]

    def test_more_than_one_batch(self, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "_ENTRIES_AT_ONCE", 3)
        endpoint = make(cast).endpoint
        for _ in range(7):
            settle(cast.team)
        assert told(endpoint) == ["task.settled"] * 7
        seqs = [data["seq"] for data in bodies(endpoint)]
        assert seqs == sorted(set(seqs))

    def test_only_what_was_asked_for(self, cast: Cast) -> None:
        endpoint = make(cast, events=["note.waiting"]).endpoint
        settle(cast.team)
        proposed(cast)
        assert set(told(endpoint)) == {"note.waiting"}

    def test_only_the_teams_that_were_chosen(self, cast: Cast) -> None:
        other = second_team(cast)
        endpoint = make(cast, teams=[other.pk]).endpoint
        everything = make(cast).endpoint
        settle(cast.team)
        settle(other)
        open_incident(organization=cast.organization.pk, team=None, kind=IncidentKind.DRIFT, subject="of no team")
        assert told(endpoint) == ["task.settled"]
        assert bodies(endpoint)[0]["team"] == str(other.pk)
        assert told(everything) == ["task.settled", "task.settled", "incident.opened"]

    def test_another_organization_is_never_told_of(self, cast: Cast) -> None:
        ours = make(cast).endpoint
        theirs = make(cast, actor=cast.stranger, organization=cast.other).endpoint
        settle(cast.team, "failed")
        settle(cast.other_team, "partial")
        assert (told(ours), told(theirs)) == (["task.settled"], ["task.settled"])
        assert [(d["organization"], d["status"]) for d in bodies(ours)] == [(str(cast.organization.pk), "failed")]
        assert [(d["organization"], d["status"]) for d in bodies(theirs)] == [(str(cast.other.pk), "partial")]

    def test_an_archived_team_is_told_of_to_its_end(self, cast: Cast) -> None:
        note = landed(cast)
        endpoint = make(cast, teams=[cast.team.pk]).endpoint
        revoke(actor=cast.reviewer, note=note, words="no longer so")
        archive_team(actor=cast.operator, team=cast.team)
        assert told(endpoint) == ["note.revoked"]

    def test_the_next_log_of_an_organization_is_read_after_the_first(self, cast: Cast) -> None:
        where = cast.organization.pk
        begin = end_of_log(where)
        settle(cast.team)
        last = end_of_log(where)
        Log.objects.filter(pk=begin.log).update(closed_at=clock.now())
        new = Log.objects.create(organization_id=where, incarnation=2, origin=f"again/{where}/2")
        settle(cast.team)
        found = entries_from(where, begin, types=("task.settled",), limit=10)
        assert [entry.log_id for entry in found] == [begin.log, new.pk]
        assert [e.pk for e in entries_from(where, begin, types=("task.settled",), limit=1)] == [found[0].pk]
        assert entries_from(where, last, types=("task.settled",), limit=10) == [found[1]]
        assert end_of_log(where) == Position(log=new.pk, seq=end_of_log(where).seq)

    def test_an_organization_without_a_log(self, db: None) -> None:
        assert end_of_log(uuid4()) is None
        assert entries_from(uuid4(), None, types=("task.settled",), limit=10) == []


class TestDue:
    def test_the_sweep_wakes_whoever_has_something_to_do(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        idle = make(cast, events=["note.landed"]).endpoint
        settle(cast.team)
        woken = Woken()
        found = sweep()
        assert woken.of("webhooks") == [endpoint.pk]
        assert found["due_webhooks"] == 1
        assert idle.pk not in woken.of("webhooks")

    def test_nothing_to_do(self, cast: Cast) -> None:
        make(cast)
        assert due_endpoints(clock.now()) == []

    def test_whoever_is_left_alone_is_not_woken(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        settle(cast.team)
        now = clock.now()
        WebhookEndpoint.objects.update(quiet_until=now + timedelta(seconds=9))
        assert due_endpoints(now) == []
        assert due_endpoints(now + timedelta(seconds=10)) == [endpoint.pk]

    def test_an_attempt_that_is_not_due_yet(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        settle(cast.team)
        read_ledger(endpoint.pk)
        later = clock.now() + timedelta(seconds=30)
        WebhookDelivery.objects.update(next_at=later)
        assert due_endpoints(clock.now()) == []
        assert due_endpoints(later) == [endpoint.pk]


class TestChanging:
    def test_what_happened_before_is_told_as_it_was_chosen_then(self, cast: Cast) -> None:
        endpoint = make(cast, events=["task.settled"]).endpoint
        settle(cast.team)
        proposed(cast)
        change(cast, endpoint, events=["note.waiting"])
        settle(cast.team)
        assert told(endpoint) == ["task.settled"]
        proposed(cast, key="another-key", content="Another rule about something else entirely.")
        assert set(told(endpoint)) == {"task.settled", "note.waiting"}

    def test_switched_off_nothing_is_told_and_nothing_is_lost(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        settle(cast.team)
        change(cast, endpoint, active=False)
        assert told(endpoint) == ["task.settled"]
        settle(cast.team)
        assert told(endpoint) == ["task.settled"]
        assert due_endpoints(clock.now()) == []
        with pytest.raises(EndpointSwitchedOff):
            send_test(actor=cast.owner, endpoint=endpoint)
        later = clock.now() + timedelta(days=30)
        with clock.running_on(lambda: later):
            change(cast, endpoint, active=True)
            assert told(endpoint) == ["task.settled"] * 2
        assert set(WebhookDelivery.objects.values_list("waiting_since", flat=True)) == {later}

    def test_it_is_an_entry(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        change(cast, endpoint, url="https://other.example.com/x?y", events=["task.settled"], active=False)
        (entry,) = recorded(cast, "webhook.changed")
        assert json.loads(entry)["facts"] == {
            "host": "other.example.com",
            "events": ["task.settled"],
            "active": False,
        }

    def test_other_teams(self, cast: Cast) -> None:
        endpoint = make(cast, teams=[cast.team.pk]).endpoint
        other = second_team(cast)
        change(cast, endpoint, teams=[other.pk])
        settle(cast.team)
        settle(other)
        assert [data["team"] for data in bodies(endpoint)] == []
        assert told(endpoint) == ["task.settled"]
        with pytest.raises(Invalid):
            change(cast, endpoint, teams=[cast.other_team.pk])


class TestSecrets:
    def test_two_for_a_day_and_then_the_new_one(self, cast: Cast) -> None:
        made = make(cast)
        new = rotate_secret(actor=cast.operator, endpoint=made.endpoint)
        now = clock.now()
        assert new.secret != made.secret
        assert secrets_of(new.endpoint, now) == [new.secret, made.secret]
        assert secrets_of(new.endpoint, now + timedelta(days=1)) == [new.secret]
        assert len(recorded(cast, "webhook.secret.rotated")) == 1

    def test_at_once(self, cast: Cast) -> None:
        made = make(cast)
        new = rotate_secret(actor=cast.owner, endpoint=made.endpoint, at_once=True)
        assert secrets_of(new.endpoint, clock.now()) == [new.secret]
        assert bytes(WebhookEndpoint.objects.get().old_secret) == b""


class TestRemoving:
    def test_nothing_more_is_sent_and_the_secret_is_gone(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        rotate_secret(actor=cast.owner, endpoint=endpoint)
        settle(cast.team)
        read_ledger(endpoint.pk)
        remove_endpoint(actor=cast.owner, endpoint=endpoint)
        row = WebhookEndpoint.objects.get()
        assert (bytes(row.secret), bytes(row.old_secret), row.active) == (b"", b"", False)
        settle(cast.team)
        assert told(endpoint) == ["task.settled"]
        assert WebhookDelivery.objects.get().error == "removed"
        assert due_endpoints(clock.now()) == []
        assert len(recorded(cast, "webhook.removed")) == 1

    def test_what_is_removed_stays_removed(self, cast: Cast) -> None:
        endpoint = make(cast).endpoint
        delivery = send_test(actor=cast.owner, endpoint=endpoint)
        remove_endpoint(actor=cast.owner, endpoint=endpoint)
        calls: list[Any] = [
            lambda: remove_endpoint(actor=cast.owner, endpoint=endpoint),
            lambda: change(cast, endpoint),
            lambda: rotate_secret(actor=cast.owner, endpoint=endpoint),
            lambda: send_test(actor=cast.owner, endpoint=endpoint),
            lambda: redeliver(actor=cast.owner, delivery=delivery),
        ]
        for call in calls:
            with pytest.raises(EndpointRemoved):
                call()

    def test_the_database_lets_no_removed_one_be_on_or_keep_a_secret(self, cast: Cast) -> None:
        make(cast)
        now = clock.now()
        for wrong in (
            {"removed_at": now, "secret": b"", "active": True},
            {"removed_at": now, "active": False},
            {"disabled_reason": "gone"},
        ):
            with pytest.raises(IntegrityError), transaction.atomic():
                WebhookEndpoint.objects.update(**wrong)


class TestRetention:
    def test_the_log_of_deliveries_goes_after_its_time(self, cast: Cast, settings: Any) -> None:
        policy = settings.TIKITAKA_POLICY
        endpoint, now = make(cast).endpoint, clock.now()
        for status in ("completed", "failed", "partial"):
            settle(cast.team, status)
        read_ledger(endpoint.pk)
        delivered, given_up, waiting = WebhookDelivery.objects.order_by("seq")
        WebhookDelivery.objects.filter(pk=delivered.pk).update(delivered_at=now)
        WebhookDelivery.objects.filter(pk=given_up.pk).update(gave_up_at=now)
        late = now + timedelta(seconds=policy.webhook_log_s + 60)
        assert prunable(policy=policy)["deliveries"] == 0
        with clock.running_on(lambda: late):
            assert prunable(policy=policy)["deliveries"] == 2
            assert prune(policy=policy)["deliveries"] == 2
            assert prune(policy=policy)["deliveries"] == 0
        assert WebhookDelivery.objects.get() == waiting
        assert WebhookEndpoint.objects.get() == endpoint

    def test_it_goes_in_batches_and_each_is_counted(
        self, cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(retention, "_ROWS_AT_ONCE", 2)
        policy = settings.TIKITAKA_POLICY
        endpoint, now = make(cast).endpoint, clock.now()
        for _ in range(5):
            settle(cast.team)
        read_ledger(endpoint.pk)
        WebhookDelivery.objects.update(delivered_at=now)
        late = now + timedelta(seconds=policy.webhook_log_s + 60)
        with clock.running_on(lambda: late):
            assert [prune(policy=policy, batches=1)["deliveries"] for _ in range(4)] == [2, 2, 1, 0]

    def test_a_removed_endpoint_goes_with_its_log(self, cast: Cast, settings: Any) -> None:
        policy = settings.TIKITAKA_POLICY
        endpoint = make(cast, teams=[cast.team.pk]).endpoint
        send_test(actor=cast.owner, endpoint=endpoint)
        remove_endpoint(actor=cast.owner, endpoint=endpoint)
        prune(policy=policy)
        assert WebhookEndpoint.objects.exists()
        late = clock.now() + timedelta(seconds=policy.webhook_log_s + 60)
        with clock.running_on(lambda: late):
            prune(policy=policy)
        assert not WebhookEndpoint.objects.exists()
