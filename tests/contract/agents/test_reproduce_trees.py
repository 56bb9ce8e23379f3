"""`logbook reproduce` in work trees of every kind, killed at any moment: no byte of the user's changes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.contract.agents.generated_trees import Tree, git, snapshot
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.report.live.live_support import wait_for

pytestmark = pytest.mark.slow
TREES = 60


def _logbook(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen([*LOGBOOK, *words], cwd=folder, stdout=null, stderr=null, start_new_session=True)


@pytest.mark.parametrize("seed", range(TREES))
@pytest.mark.sample(2)
def test_the_tree_stays_as_it_is(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    (folder.parent / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder.parent / "temporary"))
    tree = Tree(folder, draw)
    tree.make()
    (folder / "bench.sh").write_text("echo METRIC tflops=1; echo x >left.txt; sleep 0.3\n")
    git(folder, "add", "bench.sh")
    git(folder, "commit", "-qm", "bench")
    tree.have_idea()
    tree.do_other_work()
    assert _logbook(folder, "start", "moe", "--prefix", "MOE", "--metric", "tflops").wait() == 0
    removes = "echo METRIC tflops=2; rm -f bench.sh; echo > a.py || true"
    command = draw.choice([["sh", "bench.sh"], ["sh", "-c", removes]])
    assert _logbook(folder, "run", "--", *command).wait() == 0
    # What the command of the record wrote stands; now its repetition must write elsewhere.
    leftover = [folder / ".git/worktrees"]
    before = snapshot(folder, without=leftover)
    process = _logbook(folder, "reproduce", "MOE-000")
    if draw.random() < 0.8:
        time.sleep(draw.uniform(0.2, 1.6))
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert snapshot(folder, without=leftover) == before

    def is_removed() -> bool:
        assert _logbook(folder, "status").wait() == 0
        return git(folder, "worktree", "list").count(b"\n") == 1

    # The next command removes what was left of the working tree, once the command of the run has ended there.
    wait_for(is_removed)
    assert snapshot(folder, without=leftover) == before
