"""The store under many writers, kills and failing disks: the short form of `scripts/stress`.

What is done and checked stands in kills.py, faults.py and writers.py beside it; they run as a process of their own,
because they fork.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.breadth import wide
from tests.conftest import REPOSITORY
from tests.stored import at

SCALE = int(os.environ.get("LOGBOOK_STRESS", "1"))


def drive(folder: Path, *words: str, timeout_s: float = 600) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.stress.driver", words[0], str(folder / "s"), *words[1:]],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=timeout_s * SCALE, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["wrong"] == []
    assert done.returncode == 0
    return answer


@pytest.mark.slow
@pytest.mark.parametrize("entries", [1, wide(5)] if SCALE == 1 else [25 * SCALE])
def test_sixteen_writers_in_three_worktrees_of_one_clone(tmp_path: Path, entries: int) -> None:
    drive(tmp_path, "writers", "--processes", "16", "--entries", str(entries), "--worktrees", "3")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "seed"), [(10, 0), wide(300, 0)] if SCALE == 1 else [(300, seed) for seed in range(SCALE)]
)
def test_kills(tmp_path: Path, count: int, seed: int) -> None:
    answer = drive(tmp_path, "kills", "--count", str(count), "--seed", str(seed))
    assert answer["killed"] >= count
    if count == 300:
        assert all(count > 0 for count in answer["by_act"].values()), "every act was killed at least once"


@pytest.mark.slow
@pytest.mark.parametrize(("most", "errors"), [(2, 1), wide(40, 2)] if SCALE == 1 else [(40, min(2 * SCALE, 4))])
def test_every_write_that_fails(tmp_path: Path, most: int, errors: int) -> None:
    answer = drive(tmp_path, "faults", "--most", str(most), "--errors", str(errors))
    assert answer["tried"] > 2 * most * errors


@pytest.mark.slow
def test_a_file_size_limit_in_a_real_process(tmp_path: Path) -> None:
    """RLIMIT_FSIZE: the log stops there, the run goes on, and what cannot be written is said."""
    start = [sys.executable, "-m", "logbook_agent", "start", "moe", "--prefix", "MOE"]
    subprocess.run(start, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    child = "[print('x' * 99) for _ in range(5000)]; print('METRIC answer=42')"
    script = 'export PYTHONDONTWRITEBYTECODE=1; ulimit -f 64; exec "$0" -m logbook_agent run -- "$0" -c "$1"'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable, child],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr[-2000:]
    record = json.loads(at(tmp_path / "logbooks/moe/runs/MOE-000/01/run.json").read_text())
    assert record["exit"] == {"code": 0}
    assert [row["metrics"]["answer"]["samples"] for row in record["rows"]] == [[42.0]]
    assert any("log" in problem["text"] for problem in record["problems"]), record["problems"]
