"""manage.py doctor asks real workers which queues they serve."""

from __future__ import annotations

from pathlib import Path

import pytest

from apps.audit.doctor import installation
from tests.support.cast import Cast
from tests.support.workers import fleet

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_queues_without_a_worker_are_named(committed_cast: Cast, tmp_path: Path) -> None:
    with fleet(tmp_path) as workers:
        workers.start("control,flush")
        some = {diagnosis.what for diagnosis in installation.broker()}
        workers.start("embed")
        workers.start("nodes")
        none = list(installation.broker())
    assert some == {"Nobody serves the queue embed.", "Nobody serves the queue nodes."}
    assert none == []
