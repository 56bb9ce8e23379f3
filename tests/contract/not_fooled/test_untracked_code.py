"""Files that git does not track, and that no command names, are code where their suffix says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store

pytestmark = pytest.mark.slow

Git = Callable[..., str]

AB = ("ab", "--axis", "env:Q=1,2", "--max-pairs", "2", "--json")
COMMAND = ("--", "python", "bench.py")


@pytest.fixture
def ready(cli: Cli, git: Git, folder: Path) -> Cli:
    """A committed `bench.py`, which imports the untracked `kernels.py` and writes results of three kinds."""
    (folder / "bench.py").write_text(
        "import random, kernels\n"
        "open('results.json', 'w').write(str(random.random()))\n"
        "open('out.txt', 'w').write(str(random.random()))\n"
        "open('w.npy', 'w').write(str(random.random()))\n"
        "print(f'METRIC x={kernels.X}')\n"
    )
    (folder / ".gitignore").write_text("__pycache__/\n")
    assert cli("start", "t", "--prefix", "T", "--metric", "x:min").code == 0
    git("add", ".")
    git("commit", "-q", "-m", "All")
    (folder / "kernels.py").write_text("X = 1\n")
    return cli


def measured(folder: Path, entry: str) -> list[float]:
    return [run.rows[0].metrics["x"].samples[0] for run in Store(folder, "t").runs(entry) if run.rows]


def test_an_edited_import_is_other_code(ready: Cli, folder: Path) -> None:
    assert ready(*AB, *COMMAND).data["pairs"] == 2
    assert ready(*AB, *COMMAND).data["id"] == "T-000"
    (folder / "kernels.py").write_text("X = 2\n")
    other = ready(*AB, *COMMAND)
    assert (other.data["id"], other.data["pairs"]) == ("T-001", 2)
    assert "kernels.py" in ready("compare", "T-000/1", "T-001/1").out


def test_an_ab_returns_to_the_imports_that_it_measured(ready: Cli, git: Git, folder: Path) -> None:
    assert ready(*AB, *COMMAND).data["pairs"] == 2
    (folder / "kernels.py").write_text("X = 2\n")
    more = ready("ab", "--id", "T-000", "--max-pairs", "2", "--setup", "true", "--json")
    assert more.code == 0, more.err
    assert more.data["pairs"] == 4
    assert measured(folder, "T-000") == [1] * 8
    (folder / "kernels.py").unlink()
    again = ready("reproduce", "T-000/1")
    assert (again.code, "reproduced" in again.out) == (0, True), again.err + again.out


def test_imports_are_the_same_code_once_committed(ready: Cli, git: Git, folder: Path) -> None:
    assert ready(*AB, *COMMAND).data["pairs"] == 2
    git("add", "kernels.py")
    git("commit", "-q", "-m", "Kernels")
    assert ready(*AB, *COMMAND).data["id"] == "T-000"
    assert "the sides differ in no setting and no code" in ready("compare", "T-000/1", "T-000/5").out


def test_results_that_a_run_writes_are_no_code(ready: Cli, folder: Path) -> None:
    for _ in range(2):
        assert ready("run", "--", "python", "bench.py").code == 0
    first, second = (Store(folder, "t").run(entry, 1) for entry in ("T-000", "T-001"))
    assert first.code is not None
    assert second.code is not None
    assert first.code.identity == second.code.identity
    assert [file.path for file in second.code.untracked] == ["kernels.py"]
    assert not first.problems
    assert not second.problems


def test_settings_that_a_run_writes_into_folders_of_its_own_are_no_code(ready: Cli, folder: Path) -> None:
    for place in ("lightning_logs/version_0/hparams.yaml", "outputs/1/.hydra/config.yaml", "venv/lib/x.py"):
        (folder / place).parent.mkdir(parents=True)
        (folder / place).write_text("a: 1\n")
    (folder / "venv/pyvenv.cfg").write_text("home = /usr\n")
    (folder / "settings.yaml").write_text("a: 1\n")
    assert ready("run", "--", "python", "bench.py").code == 0
    code = Store(folder, "t").run("T-000", 1).code
    assert code is not None
    assert [file.path for file in code.untracked] == ["kernels.py", "settings.yaml"]


def test_too_many_files_are_said_to_be_unidentified(ready: Cli, folder: Path) -> None:
    (folder / "gen").mkdir()
    for number in range(1001):
        (folder / f"gen/k{number}.cu").write_text("1\n")
    answer = ready("run", "--", "python", "bench.py")
    assert answer.code == 0
    assert "1,002 untracked files of code" in answer.err
    assert ".gitignore" in answer.err
