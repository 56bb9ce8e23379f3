"""Branches, worktrees, clones and odd places: what plain git and plain file systems do to a logbook."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.views import blocks, is_generated
from tests.stored import at

pytestmark = pytest.mark.slow

Git = Callable[..., str]
RUN = ("run", "--", "sh", "-c", "echo METRIC tflops=1.5")


def ids_in_view(root: Path) -> list[str]:
    text = (root / "moe.md").read_text()
    assert is_generated(text)
    return [name for name in blocks(text) if name.startswith("MOE-")]


def commit(git: Git, message: str, cwd: Path | None = None) -> None:
    git("add", "logbooks", cwd=cwd)
    git("commit", "-q", "-m", message, cwd=cwd)


def test_branches_that_each_add_entries_merge_without_conflict_in_the_records(
    git: Git, started: Cli, folder: Path
) -> None:
    started(*RUN)
    commit(git, "one")
    for branch in ("a", "b"):
        git("checkout", "-q", "-b", branch, "main")
        assert started(*RUN).code == 0
        assert started("note", "--title", f"on {branch}").code == 0
        commit(git, branch)
    merged = subprocess.run(["git", "merge", "-q", "a"], cwd=folder, capture_output=True, text=True, check=False)
    unmerged = git("diff", "--name-only", "--diff-filter=U").splitlines()
    assert unmerged == [], "entries, runs and the view merge as they are"
    after = started("note", "--title", "after the merge")
    assert after.code == 0, merged.stdout
    assert ids_in_view(folder / "logbooks") == ["MOE-000", "MOE-001", "MOE-002", "MOE-003", "MOE-004", "MOE-005"]
    view = (folder / "logbooks/moe.md").read_text()
    assert "on a" in view
    assert "on b" in view
    started("render")
    assert (folder / "logbooks/moe.md").read_text() == view
    commit(git, "merged")


# Permission bits say nothing to root, as long as it may override them: that right is given up for good before the
# tool starts (prctl(2), PR_CAPBSET_DROP of CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER).
WITHOUT_OVERRIDE = """
import ctypes, os, sys
if os.getuid() == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2, 3):
        if libc.prctl(24, capability, 0, 0, 0) != 0:
            sys.exit(77)
os.execv(sys.executable, [sys.executable, "-m", "logbook_agent", *sys.argv[1:]])
"""


@pytest.mark.parametrize("locked", ["the git folder", "the whole root"])
@pytest.mark.slow
def test_a_folder_that_may_not_be_written(git: Git, started: Cli, folder: Path, locked: str) -> None:
    assert started(*RUN).code == 0
    closed = [folder / ".git", folder / ".git/logbook-agent", *(folder / ".git/logbook-agent").rglob("*")]
    if locked == "the whole root":
        closed += [folder / "logbooks", *(folder / "logbooks").rglob("*")]
    for path in closed:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_OVERRIDE, *RUN],
            cwd=folder, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        for path in closed:
            path.chmod(0o755 if path.is_dir() else 0o644)
    if done.returncode == 77:
        pytest.skip("root may not give up CAP_DAC_OVERRIDE here, so no folder can be closed to it")
    assert "Traceback" not in done.stderr
    if locked == "the git folder":
        assert done.returncode == 0, done.stderr
        assert "MOE-001 run 1: finished" in done.stderr
        assert "is read-only: IDs are not shared" in done.stderr
    else:
        assert done.returncode == 3
        assert "error: cannot write" in done.stderr
        assert not at(folder / "logbooks/moe/entries/MOE-001.yaml").exists()
