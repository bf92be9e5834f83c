"""People, roles and the rows derived from them."""

from __future__ import annotations

import json

import pytest
from django.core.management.sql import emit_post_migrate_signal
from django.db import IntegrityError, transaction
from guardian.utils import get_group_obj_perms_model

from apps.accounts.models import Membership, User
from apps.accounts.selectors import access_organization, containers_with, held_by
from apps.accounts.services.authorize import AccessRefused
from apps.accounts.services.grants import derive_grants
from apps.accounts.services.members import LastOwner, remove_member, set_role
from apps.ledger.selectors import entries, header
from apps.memory.models import Note
from apps.memory.services.review import NoteText, approve, edit, reject, revoke, write_note
from apps.teams.models import Team, TeamGroupObjectPermission
from apps.teams.services.teams import create_team
from tests.support.cast import Cast, person
from tests.support.notes import landed, proposed
from tikitaka.authz import ROLE_PERMISSIONS, Permission, Role
from tikitaka.errors import Forbidden, NotFound, TikiTakaError
from tikitaka.policy import DEFAULT


class TestGrants:
    @pytest.mark.parametrize("role", list(Role))
    def test_each_role_holds_exactly_its_permissions_on_organization_and_team(self, cast: Cast, role: Role) -> None:
        who = getattr(cast, role.value)
        assert held_by(who, cast.organization) == ROLE_PERMISSIONS[role]
        assert held_by(who, cast.team) == ROLE_PERMISSIONS[role]

    def test_deriving_again_changes_nothing_and_mends_what_was_changed(self, cast: Cast) -> None:
        before = set(TeamGroupObjectPermission.objects.values_list("group", "permission", "content_object"))
        TeamGroupObjectPermission.objects.filter(content_object=cast.team).first().delete()
        derive_grants(cast.team, cast.organization.pk)
        derive_grants(cast.team, cast.organization.pk)
        after = set(TeamGroupObjectPermission.objects.values_list("group", "permission", "content_object"))
        assert after == before

    def test_a_changed_role_takes_effect_at_once(self, cast: Cast) -> None:
        user = cast.user(cast.reviewer)
        set_role(actor=cast.owner, organization=cast.organization, user=user, role=Role.AUDITOR)
        assert held_by(cast.reviewer, cast.team) == ROLE_PERMISSIONS[Role.AUDITOR]

    def test_whoever_leaves_holds_nothing(self, cast: Cast) -> None:
        remove_member(actor=cast.owner, organization=cast.organization, user=cast.user(cast.reviewer))
        assert held_by(cast.reviewer, cast.team) == frozenset()
        with pytest.raises(NotFound):
            access_organization(cast.reviewer, cast.organization.pk, Permission.ORGANIZATION_VIEW)

    def test_a_superuser_holds_none_of_our_permissions(self, cast: Cast) -> None:
        root, who = person("root")
        root.is_superuser = True
        root.save()
        assert not any(root.has_perm(f"teams.{permission.value}", cast.team) for permission in Permission)
        assert not any(root.has_perm(permission.value) for permission in Permission)
        assert not containers_with(who, Permission.ORGANIZATION_VIEW, Team).exists()
        assert root.has_perm("accounts.change_user")

    def test_one_role_per_person_and_organization(self, cast: Cast) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            Membership.objects.create(organization=cast.organization, user=cast.user(cast.auditor), role="operator")


class TestMembers:
    def test_nobody_grants_a_role_to_themselves(self, cast: Cast) -> None:
        with pytest.raises(AccessRefused, match="own_role"):
            set_role(actor=cast.owner, organization=cast.organization, user=cast.user(cast.owner), role=Role.AUDITOR)

    def test_the_last_owner_stays(self, cast: Cast) -> None:
        other, second = person("second")
        set_role(actor=cast.owner, organization=cast.organization, user=other, role=Role.OWNER)
        set_role(actor=second, organization=cast.organization, user=cast.user(cast.owner), role=Role.OPERATOR)
        third, _ = person("third")
        with pytest.raises(TikiTakaError):
            remove_member(actor=cast.owner, organization=cast.organization, user=other)
        set_role(actor=second, organization=cast.organization, user=third, role=Role.REVIEWER)
        assert Membership.objects.filter(organization=cast.organization, role="owner").count() == 1
        assert LastOwner.code == "last_owner"

    @pytest.mark.parametrize("role", ["reviewer", "operator", "auditor"])
    def test_only_owners_manage_members(self, cast: Cast, role: str) -> None:
        user, _ = person("new")
        with pytest.raises(AccessRefused):
            set_role(actor=getattr(cast, role), organization=cast.organization, user=user, role=Role.OPERATOR)


class TestRefusals:
    def test_a_refusal_is_an_entry_and_a_hundred_in_a_minute_are_one(self, cast: Cast) -> None:
        for _ in range(5):
            with pytest.raises(AccessRefused):
                create_team(actor=cast.auditor, organization=cast.organization, name="X")
        (entry,) = entries(cast.organization.pk, types=("access.denied",))
        assert header(entry)["facts"] == {"permission": "manage_teams", "reasons": ["no_grant"], "count": 1}

    def test_a_stranger_decides_nothing(self, cast: Cast) -> None:
        note = proposed(cast)
        with pytest.raises(AccessRefused):
            approve(actor=cast.stranger, note=note, shown_digest=note.content_digest)

    @pytest.mark.parametrize("role", ["operator", "auditor"])
    def test_operators_and_auditors_decide_nothing(self, cast: Cast, role: str) -> None:
        note = proposed(cast)
        who = getattr(cast, role)
        for decide in (
            lambda: approve(actor=who, note=note, shown_digest=note.content_digest),
            lambda: reject(actor=who, note=note, shown_digest=note.content_digest, words="no"),
            lambda: revoke(actor=who, note=note, words="no"),
            lambda: write_note(
                actor=who, team=cast.team, text=NoteText(content="x y", description="z"), policy=DEFAULT
            ),
        ):
            with pytest.raises(AccessRefused):
                decide()

    def test_the_author_does_not_approve(self, cast: Cast) -> None:
        note = proposed(cast)
        with pytest.raises(AccessRefused, match="author_decides_not"):
            approve(actor=cast.owner, note=note, shown_digest=note.content_digest)

    def test_whoever_edited_does_not_approve(self, cast: Cast) -> None:
        note = proposed(cast)
        text = NoteText(content="The gateway alone checks sizes.", description="uploads", skill_key="sizes")
        changed = edit(
            actor=cast.reviewer, note=note, shown_digest=note.content_digest, policy=DEFAULT, text=text, words="clearer"
        )
        with pytest.raises(AccessRefused, match="author_decides_not"):
            approve(actor=cast.reviewer, note=changed, shown_digest=changed.content_digest)

    def test_nor_with_a_row_that_was_loaded_before_the_edit(self, cast: Cast) -> None:
        """Two requests of one person: the second has loaded the note when the first edits it."""
        note = proposed(cast)
        loaded = Note.objects.select_related("team").get(pk=note.pk)
        text = NoteText(content="Everything is allowed now.", description="uploads", skill_key="sizes")
        changed = edit(
            actor=cast.reviewer, note=note, shown_digest=note.content_digest, policy=DEFAULT, text=text, words="better"
        )
        for decide in (
            lambda: approve(actor=cast.reviewer, note=loaded, shown_digest=changed.content_digest),
            lambda: reject(actor=cast.reviewer, note=loaded, shown_digest=changed.content_digest, words="no"),
        ):
            with pytest.raises(Forbidden, match="edits does not"):
                decide()
        assert Note.objects.get(pk=note.pk).status in ("pending", "quarantined")
        assert entries(cast.organization.pk, types=("review.decision.refused",)).count() == 2


@pytest.mark.django_db(transaction=True)
def test_whoever_submitted_the_task_does_not_approve_its_notes(committed_cast: Cast, settings) -> None:
    from apps.conductor.pool import embedded_pool
    from apps.conductor.story import close_thread, submit
    from apps.memory.models import Note
    from tests.flows.test_promises import extracted, record
    from tests.support.plans import node
    from tests.support.scripted import ScriptedRuntime

    cast = committed_cast
    settings.TIKITAKA_EXTRACTOR = "replay"
    record(settings, "extract", json.dumps({"notes": [extracted("The gateway checks sizes.")]}))
    with embedded_pool(runtimes=ScriptedRuntime()) as pool:
        submit(actor=cast.owner, team=cast.team, prompt="x", plan=[node(2)])
        assert pool.drain(120)
        close_thread(actor=cast.owner, team=cast.team)
        assert pool.drain(120)
    note = Note.objects.get()
    with pytest.raises(AccessRefused, match="submitter_decides_not"):
        approve(actor=cast.owner, note=note, shown_digest=note.content_digest)


@pytest.mark.django_db(transaction=True)
def test_decisions_are_entries_with_sealed_words(committed_cast: Cast) -> None:
    note = landed(committed_cast)
    revoke(actor=committed_cast.reviewer, note=note, words="Ada said it is wrong")
    told = [
        header(e) for e in entries(committed_cast.organization.pk, subject=note.pk, types=("review.decision.recorded",))
    ]
    assert [entry["facts"]["verdict"] for entry in told] == ["edited", "approved", "revoked"]
    assert all("words" not in entry["facts"] and "Ada" not in str(entry) for entry in told)
    assert set(told[-1]["sealed"]) == {"words", "reviewer_name"}
    assert User.objects.filter(username="reviewer").exists()


def test_an_upgrade_brings_new_permissions_to_organizations_that_are_there(cast: Cast) -> None:
    for container in (cast.organization, cast.team):
        rows = get_group_obj_perms_model(container).objects.filter(permission__codename=Permission.BUDGET_SET.value)
        assert rows.filter(content_object=container).delete()[0] == 1
    assert Permission.BUDGET_SET not in held_by(cast.owner, cast.team)
    emit_post_migrate_signal(verbosity=0, interactive=False, db="default")
    assert Permission.BUDGET_SET in held_by(cast.owner, cast.organization)
    assert Permission.BUDGET_SET in held_by(cast.owner, cast.team)
    assert Permission.BUDGET_SET not in held_by(cast.operator, cast.team)
