"""The files of the code that ran: kept once for all runs of that code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from logbook_agent.model.run import Code
from logbook_agent.store.book import Book
from tests.conftest import Cli
from tests.seams import Store


def code_of(book: Book, number: int) -> Code:
    code = book.run("MOE-000", number).code
    assert code is not None
    return code


@pytest.mark.slow
def test_runs_of_one_code_share_its_files(started: Cli, git: Callable[..., str], folder: Path) -> None:
    (folder / "bench.py").write_text("print('RESULT tflops=2')\n")
    (folder / "probe.py").write_text("print('RESULT tflops=3')\n")
    assert started("run", "--repeat", "2", "--", "python", "probe.py").code == 0
    assert started("run", "--id", "MOE-000", "--detach", "--", "python", "probe.py").code == 0
    assert started("wait", "MOE-000").code == 0
    book = Store(folder)
    codes = [code_of(book, number) for number in (1, 2, 3)]
    [diff] = {code.diff_kept for code in codes}
    [file] = {code.untracked[0].kept for code in codes}
    assert diff is not None
    assert "+print('RESULT tflops=2')" in (book.folder / diff).read_text()
    assert file is not None
    assert (book.folder / file).read_text() == "print('RESULT tflops=3')\n"
    assert sorted(f"code/{path.name}" for path in (book.folder / "code").iterdir()) == sorted([diff, file])
    assert {path.name for path in book.runs_folder.rglob("*") if path.is_file()} == {"run.json", "output.log"}
    (folder / "bench.py").write_text("print('RESULT tflops=4')\n")
    assert started("run", "--id", "MOE-000", "--", "python", "probe.py").code == 0
    assert len(list((book.folder / "code").iterdir())) == 3


def test_a_record_of_an_earlier_version_keeps_its_files(started: Cli, folder: Path) -> None:
    """They lie beside it, and so they do when it is written again."""
    started("run", "--", "true")
    book = Store(folder)
    place = book.run_folder("MOE-000", 1)
    (place / "changes.diff").write_text("two")
    book.write_run(replace(book.run("MOE-000", 1), code=Code(diff_kept="changes.diff")))
    assert code_of(book, 1).diff_kept == "changes.diff"
    assert (place / "changes.diff").read_text() == "two"
