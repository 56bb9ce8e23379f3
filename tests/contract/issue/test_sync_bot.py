"""A token that has no user, such as that of an app or a workflow: nothing is opened or posted twice."""

from __future__ import annotations

import pytest

from tests.contract.issue.sync_support import Bench
from tests.emulator import faults

pytestmark = pytest.mark.slow


def nobody(bench: Bench) -> None:
    bench.github.rules.clear()
    bench.github.rules.add("GET", "/user$", faults.forbidden("Resource not accessible by integration"))


def test_an_issue_is_found_again_after_the_logbook_has_changed(bench: Bench) -> None:
    """And a copy of its block in an issue of somebody else is left alone."""
    nobody(bench)
    bench.note()
    bench.github.rules.add("POST", "/issues$", faults.dropped(), times=1)
    bench.fails("unreachable", "--create", "--max-wait", "0.1s")
    assert bench.book.header.issue is None
    text = bench.github.issue(bench.repo, 1)["body"]
    copy = bench.github.open_issue_as("bob", bench.repo, "A copy", f"See this:\n\n{text}")
    nobody(bench)
    bench.note("Another")
    bench.sync("--create")
    assert bench.number == 1
    assert bench.told() == ["MOE-000", "MOE-001"]
    assert "MOE-001" in bench.block
    assert bench.github.issue(bench.repo, copy)["body"].startswith("See this:")
    assert bench.sync()["steps"] == []


def test_an_account_without_a_place_in_the_repository_posts_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.adopt()
    ids = bench.notes(3)
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", bench.github.tokens["mallory"])
    nobody(bench)
    bench.sync()
    assert bench.sync()["steps"] == []
    assert bench.told(("mallory",)) == ids
