"""compose.yaml and the Dockerfile say what the product has: no container engine is needed to see that."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from apps.conductor.hosts import FILE_JOBS
from config.broker import QUEUES
from tikitaka.hosts import host_queue

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if name not in ("postgres", "redis")}
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_every_queue_has_exactly_one_kind_of_worker() -> None:
    served = [
        service["command"][service["command"].index("-Q") + 1]
        for service in OURS.values()
        if "-Q" in service["command"]
    ]
    assert sorted(served) == sorted(QUEUES)


def test_only_the_worker_for_embeddings_encodes() -> None:
    encoding = {name for name, service in OURS.items() if service["environment"].get("TIKITAKA_EMBED_HERE") == "1"}
    assert encoding == {"embed"}


@pytest.mark.parametrize("name", OURS)
def test_no_container_of_ours_has_more_rights_than_it_needs(name: str) -> None:
    service = OURS[name]
    assert service["user"] == "10001:10001"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate", "sweeper"}))
def test_whatever_serves_has_a_health_check(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]


def test_secrets_come_from_files_and_only_the_migration_has_the_owners() -> None:
    assert all(set(secret) == {"file"} for secret in COMPOSE["secrets"].values())
    assert {name for name, service in OURS.items() if "owner_url" in service["secrets"]} == {"migrate"}
    for service in OURS.values():
        assert not {"SECRET_KEY", "TIKITAKA_SEALING_KEY", "DATABASE_URL"} & set(service["environment"])
        needed = {
            value.removeprefix("/run/secrets/")
            for key, value in service["environment"].items()
            if key.endswith("_FILE")
        }
        assert needed <= set(service["secrets"])


def test_the_image_is_made_of_what_is_here_and_runs_as_nobody_special() -> None:
    copied = [words.split()[0] for words in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.M)]
    assert all((ROOT / source).exists() for source in copied)
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.M) == ["tikitaka"]
    assert "useradd --uid 10001" in DOCKERFILE


def test_the_document_gives_each_host_a_worker_for_every_queue_of_its_own() -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"`celery -A config\.celery worker -Q (\S+) ", text))
    own = {queue for queue, jobs in QUEUES.items() if FILE_JOBS & set(jobs)}
    assert shown == {host_queue(queue, "alpha") for queue in own}
