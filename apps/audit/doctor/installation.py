"""Checks of what the installation stands on: database, broker, workers, folders, encoder, clock."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor

from apps.audit.doctor.diagnosis import Diagnosis, lasting, some
from apps.conductor.broker_state import broker_answers
from apps.conductor.fitness import database_fault, workspaces_fault
from apps.conductor.hosts import FILE_JOBS
from apps.ledger import clock
from apps.providers.embedding.weights import verify_weights, weights_folder
from apps.teams.hosts import hosts_with_teams
from tikitaka.hosts import host_queue

_FREE_BYTES = 500 * 1024**2
_CLOCK_S = 5.0


def database() -> Iterator[Diagnosis]:
    """Reachable and migrated; nothing that asks for rows makes sense before."""
    fault = _unreachable()
    if fault is not None:
        yield Diagnosis(
            what="The database cannot be used.",
            why=fault,
            do="Start the database or mend DATABASE_URL (TIKITAKA_DATA for a data folder); work waits meanwhile.",
        )
        return
    executor = MigrationExecutor(connection)
    pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if pending:
        names = sorted({migration.app_label for migration, _ in pending})
        yield Diagnosis(
            what="The database is not up to date.",
            why=f"{some(len(pending), 'migration')} of {', '.join(names)} not applied.",
            do="Run manage.py migrate, on PostgreSQL as the role that owns the tables.",
        )


def _unreachable() -> str | None:
    """SQLite would make an empty file for whoever asks, and that would be taken for an installation."""
    if connection.vendor == "sqlite" and not Path(connection.settings_dict["NAME"]).exists():
        return "There is no database file where the settings say."
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError) as error:
        return f"It does not answer ({type(error).__name__})."
    return None


def triggers() -> Iterator[Diagnosis]:
    """Without them the database would let entries of the ledger be changed."""
    if database_fault() == "ledger_triggers":
        yield Diagnosis(
            what="The ledger is not protected.",
            why="Triggers that refuse to change or remove its entries are missing.",
            do="Stop the installation, run manage.py ledger_verify, find out who removed them, and restore a back-up"
            " or run manage.py migrate on a copy that verifies.",
        )


def database_clock() -> Iterator[Diagnosis]:
    """Leases run by the database's time, what people read goes by the machine's."""
    apart = abs((clock.now() - datetime.now(UTC)).total_seconds())
    if apart > _CLOCK_S:
        yield Diagnosis(
            what="The clocks of the database and of this machine differ.",
            why=f"They are {lasting(apart)} apart. Leases go by the database's.",
            do="Set both by the same time service.",
        )


def broker() -> Iterator[Diagnosis]:
    """The broker, and behind it a worker for every queue."""
    if not settings.TIKITAKA_BROKER_URL:
        return
    if not broker_answers():
        yield Diagnosis(
            what="Wake-ups do not reach the workers.",
            why="The broker does not answer.",
            do="Start it or mend TIKITAKA_BROKER_URL. Nothing is lost: the sweeper sends again.",
        )
        return
    for queue in _unserved():
        yield Diagnosis(
            what=f"Nobody serves the queue {queue}.",
            why="No worker that answered within a second takes messages from it.",
            do=f"Start a worker for it: celery -A config.celery worker -Q {queue}.",
        )


def _unserved() -> list[str]:
    from apps.conductor.broker import app  # takes a tenth of a second to import

    queues = _needed({name.removeprefix("tikitaka."): route["queue"] for name, route in app.conf.task_routes.items()})
    answers = app.control.inspect(timeout=1).active_queues() or {}
    return sorted(queues - {queue["name"] for served in answers.values() for queue in served})


def _needed(routes: Mapping[str, str]) -> set[str]:
    """The common queues, and those of each host with teams; what only touches files is common in one root alone."""
    hosts = hosts_with_teams() or {"": 0}
    common = {queue for job, queue in routes.items() if job not in FILE_JOBS}
    return common | {host_queue(queue, host) for job, queue in routes.items() if job in FILE_JOBS for host in hosts}


def workspaces() -> Iterator[Diagnosis]:
    fault = workspaces_fault()
    if fault is not None:
        missing = fault == "missing"
        yield Diagnosis(
            what="Nothing can be landed and no agent can run.",
            why="The folder of workspaces is not there." if missing else "The folder of workspaces cannot be written.",
            do="Mount it where TIKITAKA_WORKSPACES points." if missing else "Give this user the right to write there.",
        )


def encoder() -> Iterator[Diagnosis]:
    """Where texts are encoded by this very process, its weights must be the pinned ones."""
    if settings.TIKITAKA_EMBEDDER == "off":
        yield Diagnosis(
            what="Nothing is recognized, and every note is withheld from everybody.",
            why="The sentence encoder is switched off.",
            do="Set TIKITAKA_EMBEDDER to sbert when that is not meant.",
            needs_person=False,
        )
    if settings.TIKITAKA_EMBEDDER != "sbert" or not settings.TIKITAKA_EMBED_HERE:
        return
    try:
        verify_weights(weights_folder())
    except (ImproperlyConfigured, OSError) as error:
        yield Diagnosis(
            what="Texts cannot be encoded.",
            why="The weights cannot be read." if isinstance(error, OSError) else f"It refuses to load: {error}.",
            do="Install the pinned requirements again: make setup.",
        )


def disk() -> Iterator[Diagnosis]:
    """Each disk once, by the folder that lies on it."""
    seen: set[int] = set()
    for name, folder in (("data", settings.TIKITAKA_DATA), ("workspaces", settings.TIKITAKA_WORKSPACES)):
        place = Path(folder)
        while not place.exists() and place != place.parent:
            place = place.parent
        device, free = place.stat().st_dev, shutil.disk_usage(place).free
        if free < _FREE_BYTES and device not in seen:
            seen.add(device)
            yield Diagnosis(
                what=f"The disk with the {name} is nearly full.",
                why=f"{free // 1024**2} MiB are free.",
                do="Make room or move the folder; landings and the database fail when nothing is left.",
            )
