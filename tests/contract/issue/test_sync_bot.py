"""A token that does not say whose it is, such as that of an app or a workflow: nothing is opened or posted twice."""

from __future__ import annotations

import pytest

from tests.contract.issue.sync_support import Bench
from tests.emulator import faults
from tests.seams import issue_block

pytestmark = pytest.mark.slow


@pytest.fixture
def bot(bench: Bench) -> Bench:
    nobody(bench)
    return bench


def nobody(bench: Bench) -> None:
    bench.github.rules.clear()
    bench.github.rules.add("GET", "/user$", faults.forbidden("Resource not accessible by integration"))


def opened_and_lost(bench: Bench) -> None:
    """The issue is there, and the logbook does not know of it."""
    bench.github.rules.add("POST", "/issues$", faults.dropped(), times=1)
    bench.fails("unreachable", "--create", "--max-wait", "0.1s")
    assert bench.book.header.issue is None
    nobody(bench)


def test_an_issue_is_found_again_after_the_logbook_has_changed(bot: Bench) -> None:
    bot.note()
    opened_and_lost(bot)
    bot.note("Another")
    err = bot.ok("sync", "--create").err
    [issue] = bot.github.issues(bot.repo)
    assert f"{bot.github.web}/{bot.repo}/issues/1, opened by ada" in err
    assert bot.told() == ["MOE-000", "MOE-001"]
    assert "MOE-001" in bot.block
    assert issue["number"] == bot.number
    bot.settled(["MOE-000", "MOE-001"])


def test_what_somebody_else_wrote_around_a_block_is_not_closed(bot: Bench) -> None:
    """A copy of it is not ours to end, and one that was edited is no block of ours."""
    bot.note()
    opened_and_lost(bot)
    text = bot.github.issue(bot.repo, 1)["body"]
    copy = bot.github.open_issue_as("bob", bot.repo, "A copy", f"See this:\n\n{text}")
    bot.sync("--create")
    assert bot.number == 1
    found = bot.github.issue(bot.repo, copy)
    assert (found["state"], found["body"].startswith("See this:")) == ("open", True)


def test_a_block_that_was_changed_is_not_taken_up(bot: Bench) -> None:
    bot.note()
    opened_and_lost(bot)
    text = bot.github.issue(bot.repo, 1)["body"]
    for n, body in enumerate(
        (text.replace("## Status", "## State"), text + "\n" + text, text.split("<!-- logbook:end")[0])
    ):
        bot.github.edit_body_as("ada", bot.repo, 1, body)
        if n == 0:
            found = issue_block(bot.book, body)
            assert found is not None
            assert not found.intact
        assert bot.ok("sync", "--create", "--dry-run").code == 0
    bot.sync("--create")
    assert bot.number == 2
