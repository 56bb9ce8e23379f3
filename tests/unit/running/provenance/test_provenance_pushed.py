from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.issue.permalinks import published, pushed_commit
from logbook_agent.issue.values import Links
from logbook_agent.pages.views import Block, build
from logbook_agent.text.address import RepositoryAddress
from tests.stored import at

pytestmark = pytest.mark.slow


REPOSITORY = RepositoryAddress(owner="o", name="r")


Git = Callable[..., str]


@pytest.fixture
def root(folder: Path, git: Git) -> Path:
    """A logbook `moe` of two entries with runs, committed and pushed to a bare repository beside."""
    root = folder / "notes dir/logbooks"
    for number in (1, 2):
        write_entry(root, f"MOE-00{number}", runs=number)
    write_view(root, ["MOE-001", "MOE-002"])
    git("init", "-q", "--bare", "-b", "main", str(folder.parent / "bare.git"))
    git("remote", "add", "origin", str(folder.parent / "bare.git"))
    git("add", ".")
    git("commit", "-q", "-m", "Entries")
    git("push", "-q", "origin", "main")
    return root


def write_entry(root: Path, name: str, runs: int = 1) -> None:
    (root / "moe/entries").mkdir(parents=True, exist_ok=True)
    at(root / f"moe/entries/{name}.yaml").write_text(f"id: {name}\n")
    for run in range(1, runs + 1):
        place = at(root / f"moe/runs/{name}/0{run}")
        place.mkdir(parents=True, exist_ok=True)
        (place / "run.json").write_text(f'{{"run": {run}}}')
        (place / "output.log").write_text("not in git, say\n")


def write_view(root: Path, names: list[str]) -> None:
    texts = [("header", "# MoE\n\nOf experts."), *((n, f"## {n}\n\nText") for n in names)]
    (root / "moe.md").write_text(build("moe", [Block(name, text) for name, text in texts]))


def links(root: Path, names: list[str] | None = None, remote: str = "origin") -> Links:
    return published(
        view=root / "moe.md",
        folder=root / "moe",
        entry_ids=names or ["MOE-001", "MOE-002"],
        repository=REPOSITORY,
        remote=remote,
        environ=os.environ,
    )


def change(root: Path, git: Git, message: str) -> str:
    (root.parent / "note.txt").write_text(message)
    git("add", str(root.parent / "note.txt"))
    git("commit", "-q", "-m", message)
    return git("rev-parse", "HEAD")


def test_an_ancestor_when_head_is_not(root: Path, git: Git) -> None:
    before = git("rev-parse", "HEAD")
    mine = [change(root, git, m) for m in ("one", "two")]
    assert pushed_commit(root, "origin", os.environ) == before
    git("push", "-q", "origin", f"{mine[0]}:refs/heads/other/branch")
    assert pushed_commit(root, "origin", os.environ) == mine[0]


def test_a_shallow_clone(root: Path, git: Git, tmp_path: Path) -> None:
    clone = tmp_path / "shallow"
    git("clone", "-q", "--depth=1", f"file://{tmp_path}/bare.git", str(clone))
    head = git("rev-parse", "HEAD", cwd=clone)
    assert pushed_commit(clone, "origin", os.environ) == head
    git("commit", "-q", "--allow-empty", "-m", "mine", cwd=clone)
    assert pushed_commit(clone, "origin", os.environ) == head
    assert list(links(clone / "notes dir/logbooks").entries) == ["MOE-001", "MOE-002"]


def test_a_worktree_on_its_own_branch(root: Path, git: Git, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git("worktree", "add", "-q", "-b", "own", str(tree))
    there = tree / "notes dir/logbooks"
    pushed = git("rev-parse", "HEAD")
    change(there, lambda *a: git(*a, cwd=tree), "own")
    assert pushed_commit(there, "origin", os.environ) == pushed
    assert links(there).commit == pushed
    at(there / "moe/entries/MOE-001.yaml").write_text("changed in the worktree")
    assert list(links(there).entries) == ["MOE-002"]
    assert list(links(root).entries) == ["MOE-001", "MOE-002"]


def test_links_stay_when_other_work_is_pushed(root: Path, folder: Path, git: Git) -> None:
    """Else every push would change every link, and each sync would write the issue anew."""
    before = links(root)
    (folder / "bench.py").write_text("other work")
    git("commit", "-qam", "Other work")
    git("push", "-q", "origin", "main")
    assert git("rev-parse", "HEAD") != before.commit
    assert links(root) == before
    write_entry(root, "MOE-003")
    git("add", ".")
    git("commit", "-qm", "Ours")
    git("push", "-q", "origin", "main")
    assert links(root).commit == git("rev-parse", "HEAD")


def test_without_a_view_in_git_the_files_of_the_entries_are_linked(root: Path, git: Git) -> None:
    git("rm", "-q", "--cached", "notes dir/logbooks/moe.md")
    write_entry(root, "MOE-002", runs=3)
    git("add", "notes dir/logbooks/moe")
    git("commit", "-q", "-m", "Without the view")
    git("push", "-q", "origin", "main")
    write_entry(root, "MOE-003")
    found = links(root, ["MOE-001", "MOE-002", "MOE-003"])
    where = f"https://github.com/o/r/blob/{git('rev-parse', 'HEAD')}/notes%20dir/logbooks/moe/entries"
    assert found.view is None
    assert found.entries == {name: f"{where}/{name}.yaml" for name in ("MOE-001", "MOE-002")}


def test_links_of_what_is_pushed(root: Path, git: Git) -> None:
    head = git("rev-parse", "HEAD")
    found = links(root)
    view = f"https://github.com/o/r/blob/{head}/notes%20dir/logbooks/moe.md"
    assert (found.commit, found.view) == (head, view)
    assert found.entries == {"MOE-001": f"{view}?plain=1#L9", "MOE-002": f"{view}?plain=1#L15"}
    lines = (root / "moe.md").read_text().splitlines()
    assert lines[8].startswith("<!-- logbook:block MOE-001 -->")
    assert lines[14].startswith("<!-- logbook:block MOE-002 -->")


@pytest.mark.parametrize(
    "touch",
    [
        lambda moe: at(moe / "entries/MOE-001.yaml").write_text("changed"),
        lambda moe: at(moe / "runs/MOE-001/01/run.json").write_text("{}"),
        lambda moe: write_entry(moe.parent, "MOE-001", runs=2),
    ],
)
def test_an_entry_that_changed_since_has_no_link(root: Path, touch: Callable[[Path], object]) -> None:
    touch(root / "moe")
    assert list(links(root).entries) == ["MOE-002"]


def test_what_was_committed_and_not_pushed_has_no_link(root: Path, git: Git) -> None:
    pushed = git("rev-parse", "HEAD")
    write_entry(root, "MOE-003")
    at(root / "moe/entries/MOE-002.yaml").write_text("changed")
    write_view(root, ["MOE-000", "MOE-001", "MOE-002", "MOE-003"])
    git("add", ".")
    git("commit", "-q", "-m", "mine")
    found = links(root, ["MOE-001", "MOE-002", "MOE-003"])
    assert found.commit == pushed
    # The line is that of the pushed view, whatever stands here now.
    assert found.entries == {"MOE-001": f"{found.view}?plain=1#L9"}
    git("push", "-q", "origin", "main")
    assert list(links(root, ["MOE-001", "MOE-002", "MOE-003"]).entries) == ["MOE-001", "MOE-002", "MOE-003"]
