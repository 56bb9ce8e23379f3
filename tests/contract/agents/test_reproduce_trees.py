"""`logbook reproduce` in work trees of every kind, killed at any moment: no byte of the user's changes."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.running.executors.conftest import wait_for

pytestmark = pytest.mark.slow
TREES = 500


def _logbook(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "logbook_agent", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _fill(draw: random.Random, folder: Path, git: Callable[..., str]) -> None:
    """Change the tree: files that are changed, staged, both, removed, new, ignored, links, and a submodule."""
    for number in range(draw.randint(2, 8)):
        name, kind = f"f{number}.txt", draw.choice(["tracked", "fresh", "ignored", "link"])
        path = folder / draw.choice(["", "part/"]) / name
        path.parent.mkdir(exist_ok=True)
        if kind == "link":
            path.symlink_to(draw.choice(["bench.sh", "nowhere", str(folder.parent)]))
        else:
            path.write_bytes(draw.randbytes(draw.randint(0, 300)))
        if kind == "ignored":
            with (folder / ".gitignore").open("a") as file:
                file.write(f"{name}\n")
        if kind == "tracked":
            git("add", "--force", str(path))
            if draw.random() < 0.7:
                git("commit", "-qm", name)
            if draw.random() < 0.6:
                path.write_text("changed")
            if draw.random() < 0.3:
                git("add", "--force", str(path))
                path.write_text("changed again")
            if draw.random() < 0.2:
                path.unlink()
    if draw.random() < 0.4:
        other = folder.parent / "other"
        subprocess.run(["git", "init", "-q", str(other)], check=True)
        subprocess.run(["git", "-C", str(other), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
        git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "inner")
        if draw.random() < 0.5:
            git("commit", "-qm", "inner")
        (folder / "inner/own.txt").write_text("of the submodule")


def _state(folder: Path, git: Callable[..., str]) -> dict[str, str]:
    """Every file with its mode and digest, links as such; the index, the references and the configuration of git."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if ".git" not in path.relative_to(folder).parts and not path.is_dir():
            content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            found[str(path)] = f"{path.lstat().st_mode:o} {hashlib.sha256(content).hexdigest()}"
    for name in ("index", "HEAD", "config"):
        found[name] = hashlib.sha256((folder / ".git" / name).read_bytes()).hexdigest()
    return {**found, "refs": git("for-each-ref"), "stash": git("stash", "list")}


@pytest.mark.parametrize("seed", range(TREES))
@pytest.mark.sample(2)
def test_the_tree_stays_as_it_is(
    seed: int, folder: Path, git: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    (folder.parent / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder.parent / "temporary"))
    (folder / "bench.sh").write_text("echo METRIC tflops=1; echo x >left.txt; sleep 0.3\n")
    git("add", "bench.sh")
    git("commit", "-qm", "bench")
    _fill(draw, folder, git)
    assert _logbook(folder, "start", "moe", "--prefix", "MOE", "--metric", "tflops").wait() == 0
    removes = "echo METRIC tflops=2; rm -f bench.sh; echo > f0.txt || true"
    command = draw.choice([["sh", "bench.sh"], ["sh", "-c", removes]])
    assert _logbook(folder, "run", "--", *command).wait() == 0
    # What the command of the record wrote stands; now its repetition must write elsewhere.
    before = _state(folder, git)
    process = _logbook(folder, "reproduce", "MOE-000")
    if draw.random() < 0.8:
        time.sleep(draw.uniform(0.2, 1.6))
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert _state(folder, git) == before

    def is_removed() -> bool:
        assert _logbook(folder, "status").wait() == 0
        return git("worktree", "list").count("\n") == 0

    # The next command removes what was left of the working tree, once the command of the run has ended there.
    assert wait_for(is_removed)
    assert _state(folder, git) == before
