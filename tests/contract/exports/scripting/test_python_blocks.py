"""A block of Python, and functions, as runs: `book.experiment` and `book.ab`; and that the API answers as the command
line does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.seams import Logbook, ab, experiment, log, sync

# Set for every command that `logbook` runs.
INSIDE = ("LOGBOOK_ENTRY_ID", "LOGBOOK_RUN")


@pytest.fixture
def book(folder: Path) -> Logbook:
    return Logbook.start("moe", prefix="MOE", metrics=["loss:min", "time_s:min:s"], stop_criteria=["loss below 1"])


def test_a_block_is_a_run(book: Logbook, capsys: pytest.CaptureFixture[str]) -> None:
    streams = sys.stdout, sys.stderr
    with experiment(book, title="Train", config={"lr": 0.1}, label="A") as x:
        print("visible")
        print("aside", file=sys.stderr)
        x.log(loss=2.5, note="quiet")
        log(time_s=0.5)
        assert book.record("MOE-000").state == "running"
        assert os.environ[INSIDE[0]] == "MOE-000"
    assert (sys.stdout, sys.stderr) == streams
    assert not {*INSIDE} & {*os.environ}
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("visible\nRESULT time_s=0.5\n", "aside\n")
    [status] = book.record("MOE-000").runs
    run = status.run
    assert run == x.run
    assert (status.state, run.label, run.exit.code) == ("finished", "A", 0)
    assert run.duration_s is not None
    assert run.output is not None
    assert {"visible", "aside", "RESULT loss=2.5 note=quiet"} <= {*run.output.tail}
    assert [(row.config, sorted(row.metrics)) for row in run.rows] == [
        ({"lr": 0.1}, ["loss"]),
        ({"lr": 0.1}, ["time_s"]),
    ]
    # As it was typed, and on which machine, with which packages.
    assert run.argv == tuple(sys.orig_argv)
    assert "logbook-agent" in run.software
    assert run.host.cores is not None
    assert "MOE-000 Train" in book.view.read_text()


def test_a_block_within_another_one_has_its_rows_alone(book: Logbook) -> None:
    with experiment(book, title="Outer") as outer:
        with experiment(book, title="Inner") as inner:
            log(loss=5)
        log(loss=7)
    for block, loss in ((inner, 5.0), (outer, 7.0)):
        assert block.run is not None
        assert [row.metrics["loss"].samples for row in block.run.rows] == [(loss,)]


def test_a_block_that_fails(book: Logbook) -> None:
    x = experiment(book, title="Fails")
    with pytest.raises(ZeroDivisionError), x:  # noqa: PT012 - a block of two statements
        x.log(loss=3)
        1 / 0  # noqa: B018
    assert x.run is not None
    assert x.run.output is not None
    assert x.run.output.error_tail[-1] == "ZeroDivisionError: division by zero"
    assert len(x.run.rows) == 1
    record = book.record("MOE-000")
    assert (record.state, x.run.exit.code) == ("failed", 1)


@pytest.mark.parametrize(
    ("error", "ended"),
    [(KeyboardInterrupt(), (None, "SIGINT", True)), (SystemExit(3), (3, None, False))],
)
def test_how_a_block_is_left(book: Logbook, error: BaseException, ended: tuple[object, ...]) -> None:
    with pytest.raises(type(error)), experiment(book) as x:
        raise error
    assert x.run is not None
    assert (x.run.exit.code, x.run.exit.signal, x.run.exit.interrupted) == ended


def test_a_block_is_open_once(book: Logbook) -> None:
    x = experiment(book)
    with pytest.raises(Exception, match="not open"):
        x.log(loss=1)
    with x:
        pass
    with pytest.raises(Exception, match="not open"):
        x.log(loss=1)
    with pytest.raises(Exception, match="already"), x:
        pass
    with experiment(book, entry_id="MOE-000", label="B") as more:
        more.log(loss=1)
    assert [status.run.label for status in book.record("MOE-000").runs] == [None, "B"]


def test_secrets_in_a_block_are_hidden(book: Logbook, folder: Path) -> None:
    secret = "hf_" + "Q7vX2mLp9RkT4wYb8NcZ1sDf6GhJ3eAu5K"
    with experiment(book, title="Secret"):
        print("token", secret)
    texts = [path.read_text() for path in (folder / "logbooks").rglob("*") if path.is_file()]
    assert [text for text in texts if secret in text] == []


# -- functions -------------------------------------------------------------------------------------------


WORK = """\
import time
def slow():
    print("a line left open", end=" ")
    time.sleep(0.02)
"""
SCRIPT = """\
from logbook_agent import Logbook
from logbook_agent.exports.api import ab
import work
def own(): pass
if __name__ == "__main__":
    book = Logbook.open()
    print(ab(book, {"slow": work.slow, "own": own}, pairs=2, calls=3, warm_up=1, metrics=["time_s"]).data())
"""


def test_functions_in_processes_of_their_own(book: Logbook, folder: Path) -> None:
    (folder / "work.py").write_text(WORK)
    (folder / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "'within_process': None" in done.stdout
    runs = [status.run for status in book.record("MOE-000").runs]
    words = ("slow=work:slow", "own=script.py:own", "--warm-up", "1", "--calls", "3")
    assert {run.argv[3] for run in runs} == {"slow", "own"}
    assert {run.argv[4:] for run in runs} == {words}
    assert {len(run.rows[0].metrics["time_s"].samples) for run in runs} == {3}
    finding = book.compare("MOE-000")["answer"]["findings"][0]  # type: ignore[index]
    assert (finding["pairs"], finding["metric"]) == (2, "time_s")
    assert finding["change"] < -0.5


def test_another_function_of_the_same_name_asks_another_question(book: Logbook) -> None:
    def returning(loss: float) -> Callable[[], object]:
        return lambda: {"loss": loss}

    def compared(b: float, **more: Any) -> tuple[str, object]:
        found = ab(book, {"a": returning(1.0), "b": returning(b)}, max_pairs=2, metrics=["loss"], **more)
        return found.entry_id, found.data()["pairs"]

    # Called again with the same functions, it adds pairs to its entry.
    assert [compared(b) for b in (2.0, 0.5, 2.0)] == [("MOE-000", 2), ("MOE-001", 2), ("MOE-000", 4)]
    assert compared(2.0, new=True) == ("MOE-002", 2)


def test_a_fixed_number_of_pairs_of_functions_takes_no_more(book: Logbook) -> None:
    functions = {"a": lambda: {"loss": 1.0}, "b": lambda: {"loss": 2.0}}
    assert "to continue" not in str(ab(book, functions, pairs=2, metrics=["loss"]))
    with pytest.raises(Exception, match="judged once") as refused:
        ab(book, functions, pairs=2, metrics=["loss"])
    assert getattr(refused.value, "hint", "") == "ab(book, ..., new=True)"
    more = ab(book, functions, max_pairs=2, metrics=["loss"], new=True)
    assert (more.entry_id, str(more).splitlines()[0][-37:]) == ("MOE-001", "ab(book, ...) with the same functions")


def test_a_line_left_open_hides_no_result(book: Logbook) -> None:
    with experiment(book, title="Open line") as x:
        print("epoch 1", end=" ")
        x.log(loss=2.5)
    found = ab(book, {"a": lambda: print("x", end=""), "b": lambda: None}, pairs=1, metrics=["time_s"])
    rows = [status.run.rows for entry in ("MOE-000", found.entry_id) for status in book.record(entry).runs]
    assert [len(row) for row in rows] == [1] * 3


def test_functions_that_cannot_be_imported(book: Logbook, capfd: pytest.CaptureFixture[str]) -> None:
    def noisy() -> dict[str, float]:
        print("inside")
        return {"loss": 1.0}

    found = ab(book, {"a": noisy, "b": lambda: {"loss": 2.0}}, pairs=2, metrics=["loss"])
    assert found.within_process.startswith("a ")
    runs = [status.run for status in book.record(found.entry_id).runs]
    assert {run.rows[0].metrics["loss"].samples for run in runs} == {(1.0,), (2.0,)}
    assert [run.output.tail[0] for run in runs if run.output and run.config == {"function": "a"}] == ["inside"] * 2
    assert "inside" not in capfd.readouterr().out


def test_names_and_places_of_an_ab(book: Logbook, monkeypatch: pytest.MonkeyPatch) -> None:
    for names in (["a"], ["a", "b,c"], ["a", "null"]):
        with pytest.raises(Exception):  # noqa: B017, PT011 - of which kind is no promise
            ab(book, dict.fromkeys(names, lambda: None))
    for name in INSIDE:
        monkeypatch.setenv(name, "1")
    with pytest.raises(Exception, match="within a run"):
        ab(book, {"a": lambda: None, "b": lambda: None})
    assert book.records() == ()


def test_a_function_that_fails_ends_the_ab(book: Logbook) -> None:
    found = ab(book, {"a": lambda: None, "b": lambda: {}["x"]}, metrics=["time_s"])
    assert found.made.stop == "failed"
    assert "KeyError: 'x'" in str(found)


# -- as the command line answers ---------------------------------------------------------------------------


def test_it_answers_as_the_command_line_does(book: Logbook, cli: Cli) -> None:
    for mode, loss in (("x", 1), ("y", 2)):
        book.run(["echo", f"RESULT loss={loss}"], config={"mode": mode}, label=mode)
    assert book.table(pivot="mode", delta=True) == cli("table", "--pivot", "mode", "--delta", "--json").data
    found = book.compare("MOE-000", "MOE-001", axis="mode")
    assert found == cli("compare", "MOE-000", "MOE-001", "--axis", "mode", "--json").data
    assert book.criteria() == cli("criteria", "--json").data
    with pytest.raises(Exception, match=re.escape(cli("sync", "--json").error["message"])):
        sync(book)


def test_a_logbook_that_was_started_is_the_one_that_is_used(book: Logbook) -> None:
    other = Logbook.start("other", prefix="OTHER")
    assert other.run(["true"]).entry.id == "OTHER-000"
    assert book.run(["true"]).entry.id == "MOE-000"


def test_a_record_that_cannot_be_written_is_told_before_the_block(book: Logbook, folder: Path) -> None:
    (folder / "logbooks/moe/runs").write_text("in the way")
    with pytest.raises(Exception, match="cannot"), experiment(book):
        raise AssertionError("not to be reached")
