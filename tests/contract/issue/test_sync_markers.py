"""By what comments are known again: by markers of ours, on every page, whatever people do to them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contract.issue.sync_support import PEOPLE, Bench
from tests.emulator import faults
from tests.seams import forged, forged_block
from tests.stored import at

pytestmark = pytest.mark.slow


def chat(bench: Bench, number: int) -> None:
    for n in range(number):
        bench.github.comment_as("mallory", bench.repo, bench.number, f"I think {n}")


def test_markers_beyond_the_first_page(thirty: Bench) -> None:
    thirty.adopt()
    chat(thirty, 99)
    # The second of ours is the first of the second page.
    thirty.github.rules.add("POST", "/comments$", faults.unauthorized(), nth=2, times=1)
    thirty.fails("bad_token")
    thirty.sync()
    chat(thirty, 100)
    late = thirty.note("Later")
    steps = thirty.sync()["steps"]
    assert [s["about"] for s in steps if "about" in s] == [[late]]
    assert [n for n, c in enumerate(thirty.comments) if c["body"].startswith("<!--")] == [99, 100, 101, 202]
    before = len(thirty.github.requests)
    assert thirty.sync()["steps"] == []
    assert [r.method for r in thirty.github.requests[before:]] == ["GET"] * 4
    assert thirty.told() == thirty.book.entry_ids()


@pytest.mark.parametrize("change", ["removed", "altered", "indented"])
@pytest.mark.sample(1)
def test_a_marker_that_is_none_any_more_is_told_again(thirty: Bench, change: str) -> None:
    thirty.adopt()
    thirty.sync()
    told = thirty.told()
    comment = thirty.comments[0]
    marker, _, text = comment["body"].partition("\n")
    body = {
        "removed": text,
        "altered": comment["body"].replace(told[0], told[10], 1),
        "indented": f"> {marker}\n{text}",
    }[change]
    thirty.github.edit_comment_as("bob", thirty.repo, comment["id"], body)
    [step] = thirty.sync()["steps"]
    assert step["about"] == told[:10]
    assert thirty.comments[0]["body"] == body, "a person's comment is not touched"
    assert thirty.told() == [*told[10:], *told[:10]]
    assert thirty.sync()["steps"] == []


def test_a_marker_of_a_newer_version_stops_the_sync(told: Bench) -> None:
    [comment] = told.comments
    newer = comment["body"].replace("logbook:update 2 ", "logbook:update 3 ")
    told.github.edit_comment_as("bob", told.repo, comment["id"], newer)
    told.note("Later")
    before = len(told.github.writes)
    assert "newer" in told.fails("markers_damaged")["message"]
    assert len(told.github.writes) == before


def test_line_ends_and_blanks_of_a_browser_are_no_edit(told: Bench) -> None:
    [comment] = told.comments
    told.github.edit_comment_as("bob", told.repo, comment["id"], comment["body"].replace("\n", "\r\n") + "  \r\n")
    told.github.edit_body_as("bob", told.repo, told.number, told.body.replace("\n", "\r\n"))
    answer = told.ok("sync", "--json")
    assert (answer.data["steps"], json.loads(answer.out)["warnings"]) == ([], [])


def test_an_issue_that_two_logbooks_share_is_each_told_and_closed_by_none(told: Bench) -> None:
    told.ok("start", "two", "--prefix", "TWO", "--title", "Two")
    told.ok("-L", "two", "note", "--title", "Theirs")
    told.ok("-L", "two", "link", f"#{told.number}")
    told.ok("-L", "two", "sync")
    assert len(told.updates) == 2
    answer = told.ok("-L", "moe", "close", "--conclusion", "Done", "--json")
    assert "also shows another logbook" in json.loads(answer.out)["warnings"][0]
    assert told.github.issue(told.repo, told.number)["state"] == "open"
    assert told.ok("-L", "two", "sync", "--json").data["steps"] == []


def test_an_entry_that_this_clone_lacks_or_cannot_read_keeps_its_comment(thirty: Bench) -> None:
    """Nor is the thread counted while a part of it cannot be read."""
    thirty.sync("--create")
    before, path = thirty.comments[0]["body"], at(thirty.book.entry_path("MOE-002"))
    text, name = path.read_text(), path.stem
    for damaged in ("{", None):
        path.write_text(damaged) if damaged else path.unlink()
        thirty.ok("edit", "MOE-000", "--title", f"Another title {damaged}")
        late = thirty.note("Later")
        answer = thirty.ok("sync", "--json")
        assert [step["about"] for step in answer.data["steps"] if "about" in step] == [[late]]
        assert ("block" in answer.data["steps"][0]["step"]) == (damaged is None)
        said = "MOE-002 cannot be read" if damaged else f"{name}, which is not in this clone"
        assert any(said in warning for warning in json.loads(answer.out)["warnings"])
        assert thirty.comments[0]["body"] == before
        path.write_text(text)
    thirty.sync()
    assert "Another title None" in thirty.comments[0]["body"]
    assert thirty.sync()["steps"] == []


def test_markers_of_others_are_ignored(thirty: Bench) -> None:
    thirty.adopt()
    ids = thirty.book.entry_ids()
    comments = [forged(thirty.book, "update", *told) for told in (ids, ids[3:4], ids[4:5])]
    comments[2] = f"```\n{comments[2]}\n```"
    for body in comments:
        thirty.github.comment_as("mallory", thirty.repo, thirty.number, body)
    thirty.sync()
    assert thirty.told() == ids
    assert [c["body"] for c in thirty.comments[:3]] == comments
    # A copy of a true one, too.
    thirty.github.comment_as("mallory", thirty.repo, thirty.number, thirty.comments[3]["body"])
    assert thirty.sync()["steps"] == []
    assert len(thirty.comments) == 7


def test_an_issue_of_somebody_else_with_our_block_is_not_ours(thirty: Bench) -> None:
    planted = forged_block(thirty.book)
    number = thirty.github.open_issue_as("mallory", thirty.repo, "Experiment: moe", planted)
    thirty.sync("--create")
    assert thirty.number != number
    assert thirty.github.issue(thirty.repo, number)["body"] == planted
    assert thirty.told() == thirty.book.entry_ids()
    assert thirty.sync()["steps"] == []


def planted_everywhere(bench: Bench) -> list[str]:
    """Every marker there is, in prose and in the output of a run."""
    begin, _, end = forged_block(bench.book).split("\n")
    update, final = (forged(bench.book, *words).split("\n")[0] for words in (("update", "MOE-000"), ("final",)))
    found = [update, begin, end, final]
    text = "\n".join(["", *found, "-->", "--!>", "> " + found[0]])
    bench.ok("run", "--title", "A run", "--", "python", "-c", f"print({text!r})")
    bench.cli("run", "--title", "A failed run", "--", "python", "-c", f"import sys; sys.exit({text!r})")
    bench.note("A note", "--result", text, "--field", f"More={text}")
    bench.note(found[2])
    bench.ok("status", "--summary", text)
    return found


def test_markers_in_prose_and_output_are_none(bench: Bench) -> None:
    lines = planted_everywhere(bench)
    bench.adopt()
    bench.sync()
    ids = bench.book.entry_ids()
    bench.settled(ids, people=PEOPLE)
    texts: list[str] = [bench.block, *(c["body"].partition("\n")[2] for c in bench.comments)]
    assert not [line for line in lines for text in texts if line in text]
    late = bench.note("Later")
    bench.sync()
    assert bench.told() == [*ids, late]
    assert bench.sync()["steps"] == []


def test_what_people_write_between_two_syncs_stays(thirty: Bench) -> None:
    """Above and below the block; and while a sync is about to write."""
    thirty.adopt()
    thirty.sync()
    thirty.github.edit_body_as("bob", thirty.repo, thirty.number, f"Above.\r\n\r\n{thirty.body}\n\nBelow. 😀")
    thirty.note("Later")

    def written(_: Any) -> None:
        body = thirty.body
        if "At the last moment." not in body:
            thirty.github.edit_body_as("bob", thirty.repo, thirty.number, f"{body}\nAt the last moment.")

    # Read to plan, read again to write: this comes between.
    thirty.github.rules.add("GET", r"/issues/\d+$", faults.also(written), times=1)
    thirty.sync()
    thirty.note("Later still")
    thirty.sync()
    assert thirty.around.replace("\r", "") == f"Above.\n\n{PEOPLE}\n\n\n\nBelow. 😀\nAt the last moment."
    assert thirty.told() == thirty.book.entry_ids()
