"""manage.py evaluate"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.providers.embedding import embedder
from apps.providers.services.vectors import vectors_for
from tikitaka.errors import TikiTakaError
from tikitaka.evaluation.registry import EVALUATORS, Evaluator
from tikitaka.ports import Vector


class Command(BaseCommand):
    help = "Measure one part of the product on a file of cases and print the metrics as one JSON object."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=sorted(EVALUATORS))
        parser.add_argument("file", type=Path, help="cases, one JSON object a line")
        parser.add_argument("--decisions", type=Path, metavar="OUT", help="write one decision a line to this file")
        parser.add_argument(
            "--fit",
            action="store_true",
            help="fit the coefficients on the cases and write them where the product reads them",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        evaluator = EVALUATORS[options["kind"]]
        try:
            cases = evaluator.parse(options["file"].read_text(encoding="utf-8").splitlines())
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}") from error
        except TikiTakaError as error:
            raise CommandError(f"{options['file']}: {error.detail}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise CommandError(f"{options['file']} is no file of {options['kind']} cases: {error!r}") from error
        if options["fit"]:
            self._fit(options["kind"], evaluator, cases)
            return
        rows = evaluator.decide(cases, _vectors(evaluator.texts(cases)))
        if options["decisions"]:
            lines = [json.dumps(row, ensure_ascii=False) for row in rows]
            options["decisions"].write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.stdout.write(json.dumps(evaluator.metrics(cases, rows)))

    def _fit(self, kind: str, evaluator: Evaluator, cases: Any) -> None:
        if evaluator.fit is None or evaluator.fitting_texts is None or evaluator.COEFFICIENTS_PATH is None:
            raise CommandError(f"nothing is fitted for {kind}")
        found = embedder()
        if found is None:
            raise CommandError("fitting needs an encoder; TIKITAKA_EMBEDDER is off")
        document = evaluator.fit(cases, _vectors(evaluator.fitting_texts(cases)), model_digest=found.digest)
        target = settings.BASE_DIR / evaluator.COEFFICIENTS_PATH
        target.write_text(json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
        self.stdout.write(json.dumps({"written": evaluator.COEFFICIENTS_PATH, "metrics": document.get("metrics")}))


def _vectors(texts: list[str]) -> dict[str, Vector]:
    """Through the cache where there is a migrated database, else straight from the encoder."""
    if not texts:
        return {}
    if _database_ready():
        return dict(vectors_for(texts))
    found = embedder()
    if found is None:
        raise CommandError("this evaluation needs an encoder; TIKITAKA_EMBEDDER is off")
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, found.embed(distinct), strict=True))


def _database_ready() -> bool:
    try:
        executor = MigrationExecutor(connection)
        return not executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Exception:  # noqa: BLE001 no database at all is fine here
        return False
