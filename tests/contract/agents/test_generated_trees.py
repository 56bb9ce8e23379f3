"""`patch`, `keep` and `discard` in generated work trees: nothing but the declared paths changes, those all together;
decisions are killed at random, too."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.breadth import wide
from tests.conftest import Cli
from tests.contract.agents.generated_trees import State, Tree, git, killed, snapshot, state
from tests.stored import at

# So many in `make test`, and 60 in `make test-long`.
_FEW, _ALL = 6, 60
SEEDS = [*range(_FEW), *(wide(seed) for seed in range(_FEW, _ALL))]


def oracle(top: Path, diff: bytes, paths: Sequence[str], *, undo: bool) -> dict[str, State] | None:
    """What git makes of the paths in a copy of the tree; None where one of them does not fit."""
    copy = top.with_name("copy")
    shutil.copytree(top, copy, symlinks=True)
    (copy.parent / "idea.diff").write_bytes(diff)
    chosen = [f"--include={path}" for path in paths]
    words = ["git", "apply", "--whitespace=nowarn", *chosen, *(["-R"] if undo else []), str(copy.parent / "idea.diff")]
    fits = subprocess.run(words, cwd=copy, capture_output=True, check=False).returncode == 0
    found = {path: state(copy / path) for path in paths}
    shutil.rmtree(copy)
    return found if fits else None


def _is_alike(now: State, wanted: State) -> bool:
    """As far as git knows modes."""
    return (now[0], now[1] & 0o100, now[2]) == (wanted[0], wanted[1] & 0o100, wanted[2])


@pytest.fixture(params=SEEDS)
def started(
    request: pytest.FixtureRequest, cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[random.Random, Tree, Path]]:
    """A generated tree with a logbook in it, or beside it, whose root is the last part."""
    choice = random.Random(request.param)
    tree = Tree(folder / "code", choice)
    tree.top.mkdir()
    tree.make()
    root = tree.top / "logbooks" if choice.random() < 0.5 else folder / "records"
    monkeypatch.setenv("LOGBOOK_ROOT", str(root))
    monkeypatch.chdir(tree.top)
    assert cli("start", "moe", "--prefix", "MOE").code == 0
    yield choice, tree, root
    shutil.rmtree(folder)  # 500 of them would fill a disk


@pytest.mark.slow
def test_a_patch_changes_the_declared_paths_alone_and_together(
    started: tuple[random.Random, Tree, Path], cli: Cli
) -> None:
    choice, tree, root = started
    tree.have_idea()
    assert cli("run", "--", "true").code == 0
    if not tree.idea:
        return
    tree.do_other_work()

    undo = choice.random() < 0.5
    wanted = choice.sample(tree.idea, choice.randint(1, len(tree.idea)))
    declared = wanted if tree.touches_submodule or choice.random() < 0.5 else tree.idea
    command = ["patch", "MOE-000", "--undo" if undo else "--apply"]
    if declared is not tree.idea or choice.random() < 0.5:
        command += [word for path in declared for word in ("--paths", path)]
    elif tree.touches_submodule:
        assert cli(*command).code == 2
        return
    assert len(list((root / "moe/code").glob("*.diff"))) == 1
    diff = next((root / "moe/code").glob("*.diff")).read_bytes()
    expected = oracle(tree.top, diff, declared, undo=undo)
    if b"[redacted" in diff:  # bytes of a binary file that look like a secret: what is kept is not what ran
        expected = None

    first, records = snapshot(tree.top), snapshot(root)
    answer = cli(*command)
    assert answer.code == (2 if expected is None else 0), answer.err
    done = snapshot(tree.top)
    others = {path for path in first.keys() | done.keys() if path not in declared}
    assert {path: done.get(path) for path in others} == {path: first.get(path) for path in others}
    for path in declared:
        now = state(tree.top / path)
        wanted_state = first.get(path, ("absent", 0, b"")) if expected is None else expected[path]
        assert _is_alike(now, wanted_state), path
    assert snapshot(root) == records
    git(tree.top, "fsck", "--connectivity-only")


@pytest.mark.slow
def test_a_decision_changes_no_file_of_the_code(started: tuple[random.Random, Tree, Path], cli: Cli) -> None:
    choice, tree, root = started
    assert cli("run", "--", "true").code == 0
    tree.have_idea()
    assert cli("run", "--next", "keep it", "--", "true").code == 0
    tree.do_other_work()

    kept = choice.random() < 0.5
    command = ["keep", "MOE-001"] if kept else ["discard", "MOE-001", "--why", "slower"]
    first, runs = snapshot(tree.top, without=[root]), snapshot(root / "moe/runs")
    earlier = at(root / "moe/entries/MOE-001.yaml").read_bytes()
    killed(command, choice.randrange(150))
    assert snapshot(tree.top, without=[root]) == first
    decided = [line["id"] for line in cli("list", "--kind", "decision", "--json").data]
    if not decided:
        assert cli(*command).code == 0
    assert snapshot(tree.top, without=[root]) == first
    assert snapshot(root / "moe/runs") == runs
    assert at(root / "moe/entries/MOE-001.yaml").read_bytes() == earlier
    status = cli("status", "--json").data
    assert len(cli("list", "--kind", "decision", "--json").data) == 1
    # That of the decision is to commit the changes.
    assert all(one["id"] != "MOE-001" for one in status["next_actions"])
    assert cli("doctor", "--fix").code == 0
