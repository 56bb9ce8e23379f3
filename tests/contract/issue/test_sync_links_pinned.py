"""Links lead to the commit that is pushed, and to nothing when there is none; `sync --commit` makes one."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.contract.issue.pushed_support import Pushed
from tests.contract.issue.sync_support import Bench
from tests.emulator import faults

pytestmark = pytest.mark.slow

VIEW = "logbooks/moe.md"


def entry_links(pushed: Pushed, text: str, sha: str) -> dict[str, int]:
    """ID -> line, of every link to an entry; all of them are to this commit and to the line that the entry is on."""
    found: dict[str, int] = {}
    for address, at in re.findall(r"\]\((http[^)]*/blob/[^)]*#L(\d+))\)", text):
        assert address == pushed.blob(sha, f"{VIEW}?plain=1#L{at}")
        here = pushed.line(sha, VIEW, int(at))
        entry_id = re.search(r"MOE-\d{3}", here)
        assert entry_id is not None, here
        assert f"{entry_id[0]}](" + address in text or "In the logbook](" + address in text
        assert re.match(rf"### .* - {entry_id[0]} ", pushed.line(sha, VIEW, int(at) + 1))
        found[entry_id[0]] = int(at)
    for label, address in re.findall(r"\[(MOE-\d{3})\]\((http[^)]*)\)", text):
        assert address.endswith(f"#L{found[label]}")
    return found


def steps(pushed: Pushed, *args: str) -> list[str]:
    return [re.sub(r" \d+: ", " N: ", step["step"]) for step in pushed.bench.sync(*args)["steps"]]


BLOCK = "write the block of the issue's body"


def test_links_come_with_the_push_and_stay_where_they_are(pushed: Pushed) -> None:
    bench = pushed.bench
    first, second = bench.notes(2)
    data = bench.sync("--create")
    assert (data["pinned_to"], data["not_pushed"]) == (None, "not pushed")
    assert "/blob/" not in bench.body + bench.comments[0]["body"]
    assert "- Logbook: not pushed" in bench.block
    assert bench.comments[0]["body"].count("- In the logbook: not pushed") == 2

    sha = pushed.publish()
    assert len(sha) == 40
    assert steps(pushed) == [BLOCK, f"edit comment N: {first}, {second}"]
    [comment] = bench.comments
    assert set(entry_links(pushed, comment["body"], sha)) == {first, second}
    assert set(entry_links(pushed, bench.block, sha)) == {second}, "the last entry"
    assert f"- [Logbook]({pushed.blob(sha, VIEW)})" in bench.block
    assert "not pushed" not in bench.body + comment["body"]
    assert steps(pushed) == []

    # Commits that change nothing of this logbook, pushed or not.
    (bench.folder / "other.py").write_text("pass\n")
    pushed.commit("Not pushed yet", "other.py")
    assert steps(pushed) == []
    assert pushed.push() != sha
    assert steps(pushed) == []
    assert bench.comments == [comment]
    assert entry_links(pushed, bench.block, sha)

    # What was edited since is not what stands there.
    bench.ok("edit", first, "--next", "look closer")
    assert steps(pushed)[-1] == f"edit comment N: {first}, {second}"
    [edited] = bench.comments
    assert set(entry_links(pushed, edited["body"], sha)) == {second}
    assert edited["body"].count("- In the logbook: not pushed") == 1
    assert "look closer" in edited["body"]
    assert edited["id"] == comment["id"]
    last = pushed.publish()
    assert steps(pushed)[-1] == f"edit comment N: {first}, {second}"
    assert set(entry_links(pushed, bench.comments[0]["body"], last)) == {first, second}
    assert steps(pushed) == []


def test_a_clone_that_knows_of_no_push_takes_no_links_away_for_good(pushed: Pushed) -> None:
    bench = pushed.bench
    first, second = bench.notes(2)
    pushed.publish()
    bench.sync("--create")
    sha = pushed.publish()
    bench.sync()
    pushed.git("update-ref", "-d", "refs/remotes/origin/main")
    assert steps(pushed) == [BLOCK], "the block says what is known here"
    bench.ok("edit", first, "--next", "look closer")
    assert f"edit comment N: {first}, {second}" in steps(pushed)
    pushed.git("update-ref", "refs/remotes/origin/main", sha)
    bench.sync()
    assert second in entry_links(pushed, bench.comments[0]["body"], sha)
    assert steps(pushed) == []


def test_no_remote_is_said(bench: Bench, git: Callable[..., str]) -> None:
    bench.note()
    git("add", ".")
    git("commit", "-q", "-m", "All")
    data = bench.sync("--create")
    assert data["not_pushed"] == "not pushed: there is no git remote"
    assert "- Logbook: not pushed: there is no git remote" in bench.block


# -- --commit ----------------------------------------------------------------------------------------


def dirtied(pushed: Pushed) -> str:
    """What git shows of the user's own changes: one staged, one staged and changed again, one not, one untracked."""
    place = pushed.bench.folder
    (place / "bench.py").write_text("print(2)\n")
    (place / "staged.py").write_text("staged\n")
    (place / "twice.py").write_text("one\n")
    pushed.git("add", "staged.py", "twice.py")
    (place / "twice.py").write_text("two\n")
    (place / "untracked.py").write_text("new\n")
    return outside(pushed)


def outside(pushed: Pushed) -> str:
    spec = ("--", ".", ":(exclude)logbooks")
    shown = [("status", "--porcelain=v1", "-z", *spec), ("diff", *spec), ("diff", "--cached", *spec)]
    return "\n".join(pushed.git(*words) for words in shown)


def committed_paths(pushed: Pushed) -> set[str]:
    return set(pushed.git("show", "--name-only", "--format=", "HEAD").splitlines())


def test_nothing_to_commit_is_fine(pushed: Pushed) -> None:
    bench = pushed.bench
    bench.note()
    bench.sync("--create")
    head = pushed.publish()
    bench.sync()
    pushed.commit("All")
    head = pushed.head
    assert bench.sync("--commit")["commit"] is None
    assert pushed.head == head
    bench.sync("--commit", "--dry-run")
    assert pushed.head == head


def test_a_dry_run_commits_nothing(pushed: Pushed) -> None:
    pushed.publish()
    pushed.bench.note()
    head = pushed.head
    assert pushed.bench.sync("--create", "--commit", "--dry-run")["commit"] is None
    assert pushed.head == head


@pytest.mark.parametrize("fault", [faults.unauthorized(), faults.locked(), faults.dropped()], ids=lambda f: f.name)
@pytest.mark.sample(1)
def test_the_records_are_committed_though_the_host_refuses(pushed: Pushed, fault: faults.Fault) -> None:
    bench = pushed.bench
    bench.note()
    bench.sync("--create")
    pushed.publish()
    entry_id = bench.note("Another")
    before, head = dirtied(pushed), pushed.head
    bench.github.rules.add("POST|PATCH" if fault.name == "locked" else ".*", ".", fault)
    answer = bench.cli("sync", "--commit")
    assert answer.code == 4
    assert pushed.head != head
    assert f"committed: {pushed.head[:9]}" in answer.err
    assert f"logbooks/moe/entries/{entry_id}.yaml" in committed_paths(pushed)
    assert outside(pushed) == before
    bench.github.rules.clear()
    sha = pushed.push()
    bench.sync()
    assert entry_id in entry_links(pushed, bench.comments[-1]["body"], sha)
