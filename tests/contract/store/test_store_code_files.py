"""The files of the code that ran: kept once for all runs of that code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store


@pytest.mark.slow
def test_runs_of_one_code_share_its_files(started: Cli, git: Callable[..., str], folder: Path) -> None:
    (folder / "bench.py").write_text("print('RESULT tflops=2')\n")
    (folder / "probe.py").write_text("print('RESULT tflops=3')\n")
    assert started("run", "--repeat", "2", "--", "python", "probe.py").code == 0
    assert started("run", "--id", "MOE-000", "--detach", "--", "python", "probe.py").code == 0
    assert started("wait", "MOE-000").code == 0
    book = Store(folder)
    codes = [run.code for run in book.runs("MOE-000")]
    assert len(codes) == 3
    [diff] = {code.diff_kept for code in codes}
    [file] = {code.untracked[0].kept for code in codes}
    assert "+print('RESULT tflops=2')" in (book.folder / diff).read_text()
    assert (book.folder / file).read_text() == "print('RESULT tflops=3')\n"
    assert sorted(f"code/{path.name}" for path in (book.folder / "code").iterdir()) == sorted([diff, file])
    assert {path.name for path in (book.folder / "runs").rglob("*") if path.is_file()} == {"run.json", "output.log"}
    (folder / "bench.py").write_text("print('RESULT tflops=4')\n")
    assert started("run", "--id", "MOE-000", "--", "python", "probe.py").code == 0
    assert len(list((book.folder / "code").iterdir())) == 3
