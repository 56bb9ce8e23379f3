"""scripts/test: what fails is run once more, alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

TESTS = """
from pathlib import Path
import time
import pytest

def first(name):
    mark = Path(__file__).with_name(name)
    if mark.exists():
        return False
    mark.touch()
    return True

def test_good(): pass

def test_flaky(): assert not first("flaky")

def test_hanging():
    if first("hanging"):
        time.sleep(600)

def test_broken(): assert False

def test_skipped():
    assert not first("skipped")
    pytest.skip("cannot run alone")

@pytest.mark.parametrize("number", range(21))
def test_many(number): assert False
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "processes", "flaky_fails", "code", "last"),
    [
        ("good or flaky", 2, "", 0, "  test_some.py::test_flaky"),
        ("good or flaky", 0, "1", 1, "  test_some.py::test_flaky"),
        ("good or hanging", 2, "", 0, "  test_some.py::test_hanging"),
        ("flaky or broken", 0, "", 1, "failed: not all of the 2 passed alone"),
        ("skipped", 0, "", 1, "failed: not all of the 1 passed alone"),
        ("many", 0, "", 1, "failed: 21, too many to run each again"),
    ],
)
def test_only_what_passes_alone_is_flaky(
    tmp_path: Path, chosen: str, processes: int, flaky_fails: str, code: int, last: str
) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").touch()
    found = tmp_path / "found"
    words = ["-p", "xdist", f"-n{processes}", "--dist", "worksteal", "-x", "-o", "faulthandler_timeout=3", "-k", chosen]
    done = subprocess.run(
        [sys.executable, REPOSITORY / "scripts/test", *words],
        cwd=tmp_path,
        env={
            **os.environ,
            "FLAKY_LIST": str(found),
            "FLAKY_FAILS": flaky_fails,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, last)
    is_flaky = last.startswith("  ")
    assert (found.read_text() if found.exists() else "") == (f"{last.strip()}\n" if is_flaky else "")
