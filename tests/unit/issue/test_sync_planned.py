"""A sync whose plan is shown first, and applied by its digest."""

from __future__ import annotations

import os

import pytest

from logbook_agent.issue.planned_sync import sync_by_digest
from logbook_agent.model.errors import UsageError
from logbook_agent.store.workspace import Workspace
from tests.contract.issue.sync_support import Bench


def synced(bench: Bench, digest: str | None = None) -> dict[str, object]:
    timing = {"clock": bench.time.clock, "sleep": bench.time.sleep}
    space = Workspace(cwd=bench.folder, environ=os.environ, timing=timing)
    return sync_by_digest(space, create=True, repository=bench.repo, digest=digest, max_wait_s=20)


@pytest.mark.slow
def test_only_the_plan_that_was_shown_is_applied(bench: Bench) -> None:
    bench.note()
    planned = synced(bench)
    assert planned["dry_run"]
    assert not bench.github.writes
    bench.note("Another")
    with pytest.raises(UsageError):
        synced(bench, str(planned["digest"]))
    assert not bench.github.writes
    planned = synced(bench)
    done = synced(bench, str(planned["digest"]))
    assert not done["dry_run"]
    assert bench.told() == ["MOE-000", "MOE-001"]
    # What stands in the issue is part of a plan, too.
    bench.note("A third")
    planned = synced(bench)
    bench.sync()
    with pytest.raises(UsageError):
        synced(bench, str(planned["digest"]))
    assert bench.told() == ["MOE-000", "MOE-001", "MOE-002"]
