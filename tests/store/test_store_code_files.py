"""The files of the code that ran: kept once for all runs of that code."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from logbook_agent.model.run import Code, UntrackedFile
from logbook_agent.store.book import Book
from tests.conftest import Cli, book_of


def code_of(book: Book, number: int) -> Code:
    code = book.run("MOE-000", number).code
    assert code is not None
    return code


def test_runs_of_one_code_share_its_files(started: Cli, git: Callable[..., str], folder: Path) -> None:
    (folder / "bench.py").write_text("print('RESULT tflops=2')\n")
    (folder / "probe.py").write_text("print('RESULT tflops=3')\n")
    assert started("run", "--repeat", "2", "--", "python", "probe.py").code == 0
    assert started("run", "--id", "MOE-000", "--detach", "--", "python", "probe.py").code == 0
    assert started("wait", "MOE-000").code == 0
    book = book_of(folder)
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


def test_files_beside_an_older_record_move_when_it_is_written(started: Cli, folder: Path) -> None:
    started("run", "--", "true")
    book = book_of(folder)
    run = book.run("MOE-000", 1)
    place = book.run_folder("MOE-000", 1)
    (place / "files").mkdir()
    (place / "files/01-a.py").write_text("one")
    (place / "changes.diff").write_text("two")
    file = UntrackedFile(path="a.py", sha256="x", bytes=3, kept="files/01-a.py")
    written = book.write_run(replace(run, code=Code(diff_kept="changes.diff", untracked=(file,))))
    assert written.code is not None
    names = (written.code.diff_kept, written.code.untracked[0].kept)
    assert [(book.folder / str(name)).read_text() for name in names] == ["two", "one"]
    assert sorted(path.name for path in place.iterdir()) == ["output.log", "run.json"]


def test_only_what_a_worker_names_so_is_moved(started: Cli, folder: Path) -> None:
    """A record that was pulled may name any file beside it."""
    started("run", "--", "echo", "mine")
    book = book_of(folder)
    path = book.run_folder("MOE-000", 1) / "run.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "code": {"diff_kept": "output.log"}}))
    book.write_run(book.run("MOE-000", 1))
    assert book.log_path("MOE-000", 1).read_text() == "mine\n"
    assert not (book.folder / "code").exists()
