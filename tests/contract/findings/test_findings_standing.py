"""Which entries count: one rule, and one answer of every reader."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.stored import at

pytestmark = pytest.mark.slow


STATES = (None, "blocked", "abandoned", "void")
RELATIONS = ("continues", "completes", "supersedes")


class Readers:
    """What each reader says of MOE-000, which measured 10, beside MOE-001, which measured 5."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.status = cli("status", "--json").data
        self.shown = cli("show", "MOE-000", "--json").data
        self.text = cli("show", "MOE-000").out
        assert cli("render").code == 0
        self.view = (folder / "logbooks/moe.md").read_text()
        self.criteria = cli("criteria", "--json").data["criteria"][0]
        assert cli("sync", "--offline", "out").code == 0
        self.issue = (folder / "out/issue.md").read_text()
        self.update = "".join(path.read_text() for path in sorted((folder / "out").glob("update*.md")))

    def best(self) -> set[str]:
        """The entry that each calls best."""
        found = {best["entry"] for best in self.status["best"]}
        found |= set(re.findall(r"- Best tflops so far: .*? in (MOE-\d+)", self.issue))
        return found | set(re.findall(r"MOE-\d+", str(self.criteria["computed"])))

    def superseded(self) -> set[bool]:
        said = "Superseded by" in self.text, "Superseded by" in self.view, bool(self.shown["superseded_by"])
        return {*said, "superseded by" in self.issue, "Superseded by" in self.update}

    def completed(self) -> set[bool]:
        return {"Completed by" in self.text, "Completed by" in self.view, bool(self.shown["completed_by"])}

    def next_action(self) -> set[bool]:
        """Whether that of MOE-000 is left to be done."""
        of_status = any(action.get("id") == "MOE-000" for action in self.status["next_actions"])
        return {of_status, "- Next, from MOE-000: try topk" in self.issue}


@pytest.mark.parametrize(("state", "relation"), list(itertools.product(STATES, RELATIONS)))
@pytest.mark.slow
@pytest.mark.sample(4)
def test_every_reader_gives_one_answer(started: Cli, folder: Path, state: str | None, relation: str) -> None:
    predicate = json.dumps({"target": {"metric": "tflops", "at_least": 1}})
    assert started("criteria", "--add", "Fast", "--predicate", predicate).code == 0
    words = ["--next", "try topk", "--", "echo", "RESULT tflops=10"]
    assert started("run", "--env", "MODE=a", *words).code == 0
    more = [f"--{relation}", "MOE-000", "--env", "MODE=b"]
    assert started("run", *more, "--", "echo", "RESULT tflops=5").code == 0
    if state is not None:
        assert started("edit", "MOE-001", "--state", state).code == 0
    stands = state not in ("abandoned", "void")
    said = Readers(started, folder)
    replaced = stands and relation == "supersedes"
    # Work that is blocked is not done: what it measured so far is not told yet.
    assert said.best() == ({"MOE-000"} if not replaced else set() if state == "blocked" else {"MOE-001"})
    assert said.superseded() == {replaced}
    assert said.completed() == {stands and relation == "completes"}
    assert said.next_action() == {not stands}


@pytest.mark.parametrize(("state", "stays"), [("finished", True), ("abandoned", False), ("void", False)])
def test_the_footer_holds_no_decision_that_was_taken_back(started: Cli, folder: Path, state: str, stays: bool) -> None:
    assert started("note", "--kind", "decision", "--title", "Pad", "--field", "Decision=Pad to 128.").code == 0
    view = folder / "logbooks/moe.md"
    assert "Pad: Pad to 128." in view.read_text().partition("## Decision Log")[2]
    if state != "finished":
        assert started("edit", "MOE-000", "--state", state).code == 0
    assert ("Pad: Pad to 128." in view.read_text().partition("## Decision Log")[2]) is stays


def test_a_decision_that_was_superseded_says_so_wherever_it_is_listed(started: Cli, folder: Path) -> None:
    """In the view as in the issue and `status`: it stays, as history, and names the entry that took its place."""
    assert started("note", "--kind", "decision", "--title", "Pad", "--field", "Decision=Pad to 128.").code == 0
    assert started("note", "--title", "Fused", "--field", "Negative result=No gain.").code == 0
    assert started("note", "--kind", "decision", "--title", "Do not pad", "--supersedes", "MOE-000").code == 0
    assert started("run", "--supersedes", "MOE-001", "--", "echo", "RESULT tflops=1").code == 0
    mark = "MOE-000 Pad (superseded by MOE-002): Pad to 128."

    def footer() -> str:
        return (folder / "logbooks/moe.md").read_text().partition("## Decision Log")[2]

    assert mark in footer()
    assert "MOE-001 Fused (superseded by MOE-003): No gain." in footer()
    assert started("sync", "--offline", "out").code == 0
    assert mark in (folder / "out/issue.md").read_text()
    data = started("status", "--json").data
    assert ([d["id"] for d in data["decisions"]], data["negative_results"]) == (["MOE-002"], [])
    assert "MOE-000" not in started("status").out
    spliced = footer()
    assert started("render").code == 0
    assert footer() == spliced
    # Whoever takes the later decision back gives the earlier one its place again.
    assert started("edit", "MOE-002", "--state", "void").code == 0
    assert "MOE-000 Pad: Pad to 128." in footer()


@pytest.mark.parametrize("how", ["superseded", "void"])
@pytest.mark.sample(1)
def test_a_baseline_whose_entry_does_not_count_is_doubted_everywhere(cli: Cli, folder: Path, how: str) -> None:
    cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s")
    cli("run", "--config", "mode=none", "--", "echo", "RESULT tflops=10")
    cli("run", "--config", "mode=none", "--", "echo", "RESULT tflops=12")
    cli("baseline", "--entry", "MOE-000", "--reason", "first")
    if how == "void":
        answer, why = cli("edit", "MOE-000", "--state", "void"), "void"
    else:
        answer, why = cli("note", "--title", "wrong", "--supersedes", "MOE-000"), "superseded by MOE-003"
    [doubt] = [line for line in answer.err.splitlines() if f"MOE-000, which is {why}; move it " in line]
    for words in (["status"], ["baseline"], ["compare", "MOE-001", "--baseline"], ["sync", "--offline", "out"]):
        assert doubt in cli(*words).err, words
    assert f"- Entry: MOE-000, which is {why}" in (folder / "out/issue.md").read_text()


def test_relations_that_were_written_by_hand(cli: Cli, folder: Path) -> None:
    cli("start", "moe", "--prefix", "MOE")
    for title in ("one", "two"):
        cli("note", "--title", title)
    entries = folder / "logbooks/moe/entries"
    first, second = (at(entries / f"MOE-00{n}.yaml") for n in (0, 1))
    whole = second.read_text()
    second.write_text(whole + '"supersedes": MOE-000\n')
    assert cli("show", "MOE-000", "--json").data["superseded_by"] == ["MOE-001"]
    second.write_text(whole)
    first.write_text(first.read_text() + "supersedes: MOE-001\n")
    [found] = [f for f in cli("doctor", "--json").data["findings"] if f["check"] == "relation"]
    assert found["message"].startswith("MOE-000 supersedes MOE-001")
    assert "logbook edit MOE-000 --supersedes ''" in found["mend"]
    assert cli("edit", "MOE-000", "--supersedes", "").code == 0
    assert "relation" not in cli("doctor").out
