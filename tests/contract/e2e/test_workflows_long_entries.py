"""An entry of many runs: what is said of it is the same with and without the index, and nothing kept is ever stale."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.model.entry import Entry, Field
from logbook_agent.model.run import Code, Exit, Failure, Host, Measurement, Output, Process, Row, Run
from logbook_agent.store.book import Book
from logbook_agent.store.processes import create_time
from tests.breadth import STRESS
from tests.conftest import Cli
from tests.seams import Store

ID = "MOE-000"
# Opens of records by the command line, in a process of its own.
COUNTING = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" and str(args[0]).endswith("run.json") else None)
from tests.seams import logbook as main
sys.stdout = sys.stderr
main(sys.argv[1:])
sys.__stdout__.write(str(len(set(map(str, opened)))))
"""  # noqa: E501


@pytest.fixture(autouse=True)
def _kept_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has just changed is kept, too: the tests wait for the clock themselves."""
    monkeypatch.setattr("logbook_agent.store.index.RACY_NS", -(10**9))


def a_run(number: int, *, size: int = 1, failed: bool = False, entry: str = ID, bare: bool = False) -> Run:
    row = Row(
        config={"size": size},
        metrics={} if failed else {"tflops": Measurement(samples=(2.0 + number / 10,), unit="TF/s", direction="max")},
        failed=Failure(reason="out_of_memory") if failed else None,
    )
    return Run(
        entry=entry,
        run=number,
        argv=("bench", "--size", str(size)),
        cwd=".",
        code=Code(commit="a" * 40, branch="main", identity="b" * 64, dirty=False, diff_bytes=0),
        host=Host(name="host", cores=2),
        started="2026-02-10T10:43:00+00:00",
        ended="2026-02-10T10:44:00+00:00",
        duration_s=1.0,
        exit=Exit(code=int(bare and failed)),
        output=Output(bytes=8, lines=1, sha256="c" * 64, tail=("the end",)),
        rows=() if bare else (row,),
    )


def write(book: Book, run: Run) -> None:
    book.run_folder(run.entry, run.run).mkdir(parents=True, exist_ok=True)
    book.write_run(run)


@pytest.fixture
def book(started: Cli, folder: Path) -> Book:
    """A logbook with an entry of 23 runs."""
    found = Store(folder)
    entry = Entry(
        id=ID, title="Many", opened="2026-02-10T10:43:00+00:00", fields=(Field(label="Hypothesis", text="x"),)
    )
    found.write_entry(entry)
    for number in range(1, 24):
        write(found, a_run(number, size=number % 7))
    started("render")
    return found


def index(book: Book) -> Path:
    return Store(book.root.parent, book.topic).index_path


def block(book: Book) -> str:
    return book.view_path.read_text()


def rendered_without_index(started: Cli, book: Book) -> str:
    """The view as it is when everything is made from the records alone."""
    before = block(book)
    index(book).unlink(missing_ok=True)
    started("render")
    after = block(book)
    book.view_path.write_text(before)
    return after


@pytest.mark.parametrize(
    "change",
    [
        lambda b: write(b, a_run(3, failed=True)),
        lambda b: shutil.rmtree(b.run_folder(ID, 4)),
        lambda b: (b.run_folder(ID, 5) / "run.json").write_text("{"),
        lambda b: (b.run_folder(ID, 6) / "run.json").unlink(),
    ],
    ids=["changed", "gone", "damaged", "without a record"],
)
@pytest.mark.slow
def test_a_change_of_an_old_run_is_seen(started: Cli, book: Book, change: Callable[[Book], object]) -> None:
    started("edit", ID, "--next", "a")
    change(book)
    for words in (["edit", ID, "--next", "b"], ["list"], ["status"], ["doctor"], ["show", ID, "--json"]):
        warm = started(*words)
        if words[0] != "edit":
            index(book).unlink(missing_ok=True)
            assert started(*words) == warm
    assert block(book) == rendered_without_index(started, book)


def test_a_hand_edit_in_place_is_seen(started: Cli, book: Book) -> None:
    path = book.run_folder(ID, 2) / "run.json"
    path.write_text(path.read_text().replace("2.2", "7.7"))
    started("edit", ID, "--next", "b")
    assert "7.7" in block(book)


@pytest.mark.slow
def test_an_unfinished_run_is_looked_at_again(started: Cli, book: Book) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        alive = Process(pid=other.pid, started=create_time(other.pid))
        host = Host(name=os.uname().nodename)
        write(book, dataclasses.replace(a_run(7, size=70), exit=None, ended=None, tool=alive, host=host, output=None))
        started("edit", ID, "--next", "a")
        assert "running since" in block(book)
        started("edit", ID, "--next", "b")
        assert started("list", "--json").data[0]["state"] == "running"
    finally:
        other.kill()
        other.wait()
    started("edit", ID, "--next", "c")
    assert "interrupted: tool and command are gone" in block(book)
    assert started("list", "--json").data[0]["state"] == "interrupted"


@pytest.mark.slow
@pytest.mark.wide
def test_random_histories_say_the_same_with_and_without_the_index(started: Cli, book: Book, tmp_path: Path) -> None:
    chance = random.Random(13)
    offline = tmp_path / "offline"
    number = 23
    for step in range(20 if STRESS else 4):
        what = chance.choice(["add", "add", "many", "change", "remove", "damage", "void", "edit"])
        target = chance.randint(1, number)
        if what in ("add", "many"):
            for _ in range(1 if what == "add" else 4):
                number += 1
                failed, bare = chance.random() < 0.3, chance.random() < 0.3
                write(book, a_run(number, size=chance.randint(0, 3), failed=failed, bare=bare))
        elif what == "change" and book.run_folder(ID, target).is_dir():
            write(book, a_run(target, size=90 + step, failed=chance.random() < 0.5))
        elif what == "remove":
            shutil.rmtree(book.run_folder(ID, target), ignore_errors=True)
        elif what == "damage" and book.run_folder(ID, target).is_dir():
            path = book.run_folder(ID, target) / "run.json"
            kept = path.read_bytes() if path.exists() else b""
            path.write_bytes(kept[: len(kept) // 2])
            assert started("list").out == _cold(started, book, "list")
            path.write_bytes(kept or b"{}")
        started("edit", ID, "--state", "void" if what == "void" else "computed")
        started("edit", ID, "--next", f"step {step}")
        assert block(book) == rendered_without_index(started, book), (step, what)
        started("list")
        for words in (["list"], ["status"], ["show", ID, "--json"], ["table", ID, "--csv"], ["doctor", "--json"]):
            warm = started(*words)
            assert warm.out == _cold(started, book, *words), (step, what, words)
        warm_files = _offline(started, offline)
        index(book).unlink(missing_ok=True)
        assert _offline(started, offline) == warm_files


def _cold(started: Cli, book: Book, *words: str) -> str:
    kept = index(book).read_bytes() if index(book).exists() else None
    index(book).unlink(missing_ok=True)
    found = started(*words).out
    if kept is not None:
        # In its own place again, as no copy of it would be.
        index(book).unlink(missing_ok=True)
        started("list")
    return found


def _offline(started: Cli, folder: Path) -> dict[str, str]:
    answer = started("sync", "--offline", str(folder), "--repo", "acme/moe")
    assert answer.code == 0, answer.err
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.slow
@pytest.mark.wide
def test_only_entries_that_changed_are_opened(started: Cli, book: Book) -> None:
    """In processes of their own, with the real limits. (`status` reads runs where it proposes a comparison.)"""
    for number in range(24, 301):
        write(book, a_run(number, size=number % 7))
    subprocess.run(["sleep", "1.2"], check=True)

    def opened(*words: str) -> int:
        done = subprocess.run([sys.executable, "-c", COUNTING, *words], capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert opened("list") == 300
    assert opened("list") == 0
    path = book.run_folder(ID, 150) / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"label": "other"}))
    subprocess.run(["sleep", "1.2"], check=True)
    assert opened("list") == 300
    assert opened("list") == 0


def test_any_number_of_repeats_is_made_one_by_one(started: Cli, folder: Path) -> None:
    """In bounded memory; the first one asks for the end of all."""
    limited = ["sh", "-c", 'ulimit -v 4000000; exec "$@"', "sh", sys.executable, "-m", "logbook_agent"]
    words = [*limited, "run", "--repeat", "1000000000", "--", "sh", "-c", "kill -TERM $PPID; exec sleep 60"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 130, done.stderr
    assert "interrupted after 0 of 1000000000 runs" in done.stderr
    assert len(started("show", "MOE-000", "--json").data["runs"]) == 1
