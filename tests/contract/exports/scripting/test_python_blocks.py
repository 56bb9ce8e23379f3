"""A block of Python, and functions, as runs: `book.experiment` and `book.ab`; and that the API answers as the command
line does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.model.errors import LogbookError
from tests.conftest import Cli
from tests.seams import Logbook


@pytest.fixture
def book(folder: Path) -> Logbook:
    return Logbook.start("moe", prefix="MOE", metrics=["loss:min", "time_s:min:s"], stop_criteria=["loss below 1"])


def test_secrets_in_a_block_are_hidden(book: Logbook, folder: Path) -> None:
    secret = "hf_" + "Q7vX2mLp9RkT4wYb8NcZ1sDf6GhJ3eAu5K"
    with book.experiment(title="Secret"):
        print("token", secret)
    texts = [path.read_text() for path in (folder / "logbooks").rglob("*") if path.is_file()]
    assert [text for text in texts if secret in text] == []


# -- functions -------------------------------------------------------------------------------------------


WORK = """\
import time
def slow(): time.sleep(0.02)
def fast(): return {"loss": 0.5}
"""
SCRIPT = """\
from tests.seams import Logbook
import work
def own(): pass
if __name__ == "__main__":
    book = Logbook.open()
    print(book.ab({"slow": work.slow, "own": own}, repeat=2, calls=3, warm_up=1, metrics=["time_s"]).data())
"""


def test_functions_in_processes_of_their_own(book: Logbook, folder: Path) -> None:
    (folder / "work.py").write_text(WORK)
    (folder / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "'within_process': None" in done.stdout
    runs = [status.run for status in book.record("MOE-000").runs]
    assert len({run.child.pid for run in runs if run.child is not None}) == 4
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

    one, other = (book.ab({"a": returning(1.0), "b": returning(b)}, repeat=2, metrics=["loss"]) for b in (2.0, 0.5))
    again = book.ab({"a": returning(1.0), "b": returning(2.0)}, repeat=2, metrics=["loss"])
    answers = [book.compare(found.entry_id)["answer"] for found in (one, other, again)]
    assert [a["entries"] for a in answers] == [  # type: ignore[index]
        [one.entry_id, again.entry_id],
        [other.entry_id],
        [one.entry_id, again.entry_id],
    ]


def test_a_line_left_open_hides_no_result(book: Logbook, folder: Path) -> None:
    (folder / "work.py").write_text("def open_line(): print('epoch 1', end=' ')\n")
    with book.experiment(title="Open line") as x:
        print("epoch 1", end=" ")
        x.log(loss=2.5)
    code = "from logbook_agent.exports.scripting.side import main; main(['a', 'a=work.py:open_line'])"
    book.run([sys.executable, "-c", code], title="In a process of its own")
    found = book.ab({"a": lambda: print("x", end=""), "b": lambda: None}, repeat=1, metrics=["time_s"])
    rows = [status.run.rows for entry in ("MOE-000", "MOE-001", found.entry_id) for status in book.record(entry).runs]
    assert [len(row) for row in rows] == [1] * 4


def test_a_function_that_fails_ends_the_ab(book: Logbook) -> None:
    found = book.ab({"a": lambda: None, "b": lambda: {}["x"]}, metrics=["time_s"])
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
    for asked, words in ((book.sync, ["sync"]), (book.predict, ["predict"])):
        with pytest.raises(LogbookError) as raised:
            asked()
        assert raised.value.message == cli(*words, "--json").error["message"]


def test_a_logbook_that_was_started_is_the_one_that_is_used(book: Logbook) -> None:
    other = Logbook.start("other", prefix="OTHER")
    assert other.run(["true"]).entry.id == "OTHER-000"
    assert book.run(["true"]).entry.id == "MOE-000"
