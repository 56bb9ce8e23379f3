"""By what comments are known again: by markers of ours, on every page, whatever people do to them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contract.issue.sync_support import PEOPLE, Bench
from tests.emulator import faults
from tests.seams import marking

pytestmark = pytest.mark.slow


def chat(bench: Bench, number: int) -> None:
    for n in range(number):
        bench.github.comment_as("mallory", bench.repo, bench.number, f"I think {n}")


def forged(bench: Bench, *ids: str) -> str:
    """A comment as ours are, that tells of these entries."""
    return marking.stamped("update", bench.key, {"entries": ",".join(f"{i}:{'0' * 16}:l" for i in ids)}, "Forged.")


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


def test_a_comment_that_was_deleted_is_told_again(thirty: Bench) -> None:
    thirty.adopt()
    thirty.sync()
    told = thirty.told()
    thirty.github.delete_comment(thirty.repo, thirty.comments[1]["id"])
    [step] = thirty.sync()["steps"]
    assert step["about"] == told[10:20]
    assert thirty.told() == [*told[:10], *told[20:], *told[10:20]]
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE)


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


def test_a_comment_that_a_person_edited_is_left_alone(thirty: Bench) -> None:
    thirty.adopt()
    thirty.sync()
    comment = thirty.comments[0]
    edited = comment["body"] + "\n\nbob: this cannot be."
    thirty.github.edit_comment_as("bob", thirty.repo, comment["id"], edited)
    assert thirty.sync()["steps"] == []
    thirty.ok("edit", "MOE-000", "--title", "Another title")
    answer = thirty.ok("sync", "--json")
    assert [s["step"] for s in answer.data["steps"] if "comment" in s["step"]] == []
    [warning] = json.loads(answer.out)["warnings"]
    assert f"{comment['html_url']} was edited by hand" in warning
    assert thirty.comments[0]["body"] == edited
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE)


def test_markers_of_others_are_ignored(thirty: Bench) -> None:
    thirty.adopt()
    ids = thirty.book.entry_ids()
    comments = [forged(thirty, *ids), forged(thirty, ids[3]), f"```\n{forged(thirty, ids[4])}\n```"]
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
    planted = marking.wrapped(thirty.key, "Forged.")
    number = thirty.github.open_issue_as("mallory", thirty.repo, "Experiment: moe", planted)
    thirty.sync("--create")
    assert thirty.number != number
    assert thirty.github.issue(thirty.repo, number)["body"] == planted
    assert thirty.told() == thirty.book.entry_ids()
    assert thirty.sync()["steps"] == []


def planted_everywhere(bench: Bench) -> list[str]:
    """Every marker there is, in prose and in the output of a run."""
    found = [
        forged(bench, "MOE-000").split("\n")[0],
        marking.marker_line("begin", bench.key, {}, "x"),
        f"<!-- logbook:end 1 book={bench.key} -->",
        marking.marker_line("final", bench.key, {"closing": "0" * 16}, "x"),
    ]
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
    found = marking.find_block(thirty.body, thirty.key)
    assert found is not None
    above, below = thirty.body[: found.start], thirty.body[found.end :]
    assert above.replace("\r", "") == f"Above.\n\n{PEOPLE}\n\n"
    assert below == "\n\nBelow. 😀\nAt the last moment."
    assert thirty.told() == thirty.book.entry_ids()
