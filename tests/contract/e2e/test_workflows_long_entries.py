"""An entry of many runs: what is said of it is the same with and without the index, and nothing kept is ever stale."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import seams
from tests.breadth import STRESS
from tests.conftest import Cli
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.report.live.live_support import wait_for
from tests.seams import Store

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
    book.index_path.unlink(missing_ok=True)
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
            book.index_path.unlink(missing_ok=True)
            assert started(*words) == warm
    assert book.view_path.read_text() == rendered_without_index(started, book)


def test_a_hand_edit_in_place_is_seen(started: Cli, book: Store) -> None:
    path = book.run_path(ID, 2)
    path.write_text(path.read_text().replace("2.2", "7.7"))
    started("edit", ID, "--next", "b")
    assert "7.7" in book.view_path.read_text()


@pytest.mark.slow
def test_an_unfinished_run_is_looked_at_again(started: Cli, book: Store) -> None:
    words = [*LOGBOOK, "run", "--id", ID, "--", "sleep", "60"]
    with subprocess.Popen(words, cwd=book.root.parent, stderr=subprocess.DEVNULL) as tool:
        wait_for(lambda: book.run_path(ID, 24).exists() and book.run(ID, 24).child)
        for text in "ab":
            started("edit", ID, "--next", text)
            assert started("list", "--json").data[0]["state"] == "running"
        for pid in (tool.pid, book.run(ID, 24).child.pid):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: started("list", "--json").data[0]["state"] == "interrupted")
    started("edit", ID, "--next", "c")
    assert started("show", ID, "--json").data["runs"][-1]["state"] == "interrupted"


@pytest.mark.slow
@pytest.mark.wide
def test_random_histories_say_the_same_with_and_without_the_index(started: Cli, book: Store, tmp_path: Path) -> None:
    chance = random.Random(13)
    offline = tmp_path / "offline"
    number = 23
    for step in range(20 if STRESS else 4):
        what = chance.choice(["add", "add", "many", "change", "remove", "damage", "void", "edit"])
        target = chance.randint(2, number)
        if what in ("add", "many"):
            for _ in range(1 if what == "add" else 4):
                number += 1
                failed, bare = chance.random() < 0.3, chance.random() < 0.3
                write(book, number, size=chance.randint(0, 3), failed=failed, bare=bare)
        elif what == "change" and book.run_folder(ID, target).is_dir():
            write(book, target, size=90 + step, failed=chance.random() < 0.5)
        elif what == "remove":
            shutil.rmtree(book.run_folder(ID, target), ignore_errors=True)
        elif what == "damage" and book.run_folder(ID, target).is_dir():
            path = book.run_path(ID, target)
            kept = path.read_bytes() if path.exists() else b""
            path.write_bytes(kept[: len(kept) // 2])
            assert started("list").out == _cold(started, book, "list")
            path.write_bytes(kept or b"{}")
        started("edit", ID, "--state", "void" if what == "void" else "computed")
        started("edit", ID, "--next", f"step {step}")
        assert book.view_path.read_text() == rendered_without_index(started, book), (step, what)
        started("list")
        for words in (["list"], ["status"], ["show", ID, "--json"], ["table", ID, "--csv"], ["doctor", "--json"]):
            warm = started(*words)
            assert warm.out == _cold(started, book, *words), (step, what, words)
        warm_files = _offline(started, offline)
        book.index_path.unlink(missing_ok=True)
        assert _offline(started, offline) == warm_files


def _cold(started: Cli, book: Store, *words: str) -> str:
    kept = book.index_path.read_bytes() if book.index_path.exists() else None
    book.index_path.unlink(missing_ok=True)
    found = started(*words).out
    if kept is not None:
        # In its own place again, as no copy of it would be.
        book.index_path.unlink(missing_ok=True)
        started("list")
    return found


def _offline(started: Cli, folder: Path) -> dict[str, str]:
    answer = started("sync", "--offline", str(folder), "--repo", "acme/moe")
    assert answer.code == 0, answer.err
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_any_number_of_repeats_is_made_one_by_one(started: Cli, folder: Path) -> None:
    """In bounded memory; the first one asks for the end of all."""
    limited = ["sh", "-c", 'ulimit -v 4000000; exec "$@"', "sh", sys.executable, "-m", "logbook_agent"]
    words = [*limited, "run", "--repeat", "1000000000", "--", "sh", "-c", "kill -TERM $PPID; exec sleep 60"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 130, done.stderr
    assert len(started("show", "MOE-000", "--json").data["runs"]) == 1
