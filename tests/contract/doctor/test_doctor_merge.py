"""Where git stops, a person resolves the file; `doctor` says where it is and what to type."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.doctor.conftest import Found
from tests.contract.store.clones import Clone, begun
from tests.stored import at

pytestmark = pytest.mark.slow

ENTRY = "logbooks/moe/entries/MOE-000.yaml"


@pytest.fixture
def ours(cli: Cli, clock: FixedClock, folder: Path) -> Clone:
    return begun(cli, clock, folder)


def merged(ours: Clone, theirs: Clone) -> None:
    for clone in (ours, theirs):
        clone.commit()
    ours.git("fetch", "-q", str(theirs.place), "main")
    words = ["git", "merge", "-q", "FETCH_HEAD"]
    assert subprocess.run(words, cwd=ours.place, capture_output=True, check=False).returncode == 1


def test_an_entry_that_both_sides_edited(ours: Clone, findings: Callable[..., Found]) -> None:
    theirs = ours.cloned("theirs")
    ours.done("edit", "MOE-000", "--interpretation", "ours")
    theirs.done("edit", "MOE-000", "--interpretation", "theirs")
    merged(ours, theirs)
    path = at(ours.place / ENTRY)
    before = path.read_text()
    for options in ([], ["--fix"]):
        [found] = [f for f in findings(*options) if f["check"] == "merge"]
        assert found["line"] == 1 + before.partition("<<<<<<< ")[0].count("\n")
        assert found["mend"].endswith(f"git add -- logbooks/moe/entries/{path.name}")
    assert path.read_text() == before, "what a person has to decide is left alone"
    path.write_text(re.sub(r"<<<<<<< .*\n((?:.*\n)*?)=======\n(?:.*\n)*?>>>>>>> .*\n", r"\1", before))
    ours.git(*found["mend"].partition("git ")[2].split())
    ours.git("commit", "-qm", "joined")
    ours.done("render")
    assert [f for f in findings() if f["severity"] != "note"] == []
    assert "Interpretation: ours" in ours.done("show", "MOE-000").out


def test_an_entry_that_one_side_removed(ours: Clone, findings: Callable[..., Found]) -> None:
    ours.done("note", "--title", "short")
    ours.commit()
    theirs = ours.cloned("theirs")
    at(ours.place / "logbooks/moe/entries/MOE-001.yaml").unlink()
    theirs.done("edit", "MOE-001", "--interpretation", "of use")
    merged(ours, theirs)
    [found] = [f for f in findings() if f["check"] == "merge"]
    assert "one side removed it" in found["message"]
    ours.git(*found["mend"].partition("git ")[2].split())
    ours.git("commit", "-qm", "joined")
    assert "of use" in ours.done("show", "MOE-001").out


def test_conflict_markers_that_were_committed(ours: Clone, findings: Callable[..., Found]) -> None:
    path = at(ours.place / ENTRY)
    path.write_text(path.read_text() + "<<<<<<< ours\nextra: 1\n=======\nextra: 2\n>>>>>>> theirs\n")
    ours.commit()
    [found] = [f for f in findings("--fix") if f["check"] == "merge"]
    assert "holds conflict markers" in found["message"]
    assert found["mend"].endswith(f"git add -- logbooks/moe/entries/{path.name}")
