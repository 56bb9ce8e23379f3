"""`logbook sync` from the shell to the server, one of each kind; the whole of it is in the files beside this one."""

from __future__ import annotations

import json

import pytest

from tests.contract.issue.sync_support import Bench

pytestmark = pytest.mark.slow


def test_create_update_and_nothing_new(bench: Bench) -> None:
    ids = bench.notes(12)
    data = bench.sync("--create", "--label", "experiment")
    assert [s["step"].split(":")[0] for s in data["steps"]][1:] == ["comment", "comment"]
    assert data["issue"] == f"{bench.github.web}/{bench.repo}/issues/{bench.number}"
    assert bench.told() == ids
    assert [label["name"] for label in bench.github.issue(bench.repo, bench.number)["labels"]] == ["experiment"]
    assert data["issue"] in bench.book.view_path.read_text()
    before = len(bench.github.requests)
    assert bench.sync()["steps"] == []
    assert [r.method for r in bench.github.requests[before:]] == ["GET", "GET"]
    assert bench.time.waits == []


def test_a_dry_run_writes_nothing(bench: Bench) -> None:
    bench.note("One")
    text = bench.ok("sync", "--create", "--dry-run").out
    assert "+### MOE-000 One" in text
    assert bench.github.requests == []
    bench.sync("--create")
    bench.note("Two")
    before = len(bench.github.writes)
    steps = bench.sync("--dry-run")["steps"]
    assert [s["step"] for s in steps][1:] == ["comment: update MOE-001"]
    assert "+### MOE-001 Two" in steps[1]["diff"]
    assert len(bench.github.writes) == before


def test_a_ticked_box_is_written_anew_and_told(bench: Bench) -> None:
    bench.notes(1)
    bench.ok("criteria", "--add", "It is known which is faster.")
    bench.sync("--create")
    ticked = bench.body.replace("- [ ] It is known", "- [x] It is known")
    assert ticked != bench.body
    bench.github.edit_body_as("bob", bench.repo, bench.number, ticked)
    answer = bench.ok("sync", "--json")
    assert len(answer.data["steps"]) == 1
    assert len(json.loads(answer.out)["warnings"]) == 1
    assert "- [ ] It is known" in bench.block


def test_an_entry_that_was_asked_for_is_not_said_to_wait(bench: Bench) -> None:
    bench.ok("note", "--plan", "--title", "Later", "--command", "true")
    bench.ok("note", "--plan", "--title", "Later still", "--command", "true")
    data = bench.sync("--create", "--entry", "MOE-000")
    assert data["waiting"] == ["MOE-001"]
    assert bench.told() == ["MOE-000"]


def test_the_comment_of_an_unfinished_entry_follows_it(bench: Bench) -> None:
    bench.ok("note", "--plan", "--title", "Later", "--command", "echo RESULT tflops=1.5")
    bench.sync("--create", "--entry", "MOE-000")
    bench.ok("run", "--id", "MOE-000")
    bench.sync()
    assert bench.told() == ["MOE-000"]
    [comment] = bench.comments
    assert "tflops: 1.500 TF/s" in comment["body"]


def test_a_correction_is_told_like_any_entry(bench: Bench) -> None:
    bench.note("One")
    bench.sync("--create")
    bench.note("Two", "--supersedes", "MOE-000")
    steps = [step["step"] for step in bench.sync()["steps"]]
    assert [step.split()[0] for step in steps] == ["write", "edit", "comment:"]
    first, second = (comment["body"] for comment in bench.comments)
    assert "- Superseded by: MOE-001" in first
    assert "- Supersedes: MOE-000" in second
    assert bench.sync()["steps"] == []
