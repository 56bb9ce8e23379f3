"""What attacks on the store once broke."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.views import blocks

pytestmark = pytest.mark.slow

RUN = ("run", "--", "sh", "-c", "echo METRIC tflops=1.5")


@pytest.fixture
def three(started: Cli) -> Cli:
    assert started(*RUN).code == 0
    assert started("note", "--title", "a note", "--next", "go on").code == 0
    assert started(*RUN).code == 0
    return started


def test_an_id_whose_runs_are_left_is_not_given_out_again(three: Cli, folder: Path, git: object) -> None:
    (folder / "logbooks/moe/entries/MOE-002.yaml").unlink()
    for path in (folder / ".git/logbook-agent").rglob("MOE-*"):
        path.unlink()  # as in a clone, which has no reservations
    assert "noted MOE-003" in three("note", "--title", "new").out


def test_an_entry_that_cannot_be_opened_stops_nobody(three: Cli, folder: Path) -> None:
    broken = folder / "logbooks/moe/entries/MOE-002.yaml"
    broken.unlink()
    broken.symlink_to("nowhere")
    for words in (
        ["run", "--id", "MOE-000", "--", "true"],
        ["edit", "MOE-000", "--next", "q"],
        ["list"],
        ["status"],
        ["render"],
        ["show", "MOE-000"],
    ):
        answer = three(*words)
        assert answer.code == 0, (words, answer.err)
    assert "MOE-002" in three("list").err
    assert three("show", "MOE-002").code == 3


EDITS = {
    "a marker removed": lambda v: v.replace("<!-- logbook:end MOE-001 -->\n", ""),
    "a marker indented": lambda v: v.replace("<!-- logbook:end MOE-001 -->", "  <!-- logbook:end MOE-001 -->"),
    "a block doubled": lambda v: v + v[blocks(v)["MOE-001"].start : blocks(v)["MOE-001"].end] + "\n",
    "no line end at the end": lambda v: v.rstrip("\n") + "TAIL",
    "a byte order mark": lambda v: "\ufeff" + v,
    "a stray end": lambda v: v + "<!-- logbook:end MOE-009 -->\n",
    "a conflict": lambda v: v.replace(
        "<!-- logbook:block MOE-002",
        "<<<<<<< HEAD\nours between\n=======\ntheirs\n>>>>>>> b\n\n<!-- logbook:block MOE-002",
    ),
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("then", ["note", "render"])
@pytest.mark.sample(4)
def test_hand_edits_survive_a_view_that_is_broken_elsewhere(three: Cli, folder: Path, name: str, then: str) -> None:
    view = folder / "logbooks/moe.md"
    text = view.read_text().replace("- Next action: go on", "- Next action: MY WORDS")
    text = text.replace("<!-- logbook:block MOE-000", "between, by hand\n\n<!-- logbook:block MOE-000")
    view.write_text(EDITS[name](text))
    words = ["note", "--title", "the newest"] if then == "note" else ["render"]
    assert three(*words).code == 0
    after = view.read_text()
    assert "MY WORDS" in after
    assert "between, by hand" in after
    assert ("TAIL" in after) == (name == "no line end at the end")
    assert ("ours between" in after) == (name == "a conflict")
    assert "<<<<<<<" not in after
    assert {"header", "MOE-000", "MOE-001", "MOE-002"} <= blocks(after.removeprefix("\ufeff")).keys()
    assert ("the newest" in after) == (then == "note")
    again = view.read_text()
    assert three("render").code == 0
    assert view.read_text() == again, "and then it is at rest"


@pytest.mark.slow
def test_an_index_is_not_deceived_by_a_set_back_time(three: Cli, folder: Path) -> None:
    time.sleep(1.1)
    assert "a note" in three("list").out
    entry = folder / "logbooks/moe/entries/MOE-001.yaml"
    before = entry.stat()
    entry.write_text(entry.read_text().replace("a note", "A NOTE"))
    os.utime(entry, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "A NOTE" in three("list").out


def test_a_former_id_in_a_relation_becomes_the_present_one(three: Cli, folder: Path) -> None:
    entry = folder / "logbooks/moe/entries/MOE-001.yaml"
    entry.write_text(entry.read_text() + "aliases:\n- MOE-077\n")
    assert three("note", "--title", "corrected", "--supersedes", "MOE-077").code == 0
    assert "supersedes: MOE-001" in (folder / "logbooks/moe/entries/MOE-003.yaml").read_text()
    assert "- Superseded by: MOE-003" in three("show", "MOE-077").out


@pytest.mark.slow
def test_a_run_beside_an_orphan_says_so(three: Cli, folder: Path) -> None:
    tool = subprocess.Popen(
        [sys.executable, "-m", "logbook_agent", "run", "--", "sleep", "30"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    record = folder / "logbooks/moe/runs/MOE-003/01/run.json"
    until = time.monotonic() + 20
    while not (record.exists() and '"child"' in record.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    tool.send_signal(signal.SIGKILL)
    tool.wait()
    try:
        beside = three("run", "--json", "--", "true")
        [problem] = [p["text"] for p in beside.data["runs"][0]["problems"]]
        assert problem.startswith("contended: MOE-003 run 1 ")
    finally:
        three("doctor", "--stop", "MOE-003")
    assert three("run", "--json", "--", "true").data["runs"][0]["problems"] == []
