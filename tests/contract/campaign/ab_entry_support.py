"""The benchmark in a repository that the tests of A/B entries compare, and what they read of its runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import Answer, Cli
from tests.stored import at

Git = Callable[..., str]

# The mode `new` is 6% faster; the noise follows from the number of the run.
BENCH = """\
. ./lib.sh
case "$2" in new) speed=$((speed + 6));; esac
echo "RESULT tflops=$speed.$((LOGBOOK_RUN * 7 % 10))"
"""
ASK = ("ab", "--axis", "mode=base,new", "--max-pairs", "1")
COMMAND = ("--", "sh", "bench.sh", "--mode", "{axis}")
MORE = ("ab", "--id", "MOE-000", "--max-pairs", "1", "--json")


def with_benchmark(started: Cli, git: Git, folder: Path) -> Cli:
    """A logbook whose benchmark is committed."""
    (folder / "bench.sh").write_text(BENCH)
    (folder / "lib.sh").write_text("speed=100\n")
    commit(git, "The benchmark")
    return started


def commit(git: Git, message: str) -> None:
    git("add", "-A")
    git("commit", "-q", "-m", message)


def state(git: Git, folder: Path) -> list[str]:
    """What must stay as it is: references, index, stash, worktrees, and the files outside of the logbooks."""
    kept = [git("for-each-ref"), git("symbolic-ref", "HEAD"), git("stash", "list"), git("worktree", "list")]
    files = {path.name: path.read_text() for path in sorted(folder.glob("*.*")) if path.is_file()}
    return [*kept, git("ls-files", "-s"), git("status", "--short", "--", ".", ":!logbooks"), str(files)]


def runs(folder: Path, entry_id: str = "MOE-000") -> list[dict[str, Any]]:
    paths = sorted(at(folder / "logbooks/moe/runs" / entry_id).glob("*/run.json"))
    return [json.loads(path.read_text()) for path in paths]


def speeds(folder: Path, entry_id: str = "MOE-000") -> set[int]:
    """Of the base: which code ran."""
    of_base = [run for run in runs(folder, entry_id) if run.get("part", {}).get("side") == "base"]
    return {int(run["rows"][0]["metrics"]["tflops"]["samples"][0]) for run in of_base}


def added(answer: Answer, pairs: int) -> Any:
    """The data of an answer whose entry has so many pairs, which all count."""
    assert answer.code == 0, answer.err or answer.out
    found = answer.data["answer"]
    assert (answer.data["pairs"], found["pairs"], found["left_out"]) == (pairs, pairs, []), found
    return answer.data


def refused(answer: Answer, *named: str) -> str:
    """The hint of a command that was refused."""
    assert answer.code == 2, answer.out
    text = json.dumps(answer.error, ensure_ascii=False)
    assert all(name in text for name in named), text
    return answer.error["hint"]
