"""Many agents on one campaign: processes in several worktrees of one clone that note, run, edit, ask what is next, and
execute the same plans; some are killed while they do."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil

from tests.contract.stress.harness import PREFIX, answer, damaged, fork
from tests.contract.stress.writers import logged_main

# One that is killed hangs the first time: the file says that it was begun.
JOB = """
import os, pathlib, sys, time
place, hangs = pathlib.Path(sys.argv[1]), sys.argv[2] == "hangs"
first = not place.exists()
with place.open("a") as log:
    log.write(f"begun {os.getpid()}\\n")
if hangs and first:
    time.sleep(600)
with place.open("a") as log:
    log.write("done\\n")
print("METRIC tflops=1")
"""
_WAIT_S = 900.0


def agents(folder: Path, processes: int, operations: int, worktrees: int, plans: int, killed: int) -> dict[str, Any]:
    """Let `processes` agents do `operations` together, while the first `killed` of the `plans` hang until their agent
    is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.py").write_text(JOB)
    trees = _trees(folder, worktrees, plans, killed)
    runs = [["run", "--id", f"{PREFIX}-{number:03d}"] for number in range(plans)]
    began = time.monotonic()
    children = {
        _agent(tree, i, operations // processes, runs): i
        for i, tree in ((i, trees[i % worktrees]) for i in range(processes))
    }
    wrong: list[str] = []
    hung: set[int] = set()
    left = set(children)
    while left:
        if time.monotonic() - began > _WAIT_S:
            wrong.append(f"{len(left)} agents hang")
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        _kill_hanging(folder, killed, hung, left)
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in left:
            left.remove(pid)
            code = os.waitstatus_to_exitcode(status)
            if code == -signal.SIGKILL:
                # Whoever lost its agent starts another one, which does what is left of the plans.
                i = children[pid]
                tree = trees[(i + 1) % len(trees)]
                successor = _agent(tree, processes + i, 4, runs)
                children[successor] = processes + i
                left.add(successor)
            elif code:
                wrong.append(f"agent {children[pid]} ended with {code}")
        time.sleep(0.02)
    # Nobody is left who could: the plans that nobody took.
    for tree in trees:
        for words in runs:
            fork(words, tree)
    return {
        "seconds": time.monotonic() - began,
        "killed": len(hung),
        "wrong": wrong + _whole(folder, trees, plans),
    }


def _trees(folder: Path, worktrees: int, plans: int, killed: int) -> list[Path]:
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    main_tree = folder / "main"
    subprocess.run([*git, "init", "-q", "-b", "main", str(main_tree)], check=True)
    assert fork(["start", "stress", "--prefix", PREFIX, "--metric", "tflops:max"], main_tree) == 0
    for number in range(plans):
        words = [sys.executable, str(folder / "job.py"), str(folder / f"plan-{number}")]
        command = " ".join([*words, "hangs" if number < killed else "works"])
        assert fork(["note", "--plan", f"plan {number}", "--command", command], main_tree) == 0
    subprocess.run([*git, "add", "logbooks"], cwd=main_tree, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "plans"], cwd=main_tree, check=True)
    trees = [main_tree]
    for i in range(1, worktrees):
        trees.append(folder / f"tree-{i}")
        subprocess.run([*git, "worktree", "add", "-q", "-b", f"b{i}", str(trees[-1])], cwd=main_tree, check=True)
    return trees


def _agent(tree: Path, number: int, operations: int, plans: list[list[str]]) -> int:
    """An agent in a process of its own: a third of what it does are `plans`, which the others want as well."""
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        draw = random.Random(number)
        wanted = draw.sample(plans, len(plans))
        code = 0
        for i in range(operations):
            kind, mark = i % 6, f"agent {number} does {i}"
            plan = wanted[i % len(plans)]
            words = {
                1: ["note", "--title", mark, "--next", "`true`"],
                2: ["run", "--title", mark, "--", "echo", "METRIC tflops=1"],
                4: ["edit", plan[2], "--append", "--interpretation", f"{mark}."],
                5: ["next" if i % 2 else "status", "--json"],
            }.get(kind, plan)
            done = logged_main(tree, words)
            # Of a plan, 2: it was executed; 3: another one has it.
            code = code or (0 if words[:2] == ["run", "--id"] and done in (2, 3) else done)
            if mark in " ".join(words) and not done:
                with (tree.parent / "said").open("a") as said:
                    said.write(f"{mark}.\n")
    finally:
        os._exit(code)


def _kill_hanging(folder: Path, killed: int, hung: set[int], agents: set[int]) -> None:
    """Kill the agents whose plans hang, with the command of the plan, and note the plan: the next one does not hang."""
    for number in {*range(killed)} - hung:
        log = folder / f"plan-{number}"
        words = log.read_text().split() if log.exists() else []
        if words[:1] == ["begun"] and len(words) == 2:
            job = psutil.Process(int(words[1]))
            [agent] = [parent for parent in job.parents() if parent.pid in agents]
            hung.add(number)
            agent.kill()
            job.kill()


def _whole(folder: Path, trees: list[Path], plans: int) -> list[str]:
    """Every plan executed once, every new entry in one worktree under one ID, no claim left."""
    wrong: list[str] = []
    ids: Counter[str] = Counter()
    titles: Counter[str] = Counter()
    finished: Counter[str] = Counter()
    said = (folder / "said").read_text().splitlines()
    for tree in trees:
        listed = answer(tree, "list")
        wrong += [f"{tree.name}: {text}" for text in damaged(listed)]
        new = [line for line in listed["data"] if not line["title"].startswith("plan ")]
        ids.update(line["id"] for line in new)
        titles.update(line["title"] for line in new)
        for path in tree.glob("logbooks/stress/runs/*/*/run.json"):
            finished[path.parts[-3]] += json.loads(path.read_text()).get("exit") == {"code": 0}
    kept = "".join(path.read_text() for tree in trees for path in tree.glob("logbooks/stress/entries/*.yaml"))
    lost = [mark for mark in said if mark not in kept and f"title: {mark[:-1]}\n" not in kept]
    wrong += [f"lost: {mark}" for mark in lost]
    wrong += [f"{name} is there {n} times" for name, n in (ids + titles).items() if n > 1]
    for number in range(plans):
        entry, log = f"{PREFIX}-{number:03d}", folder / f"plan-{number}"
        done = log.read_text().count("done") if log.exists() else 0
        if (done, finished[entry]) != (1, 1):
            wrong.append(f"{entry}: done {done} times, {finished[entry]} finished runs")
    claims = list((trees[0] / ".git/logbook-agent").rglob(f"claims/{PREFIX}-*"))
    wrong += [] if claims else ["no claim was ever kept"]
    return wrong + [f"still claimed: {path.name}" for path in claims if json.loads(path.read_text())["claim"]]
