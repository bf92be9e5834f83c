"""Rules of the whole that no type and no linter sees."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations import (
    AddConstraint,
    AddField,
    AddIndex,
    AlterField,
    AlterModelOptions,
    CreateModel,
    SeparateDatabaseAndState,
)
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

ROOT = Path(__file__).resolve().parents[2]
# The client and the program for other machines speak over a network and wait; they are no rules.
CORE = [
    path
    for path in ROOT.glob("tikitaka/**/*.py")
    if path.name not in ("workspace.py", "__main__.py") and path.parts[len(ROOT.parts) + 1] not in ("client", "sync")
]
HEAVY = ("torch", "sentence_transformers", "transformers", "openai", "mcp", "celery")


def names_used(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return called | imported


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_rules_know_no_clock_no_randomness_and_no_files(path: Path) -> None:
    forbidden = re.compile(
        r"(datetime|date)\.(now|today|utcnow)|time\.(time|monotonic|sleep)|random|secrets|uuid[1-7]|open|os\.environ"
        r"|os|subprocess|threading|socket|django.*|apps.*"
    )
    assert not {name for name in names_used(path) if forbidden.fullmatch(name)}


def test_among_the_rules_only_the_program_for_other_machines_uses_the_writer() -> None:
    users = {path for path in ROOT.glob("tikitaka/**/*.py") if "tikitaka.workspace" in names_used(path)}
    assert {path.relative_to(ROOT).as_posix() for path in users} == {"tikitaka/sync/folder.py"}


def modules_after(code: str) -> set[str]:
    program = f"{code}\nimport sys\nprint('\\n'.join(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
        env={"PATH": "/usr/bin:/bin", "DJANGO_SETTINGS_MODULE": "config.settings.test", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return set(done.stdout.split())


def test_nothing_heavy_is_imported_by_a_check() -> None:
    found = modules_after(
        "import django\ndjango.setup()\nfrom django.core.management import call_command\ncall_command('check')\n"
        "import config.urls, config.asgi, apps.conductor.pool, apps.conductor.sweep"
    )
    assert "apps.conductor.story" in found
    assert not {name for name in found if name.split(".")[0] in HEAVY}


def test_the_client_needs_nothing_but_its_http_library() -> None:
    """It is used where no server is installed."""
    found = {name.split(".")[0] for name in modules_after("import tikitaka.client")}
    assert "httpx2" in found
    assert not found & {"django", "rest_framework", "apps", "config", "numpy", "structlog", *HEAVY}


def test_every_command_has_a_test() -> None:
    commands = {path.stem for path in ROOT.glob("apps/*/management/commands/*.py") if path.stem != "__init__"}
    tests = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/*.py"))
    assert commands
    assert not {command for command in commands if not re.search(rf"[\"' ]{command}[\"' ]", tests)}


def test_every_reason_for_a_review_is_explained() -> None:
    from tikitaka.review.triggers import EXPLANATIONS, ReviewReason

    assert set(EXPLANATIONS) == set(ReviewReason)


# Rows that hang on another row as a part of it, and what lies above or beside organizations.
PARTS = """Span ToldTurn ThreadCursor AgentLease TreeLock TeamScheduler Recipient
Note_cited_attempts Note_cited_spans OrganizationUserObjectPermission OrganizationGroupObjectPermission
TeamUserObjectPermission TeamGroupObjectPermission"""
ELSEWHERE = "User Organization Entry SealedValue VectorCache EmbedRequest RefusedCalls HostSeen IdempotencyKey"


def test_every_row_below_an_organization_carries_its_id() -> None:
    from django.apps import apps

    ours = [model for model in apps.get_models() if model.__module__.startswith("apps.")]
    without = {
        model.__name__
        for model in ours
        if "organization_id" not in {getattr(field, "attname", "") for field in model._meta.get_fields()}
    }
    assert without <= {*PARTS.split(), *ELSEWHERE.split()}


def test_a_migration_that_may_run_under_the_old_code_takes_nothing_away() -> None:
    """`NNNN_pre_name`: what still runs must be able to insert, and keeps plans made for the columns as they were."""
    from django.db.migrations.loader import MigrationLoader

    loader = MigrationLoader(None)
    found = [
        (key, operation)
        for key, migration in sorted(loader.disk_migrations.items())
        if migration.__module__.startswith("apps.") and key[1][5:].startswith("pre_")
        for operation in migration.operations
    ]
    assert found
    refused = [
        f"{app}.{name}: {operation.describe()}"
        for (app, name), operation in found
        if not _only_adds(operation, loader.project_state((app, name), at_end=False), app)
    ]
    assert not refused


def _only_adds(operation: Operation, before: ProjectState, app: str) -> bool:
    harmless = (CreateModel, AddIndex, AddConstraint, AlterModelOptions, SeparateDatabaseAndState)
    if isinstance(operation, AddField):
        return bool(operation.field.null or operation.field.many_to_many or operation.field.has_db_default())
    if isinstance(operation, AlterField):
        old = before.models[app, operation.model_name_lower].fields[operation.name]
        return old.db_type(connection) == operation.field.db_type(connection) and operation.field.null >= old.null
    return isinstance(operation, harmless)


def test_the_project_speaks_of_itself_alone() -> None:
    words = re.compile(r"/work/|/root/\.|pypi\.org|files\.pythonhosted|registry\.npmjs|deb\.debian", re.IGNORECASE)
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    left_out = (".png", ".jsonl", "test_architecture.py", "test_documents.py")
    texts = [ROOT / name for name in listed if not name.endswith(left_out)]
    assert not [path.name for path in texts if path.is_file() and words.search(path.read_text(encoding="utf-8"))]
