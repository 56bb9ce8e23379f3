"""Many processes that add entries at once, in several worktrees of one clone."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.contract.stress.harness import PREFIX, answer, damaged, fork, number_of
from tests.contract.views import blocks, is_generated
from tests.seams import logbook as main


def writers(folder: Path, processes: int, entries: int, worktrees: int) -> dict[str, Any]:
    """Many processes add entries at once, in several worktrees of one clone."""
    folder.mkdir(parents=True, exist_ok=True)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    main_tree = folder / "main"
    subprocess.run([*git, "init", "-q", "-b", "main", str(main_tree)], check=True)
    assert fork(["start", "stress", "--prefix", PREFIX, "--metric", "tflops:max"], main_tree) == 0
    subprocess.run([*git, "add", "logbooks"], cwd=main_tree, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "start"], cwd=main_tree, check=True)
    trees = [main_tree]
    for i in range(1, worktrees):
        tree = folder / f"tree-{i}"
        subprocess.run([*git, "worktree", "add", "-q", "-b", f"b{i}", str(tree)], cwd=main_tree, check=True)
        trees.append(tree)
    began = time.monotonic()
    children = [_writer(trees[i % len(trees)], i, entries) for i in range(processes)]
    failed = [pid for pid in children if os.waitpid(pid, 0)[1] != 0]
    took = time.monotonic() - began
    return {
        "seconds": took,
        "wrong": [f"{len(failed)} writers failed"] * bool(failed) + _whole(trees, processes * entries),
    }


def _writer(tree: Path, number: int, entries: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 0
    try:
        for i in range(entries):
            title = f"writer {number} entry {i}"
            words = ["note", "--title", title] if i % 2 else ["run", "--title", title, "--", "echo", "METRIC tflops=1"]
            code = code or logged_main(tree, words)
    finally:
        os._exit(code)


def logged_main(tree: Path, words: list[str]) -> int:
    """The command line in a worktree, in a process of its own: its exit code. What it says goes into a log."""
    os.chdir(tree)
    for descriptor, name, flags in ((1, os.devnull, os.O_WRONLY), (2, tree.parent / "acts.log", os.O_WRONLY)):
        opened = os.open(name, flags | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(opened, descriptor)
        os.close(opened)
    return main(words)


def _whole(trees: list[Path], wanted: int) -> list[str]:
    """Every ID once over all worktrees, none skipped, every entry, run and block there."""
    wrong: list[str] = []
    ids: list[str] = []
    titles: set[str] = set()
    for tree in trees:
        listed = answer(tree, "list")
        wrong += damaged(listed)
        own = {line["id"]: line for line in listed["data"]}
        ids += own
        titles |= {line["title"] for line in own.values()}
        wrong += [f"no run: {i}" for i, line in own.items() if line["title"].endswith(" 0") and not line["runs"]]
        text = (tree / "logbooks/stress.md").read_text()
        wrong += [f"{tree.name}: not in the view: {name}" for name in own.keys() - blocks(text).keys()]
        wrong += [] if is_generated(text) else [f"{tree.name}: the view looks edited"]
    if len(ids) != len(set(ids)):
        wrong.append("an ID was given out twice")
    numbers = sorted(map(number_of, ids))
    if numbers != list(range(wanted)):
        wrong.append(f"IDs are not 0 to {wanted - 1}: {len(numbers)} of them")
    if len(titles) != wanted:
        wrong.append(f"{wanted - len(titles)} entries lost")
    return wrong
