"""`logbook snapshot` refuses what others could not have, and never moves a tag."""

from __future__ import annotations

import pytest

from tests.contract.issue.pushed_support import Pushed, refused, tags
from tests.contract.issue.sync_support import Bench

pytestmark = pytest.mark.slow


def nothing_happened(bench: Bench, writes: int) -> None:
    assert len(bench.github.writes) == writes
    assert tags(bench) == []
    assert bench.book.header.snapshots is None


def test_changes_outside_the_logbook_are_refused(published: Pushed) -> None:
    bench = published.bench
    (bench.folder / "bench.py").write_text("changed\n")
    for n in range(7):
        (bench.folder / f"new-{n}.py").write_text("new\n")
    writes = len(bench.github.writes)
    error = refused(bench, 2, "snapshot", "moe-1")
    assert "bench.py, new-0.py, new-1.py, new-2.py, new-3.py and 3 more" in error["message"]
    assert "commit" in error["hint"]
    assert "git stash -u" in error["hint"]
    nothing_happened(bench, writes)
    published.git("stash", "-u", "-q")
    bench.ok("snapshot", "moe-1")
    assert tags(bench) == ["refs/tags/moe-1"]


def test_a_head_that_is_not_pushed_is_refused(published: Pushed) -> None:
    bench = published.bench
    head = published.commit("Here alone")
    writes = len(bench.github.writes)
    error = refused(bench, 2, "snapshot", "moe-1")
    assert head[:9] in error["message"]
    assert "git push" in error["hint"]
    nothing_happened(bench, writes)


def test_a_commit_that_the_host_does_not_have_is_refused(published: Pushed) -> None:
    """Git takes it for pushed, and it went elsewhere."""
    bench = published.bench
    published.commit("Elsewhere")
    published.git("push", "-q", "origin", "HEAD:main")
    writes = len(bench.github.writes)
    assert published.head[:9] in refused(bench, 3, "snapshot", "moe-1")["message"]
    nothing_happened(bench, writes)


def test_no_repository_and_no_remote(bench: Bench, request: pytest.FixtureRequest) -> None:
    assert "git repository" in refused(bench, 2, "snapshot", "moe-1")["cause"]
    request.getfixturevalue("git")
    assert "no remote" in refused(bench, 2, "snapshot", "moe-1")["cause"]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-x",
        "a b",
        "a..b",
        "a.lock",
        "a/",
        "/a",
        "a//b",
        "a~1",
        "a:b",
        "a\nb",
        "é",
        "a@{1}",
        "v.",
        "x" * 101,
        "a/.b",
    ],
)
@pytest.mark.sample(4)
def test_names_that_are_none(bench: Bench, name: str) -> None:
    answer = bench.cli("snapshot", "--json", "--", name)
    assert answer.code == 2
    assert answer.error["code"] == "usage"
    assert answer.error["hint"].startswith("logbook snapshot ")
    assert bench.github.requests == []


def test_a_tag_that_stands_elsewhere_never_moves(published: Pushed) -> None:
    bench = published.bench
    bench.ok("snapshot", "moe-1")
    first = published.head
    published.commit("More")
    published.push()
    writes = len(bench.github.writes)
    for _ in range(2):
        error = refused(bench, 2, "snapshot", "moe-1")
        assert error["code"] == "taken"
        assert first[:9] in error["message"]
        assert published.head[:9] in error["message"]
        # As in a clone whose header does not know of it.
        text = bench.book.header_path.read_text()
        assert "snapshots:" in text or _ == 1
        bench.book.header_path.write_text(text.split("snapshots:")[0])
    assert len(bench.github.writes) == writes
    assert bench.github.tag(bench.repo, "moe-1")["object"]["sha"] == first
    bench.ok("snapshot", "moe-2")
    assert tags(bench) == ["refs/tags/moe-1", "refs/tags/moe-2"]


def test_a_dry_run_writes_nothing(published: Pushed) -> None:
    bench = published.bench
    writes, header = len(bench.github.writes), bench.book.header_path.read_bytes()
    data = bench.ok("snapshot", "moe-1", "--dry-run", "--json").data
    assert (data["created"], data["dry_run"], data["sync"]) == (True, True, None)
    nothing_happened(bench, writes)
    assert bench.book.header_path.read_bytes() == header
