"""An entry of many runs: what is said of it is the same with and without the index, and nothing kept is ever stale."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import seams
from tests.conftest import Cli
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.report.live.live_support import wait_for
from tests.seams import Store, groups_in

ID = "MOE-000"


@pytest.fixture(autouse=True)
def _kept_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has just changed is kept, too: the tests wait for the clock themselves."""
    seams.set_size(monkeypatch, "age of files that are remembered, ns", -(10**9))


def write(book: Store, number: int, *, size: int, failed: bool = False, bare: bool = False) -> None:
    """The record of a run, as a pull may bring it: like that of run 1, with another case and another result."""
    data: dict[str, Any] = json.loads(book.run_path(ID, 1).read_text())
    [row] = data["rows"]
    row["config"] = {"size": size}
    if failed:
        row |= {"metrics": {}, "failed": {"reason": "out_of_memory"}}
    else:
        row["metrics"]["tflops"]["samples"] = [2 + number / 10]
    data |= {"run": number, "rows": [] if bare else [row], "exit": {"code": int(bare and failed)}}
    path = book.run_path(ID, number)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(data))


@pytest.fixture
def book(started: Cli, folder: Path) -> Store:
    """A logbook with an entry of 23 runs."""
    found = Store(folder)
    assert started("run", "--title", "Many", "--hypothesis", "x", "--", "echo", "RESULT tflops=2.1").code == 0
    for number in range(2, 24):
        write(found, number, size=number % 7)
    started("render")
    return found


def rendered_without_index(started: Cli, book: Store) -> str:
    """The view as it is when everything is made from the records alone."""
    before = book.view_path.read_text()
    book.cache_path.unlink(missing_ok=True)
    started("render")
    after = book.view_path.read_text()
    book.view_path.write_text(before)
    return after


@pytest.mark.parametrize(
    "change",
    [
        lambda b: write(b, 3, size=1, failed=True),
        lambda b: shutil.rmtree(b.run_folder(ID, 4)),
        lambda b: b.run_path(ID, 5).write_text("{"),
        lambda b: b.run_path(ID, 6).unlink(),
    ],
    ids=["changed", "gone", "damaged", "without a record"],
)
@pytest.mark.slow
def test_a_change_of_an_old_run_is_seen(started: Cli, book: Store, change: Callable[[Store], object]) -> None:
    started("edit", ID, "--next", "a")
    change(book)
    for words in (["edit", ID, "--next", "b"], ["list"], ["status"], ["doctor"], ["show", ID, "--json"]):
        warm = started(*words)
        if words[0] != "edit":
            book.cache_path.unlink(missing_ok=True)
            assert started(*words) == warm
    assert book.view_path.read_text() == rendered_without_index(started, book)


@pytest.mark.slow
def test_an_unfinished_run_is_looked_at_again(started: Cli, book: Store) -> None:
    words = [*LOGBOOK, "run", "--id", ID, "--", "sleep", "60"]
    with subprocess.Popen(words, cwd=book.root.parent, stderr=subprocess.DEVNULL) as tool:
        wait_for(lambda: groups_in(book.folder))
        for text in "ab":
            started("edit", ID, "--next", text)
            assert started("list", "--json").data[0]["state"] == "running"
        for pid in (tool.pid, *groups_in(book.folder)):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: started("list", "--json").data[0]["state"] == "interrupted")
    started("edit", ID, "--next", "c")
    assert started("show", ID, "--json").data["runs"][-1]["state"] == "interrupted"


@pytest.mark.slow
def test_an_entry_in_brief_names_the_runs_that_failed_and_the_newest(started: Cli, book: Store) -> None:
    for number in range(24, 400):
        write(book, number, size=number, failed=number in (30, 40))
    answer = started("show", ID, "--json")
    shown = [run["run"] for run in answer.data["runs"]]
    assert len(answer.out) <= 9_000
    assert shown == [30, 40, *range(401 - len(shown) + 1, 400)]
    assert len(shown) > 10
    assert answer.data["left_out"]["runs"] == 399 - len(shown)
