"""Edits of comments: never posted again while they are there, and never over what a person has just written."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.contract.issue.pushed_support import refused
from tests.contract.issue.sync_support import Bench
from tests.emulator import faults
from tests.emulator.faults import Fault, Request

pytestmark = pytest.mark.slow

COMMENT = r"/issues/comments/\d+$"
PEOPLE = "\n\nbob: this cannot be."


def applied(fault: Fault) -> Fault:
    """The same answer, after the write took effect."""
    return Fault(name=fault.name, applied=True, answers=fault.answers)


@pytest.fixture
def changed(told: Bench) -> Bench:
    """One comment, whose entry has changed since."""
    told.ok("edit", "MOE-000", "--title", "Another title")
    return told


def posts(bench: Bench, before: int) -> list[str]:
    return [w.path for w in bench.github.writes[before:] if w.method == "POST"]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("fault", [faults.missing(), faults.gone(), applied(faults.missing())], ids=["404", "410", "a"])
@pytest.mark.sample(2)
def test_a_comment_that_the_host_wrongly_misses_is_not_posted_again(changed: Bench, fault: Fault, times: int) -> None:
    before = len(changed.github.writes)
    changed.github.rules.add("PATCH", COMMENT, fault, times=times)
    changed.sync()
    assert posts(changed, before) == []
    [comment] = changed.comments
    assert "Another title" in comment["body"]
    changed.settled(["MOE-000"])


def test_a_comment_that_cannot_be_edited_is_reported(changed: Bench) -> None:
    before = len(changed.github.writes)
    changed.github.rules.add("PATCH", COMMENT, faults.missing())
    error = refused(changed, 4, "sync")
    assert error["code"] == "issue_missing"
    assert "token" in error["hint"]
    assert "logbook sync" in error["hint"]
    assert posts(changed, before) == []
    changed.github.rules.clear()
    changed.sync()
    changed.settled(["MOE-000"])


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_a_comment_that_is_removed_meanwhile_is_posted_once(changed: Bench, method: str) -> None:
    comment = changed.comments[0]["id"]

    def remove(_: Request) -> None:
        changed.github.delete_comment(changed.repo, comment)

    changed.github.rules.add(method, COMMENT, faults.also(remove, applied=False), times=1)
    changed.sync()
    assert [c["id"] == comment for c in changed.comments] == [False]
    changed.settled(["MOE-000"])


def edits(bench: Bench) -> Callable[[Request], None]:
    """A person edits the comment while the block is written: long after the comment was read for the plan."""
    comment = bench.comments[0]

    def edit(_: Request) -> None:
        bench.github.edit_comment_as("bob", bench.repo, comment["id"], comment["body"] + PEOPLE)

    return edit


def test_what_a_person_writes_in_a_comment_during_a_sync_stays(changed: Bench) -> None:
    edited = changed.comments[0]["body"] + PEOPLE
    changed.github.rules.add("PATCH", r"/issues/\d+$", faults.also(edits(changed)), times=1)
    answer = changed.ok("sync", "--json")
    assert [c["body"] for c in changed.comments] == [edited]
    [warning] = json.loads(answer.out)["warnings"]
    assert "MOE-000" in warning


def test_a_duplicate_that_a_person_edits_during_a_sync_stays(told: Bench) -> None:
    [first] = told.comments
    told.github.comment_as("ada", told.repo, told.number, first["body"])
    again = told.comments[1]

    def edit(_: Request) -> None:
        told.github.edit_comment_as("bob", told.repo, again["id"], first["body"] + PEOPLE)

    # After it was read for the plan.
    told.github.rules.add("GET", r"/issues/\d+/comments", faults.also(edit), times=1)
    told.sync()
    assert [c["body"] for c in told.comments] == [first["body"], first["body"] + PEOPLE]


def test_no_text_of_the_issue_is_obeyed_by_a_terminal(told: Bench) -> None:
    planted = "Hidden \x1b[2J\x1b]0;owned\x07 \x9b31m"
    comment = told.comments[0]
    told.github.edit_body_as("bob", told.repo, told.number, told.body.replace("## TL;DR", f"## TL;DR\n\n{planted}"))
    told.ok("edit", "MOE-000", "--title", "Another title")
    shown = told.ok("sync", "--dry-run").out
    assert "Hidden" in shown
    assert not [c for c in shown if not c.isprintable() and c != "\n"]
    assert comment["id"] == told.comments[0]["id"]


def test_a_comment_that_a_person_edited_takes_no_other_away(changed: Bench) -> None:
    [first] = changed.comments
    changed.github.comment_as("ada", changed.repo, changed.number, first["body"])
    changed.github.edit_comment_as("bob", changed.repo, first["id"], first["body"] + PEOPLE)
    for _ in range(2):
        changed.sync()
        edited, second = (comment["body"] for comment in changed.comments)
        assert edited == first["body"] + PEOPLE
        assert "Another title" in second
