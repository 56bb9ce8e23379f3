"""Links lead to the commit that is pushed, and to nothing when there is none."""

from __future__ import annotations

import re

import pytest

from tests.contract.issue.pushed_support import Pushed

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
    assert pushed.steps() == ["block", f"edit comment N: {first}, {second}"]
    [comment] = bench.comments
    assert set(entry_links(pushed, comment["body"], sha)) == {first, second}
    assert set(entry_links(pushed, bench.block, sha)) == {second}, "the last entry"
    assert f"- [Logbook]({pushed.blob(sha, VIEW)})" in bench.block
    assert "not pushed" not in bench.body + comment["body"]
    assert pushed.steps() == []

    # Commits that change nothing of this logbook, pushed or not.
    (bench.folder / "other.py").write_text("pass\n")
    pushed.commit("Not pushed yet", "other.py")
    assert pushed.steps() == []
    assert pushed.push() != sha
    assert pushed.steps() == []
    assert bench.comments == [comment]
    assert entry_links(pushed, bench.block, sha)

    # What was edited since is not what stands there.
    bench.ok("edit", first, "--next", "look closer")
    assert pushed.steps()[-1] == f"edit comment N: {first}, {second}"
    [edited] = bench.comments
    assert set(entry_links(pushed, edited["body"], sha)) == {second}
    assert edited["body"].count("- In the logbook: not pushed") == 1
    assert "look closer" in edited["body"]
    assert edited["id"] == comment["id"]
    last = pushed.publish()
    assert pushed.steps()[-1] == f"edit comment N: {first}, {second}"
    assert set(entry_links(pushed, bench.comments[0]["body"], last)) == {first, second}
    assert pushed.steps() == []
