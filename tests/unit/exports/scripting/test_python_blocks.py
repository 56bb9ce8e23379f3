"""A block of Python, and functions, as runs: `book.experiment` and `book.ab`; and that the API answers as the command
line does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import logbook_agent
from logbook_agent import INSIDE, Logbook
from logbook_agent.exports.scripting.blocks import ExperimentBlock
from logbook_agent.exports.scripting.functions import WITHIN_PROCESS, place_of
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.run import Exit


@pytest.fixture
def book(folder: Path) -> Logbook:
    return Logbook.start("moe", prefix="MOE", metrics=["loss:min", "time_s:min:s"], stop_criteria=["loss below 1"])


def test_a_block_is_a_run(book: Logbook, capsys: pytest.CaptureFixture[str]) -> None:
    streams = sys.stdout, sys.stderr
    with book.experiment(title="Train", config={"lr": 0.1}, label="A") as x:
        print("visible")
        print("aside", file=sys.stderr)
        x.log(loss=2.5, note="quiet")
        logbook_agent.log(time_s=0.5)
        assert book.record("MOE-000").state == "running"
        assert os.environ[INSIDE[0]] == "MOE-000"
    assert (sys.stdout, sys.stderr) == streams
    assert not {*INSIDE} & {*os.environ}
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("visible\nRESULT time_s=0.5\n", "aside\n")
    [status] = book.record("MOE-000").runs
    run = status.run
    assert run == x.run
    assert (status.state, run.label, run.exit) == ("finished", "A", Exit(code=0))
    assert run.duration_s is not None
    assert run.output is not None
    assert {"visible", "aside", "RESULT loss=2.5 note=quiet"} <= {*run.output.tail}
    assert [(row.config, sorted(row.metrics)) for row in run.rows] == [
        ({"lr": 0.1}, ["loss"]),
        ({"lr": 0.1}, ["time_s"]),
    ]
    # As it was typed, and on which machine, with which packages.
    assert run.argv == tuple(sys.orig_argv)
    assert run.software["logbook-agent"] == logbook_agent.__version__
    assert run.host.cores is not None
    assert "MOE-000 Train" in book.view.read_text()


def test_a_block_within_another_one_has_its_rows_alone(book: Logbook) -> None:
    with book.experiment(title="Outer") as outer:
        with book.experiment(title="Inner") as inner:
            logbook_agent.log(loss=5)
        logbook_agent.log(loss=7)
    for block, loss in ((inner, 5.0), (outer, 7.0)):
        assert block.run is not None
        assert [row.metrics["loss"].samples for row in block.run.rows] == [(loss,)]


def test_a_block_that_fails(book: Logbook) -> None:
    x = book.experiment(title="Fails")
    with pytest.raises(ZeroDivisionError), x:
        _fails(x)
    assert x.run is not None
    assert x.run.output is not None
    assert x.run.output.error_tail[-1] == "ZeroDivisionError: division by zero"
    assert len(x.run.rows) == 1
    record = book.record("MOE-000")
    assert (record.state, x.run.exit) == ("failed", Exit(code=1))


def _fails(x: ExperimentBlock) -> float:
    x.log(loss=3)
    return 1 / 0


@pytest.mark.parametrize(
    ("error", "ended"),
    [(KeyboardInterrupt(), Exit(signal="SIGINT", interrupted=True)), (SystemExit(3), Exit(code=3))],
)
def test_how_a_block_is_left(book: Logbook, error: BaseException, ended: Exit) -> None:
    with pytest.raises(type(error)), book.experiment() as x:
        raise error
    assert x.run is not None
    assert x.run.exit == ended


def test_a_block_is_open_once(book: Logbook) -> None:
    x = book.experiment()
    with pytest.raises(UsageError, match="the block is not open"):
        x.log(loss=1)
    with x:
        pass
    with pytest.raises(UsageError, match="the block is not open"):
        x.log(loss=1)
    with pytest.raises(UsageError, match="this block has run already"), x:
        pass
    with book.experiment(entry_id="MOE-000", label="B") as more:
        more.log(loss=1)
    assert [status.run.label for status in book.record("MOE-000").runs] == [None, "B"]


def test_a_record_that_cannot_be_written_is_told(book: Logbook, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the block is carried out, so that nothing is lost."""
    monkeypatch.setattr("logbook_agent.exports.scripting.blocks.run_here", _refused)
    with pytest.raises(LogbookError, match="disk full"), book.experiment():
        raise AssertionError("not to be reached")


def test_what_stops_the_run_stops_the_block(book: Logbook, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("logbook_agent.exports.scripting.blocks.here", _refused)
        with pytest.raises(LogbookError, match="disk full"), book.experiment():
            raise AssertionError("not to be reached")
    block = book.experiment()
    monkeypatch.setattr(block._has_begun, "wait", _stopped)
    with pytest.raises(KeyboardInterrupt), block:
        raise AssertionError("not to be reached")
    block._thread.join(timeout=60)
    assert block.run is not None
    assert block.run.exit == Exit(signal="SIGINT", interrupted=True)


def _stopped(*_: object) -> None:
    raise KeyboardInterrupt


def _refused(*_: object) -> None:
    raise LogbookError("disk full")


def test_functions_that_cannot_be_imported(book: Logbook, capfd: pytest.CaptureFixture[str]) -> None:
    def noisy() -> dict[str, float]:
        print("inside")
        return {"loss": 1.0}

    found = book.ab({"a": noisy, "b": lambda: {"loss": 2.0}}, repeat=2, metrics=["loss"])
    assert found.within_process == "a cannot be imported by another process"
    assert WITHIN_PROCESS in str(found)
    assert "to continue" not in str(found)
    runs = [status.run for status in book.record(found.entry_id).runs]
    assert {run.rows[0].metrics["loss"].samples for run in runs} == {(1.0,), (2.0,)}
    assert [run.output.tail[0] for run in runs if run.output and run.config == {"function": "a"}] == ["inside"] * 2
    assert "inside" not in capfd.readouterr().out


def test_what_can_be_imported() -> None:
    assert place_of(place_of) == "logbook_agent.exports.scripting.functions:place_of"
    assert place_of(Logbook.start) is None
    assert place_of(lambda: None) is None


def test_names_and_places_of_an_ab(book: Logbook, monkeypatch: pytest.MonkeyPatch) -> None:
    for names in (["a"], ["a", "b,c"], ["a", "null"]):
        with pytest.raises(UsageError):
            book.ab(dict.fromkeys(names, lambda: None))
    for name in INSIDE:
        monkeypatch.setenv(name, "1")
    with pytest.raises(UsageError, match="an A/B cannot begin within a run"):
        book.ab({"a": lambda: None, "b": lambda: None})
    assert book.records() == ()
