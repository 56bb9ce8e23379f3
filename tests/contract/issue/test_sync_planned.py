"""A sync whose plan is shown first, and applied by its digest."""

from __future__ import annotations

import pytest

from tests.contract.issue.sync_support import Bench


@pytest.mark.slow
def test_only_the_plan_that_was_shown_is_applied(bench: Bench) -> None:
    bench.note()
    planned = bench.sync("--create", "--dry-run")
    assert not bench.github.writes
    bench.note("Another")
    late = bench.cli("sync", "--create", "--digest", planned["digest"], "--json")
    assert (late.code, late.error["code"], late.error["message"]) == (2, "usage", "the plan no longer has this digest")
    assert not bench.github.writes
    planned = bench.sync("--create", "--dry-run")
    assert bench.sync("--create", "--digest", planned["digest"])["steps"]
    assert bench.told() == ["MOE-000", "MOE-001"]
    # What stands in the issue is part of a plan, too.
    bench.note("A third")
    planned = bench.sync("--dry-run")
    bench.sync()
    assert bench.cli("sync", "--digest", planned["digest"], "--json").code == 2
    assert bench.told() == ["MOE-000", "MOE-001", "MOE-002"]
