"""What distilling costs: a closed segment of eight tasks becomes eight proposed notes, with a recorded reply.

Prints one JSON line: milliseconds for the whole flush, for the encoder in it, and for everything else, with the share
of everything else in the encoder's time. The real encoder, SQLite on a memory file system where there is one; vectors
are forgotten before each round, so that every text is encoded.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TASKS = 8
NOTES = (
    ("Upload limits are enforced by the gateway and never by the form.", "When you touch uploads"),
    ("Invoices are numbered by the ledger service alone, without gaps.", "When an invoice is made"),
    ("Every background job must be safe to run twice with the same id.", "When you write a job"),
    ("Dates are stored in UTC and shown in the zone of the reader.", "When a date is shown or stored"),
    ("The public contract of the uploads endpoint is multipart, field file.", "When a client uploads"),
    ("Feature flags are read once per request and never in a loop.", "When you read a flag"),
    ("Passwords are hashed by the identity service, nobody else sees them.", "When a login is built"),
    ("Search results are cut at two hundred rows, whatever the page asks for.", "When you list things"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="tikitaka-bench-", dir=memory if memory.is_dir() else None))
    try:
        print(json.dumps(measure(folder, options.rounds)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(folder: Path, rounds: int) -> dict:
    ready(folder)
    from apps.conductor import story
    from apps.memory.models import Flush, Note
    from apps.providers.models import VectorCache

    encoder = watched_encoder()
    bench = Bench(folder)
    total, embedding = [], []
    for number in range(rounds + 1):
        flush = bench.closed_segment(number)
        VectorCache.objects.all().delete()
        encoder.seconds = 0.0
        began = time.perf_counter()
        story.flush(flush)
        total.append(time.perf_counter() - began)
        embedding.append(encoder.seconds)
        assert Flush.objects.get(pk=flush).status == "done"
        assert Note.objects.filter(flush=flush).count() == len(NOTES)
    del total[0], embedding[0]  # the first round loads the model
    rest = [whole - part for whole, part in zip(total, embedding, strict=True)]
    return {
        "file_system": "memory" if str(folder).startswith("/dev/shm") else "disk",
        "rounds": rounds,
        "total_ms": milliseconds(total),
        "embedding_ms": milliseconds(embedding),
        "everything_else_ms": milliseconds(rest),
        "else_over_embedding": round(statistics.median(r / e for r, e in zip(rest, embedding, strict=True)), 3),
    }


def milliseconds(seconds: Sequence[float]) -> float:
    return round(statistics.median(seconds) * 1000, 1)


def ready(folder: Path) -> None:
    """Django on a fresh database in `folder`."""
    sys.path.insert(0, str(ROOT))
    os.environ |= {
        "TIKITAKA_DATA": str(folder / "data"),
        "TIKITAKA_EMBEDDER": "sbert",
        "TIKITAKA_EXTRACTOR": "replay",
        "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
    }
    (folder / "data" / "replay").mkdir(parents=True)
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


class Watched:
    """An encoder that counts the seconds it was busy."""

    def __init__(self, encoder) -> None:
        self._encoder = encoder
        self.digest = encoder.digest
        self.seconds = 0.0

    def embed(self, texts):
        began = time.perf_counter()
        try:
            return self._encoder.embed(texts)
        finally:
            self.seconds += time.perf_counter() - began


def watched_encoder() -> Watched:
    from apps.providers import embedding
    from apps.providers.services import vectors

    watched = Watched(embedding.own_embedder())
    vectors.embedder = lambda: watched
    return watched


class Bench:
    """An organization; each round gets a team of four agents of its own."""

    def __init__(self, folder: Path) -> None:
        from apps.accounts.models import User
        from apps.accounts.selectors import principal_of
        from apps.accounts.services.organizations import found_organization

        user = User.objects.create_user(username="bench")
        self.actor = principal_of(user)
        self.organization = found_organization(actor=self.actor, name="Bench", owner=user)
        notes = [
            {
                "content": content,
                "severity": "normal",
                "skillKey": f"rule-{number}",
                "description": description,
                "sourceRunIndices": [number],
                "sourceSpanIndices": [],
                "rationale": "",
            }
            for number, (content, description) in enumerate(NOTES, start=1)
        ]
        message = {"role": "assistant", "content": json.dumps({"notes": notes})}
        reply = {"status": 200, "finish_reason": "stop", "message": message}
        (folder / "data" / "replay" / "extract-1.json").write_text(json.dumps({"when": "", "reply": reply}))

    def closed_segment(self, number: int):
        """The id of the flush that waits for eight finished tasks."""
        from apps.conductor.pool import embedded_pool
        from apps.conductor.story import close_thread, submit
        from apps.conductor.teams import register_agent
        from apps.memory.models import Flush
        from apps.teams.services.teams import create_team

        team = create_team(actor=self.actor, organization=self.organization, name=f"Team {number}")
        for name in ("Security", "Backend", "Frontend", "Docs"):
            register_agent(
                actor=self.actor, team=team, name=name, description=f"{name} of the product, its code and its rules"
            )
        step = {
            "agentIndex": 2,
            "instruction": "look at it",
            "dependsOn": [],
            "workArea": "backend",
            "writeIntent": "write",
        }
        with embedded_pool(runtimes=lambda _: Answering()) as pool:
            for _ in range(TASKS):
                submit(actor=self.actor, team=team, prompt="uploads, invoices and jobs", plan=[step])
                assert pool.drain(60)
        close_thread(actor=self.actor, team=team)
        return Flush.objects.get(segment__team=team, status="waiting").pk


class Answering:
    """A runtime whose every answer is a few sentences."""

    def run(self, launch, *, on_line, cancelled):  # noqa: ARG002
        from tikitaka.ports import RunEnd

        return RunEnd(answer=" ".join(content for content, _ in NOTES))


if __name__ == "__main__":
    main()
