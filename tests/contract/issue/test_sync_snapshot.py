"""`logbook snapshot`: an annotated tag at a pushed commit, told once, refused where others could not have it."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from tests.contract.issue.pushed_support import Pushed, refused, tags
from tests.contract.issue.sync_support import Bench
from tests.emulator import faults

pytestmark = pytest.mark.slow

VIEW = "logbooks/moe.md"
ROW = {
    "config": {"quant_mode": "int8", "topk": 2},
    "metrics": {"tflops": {"samples": [239.5], "unit": "TF/s", "direction": "max"}},
    "devices": [{"platform": "tpu", "kind": "TPU v5p", "count": 8, "used": 4}],
}
COMMAND = ["bash", "-c", f"echo 'RESULT_JSON {json.dumps(ROW)}'"]


def run(bench: Bench, *options: str, command: list[str] = COMMAND) -> str:
    bench.ok("run", "--title", "Int8", *options, "--", *command)
    return bench.book.entry_ids()[-1]


def snapshot(bench: Bench, name: str = "moe-1", *args: str) -> Any:
    return bench.ok("snapshot", name, *args, "--json").data


def told(bench: Bench, name: str = "moe-1") -> list[dict[str, Any]]:
    """The comments about a snapshot."""
    return [comment for comment in bench.of_kind("snapshot") if f"[{name}]" in comment["body"]]


@pytest.fixture
def ready(pushed: Pushed) -> Pushed:
    """One experiment and a note, published; its issue is up to date."""
    run(pushed.bench, "--env", "XLA_FLAGS=--xla_x=1 --xla_y")
    pushed.bench.note("No experiment")
    pushed.publish()
    pushed.bench.sync("--create")
    return pushed


def test_a_tag_object_a_ref_and_one_comment(ready: Pushed) -> None:
    bench, sha = ready.bench, ready.head
    answer = bench.ok("snapshot", "moe-1", "--message", "Int8 before the move", "--json")
    parsed = json.loads(answer.out)
    assert set(parsed) == {"schema", "data", "warnings"}
    assert (parsed["schema"], parsed["warnings"]) == ("logbook/snapshot/1", [])
    data = answer.data
    url = f"{bench.github.web}/{bench.repo}/tree/moe-1"
    assert (data["name"], data["commit"], data["url"], data["created"]) == ("moe-1", sha, url, True)
    tag = bench.github.tag(bench.repo, "moe-1")
    assert (tag["object"]["sha"], tag["object"]["type"]) == (sha, "commit")
    assert tag["message"] == "Int8 before the move"
    assert tag["tagger"]["date"]
    assert tags(bench) == ["refs/tags/moe-1"]

    [comment] = told(bench)
    body = comment["body"]
    assert f"## Snapshot [moe-1]({url})" in body
    assert f"- Commit: [{sha}]({bench.github.web}/{bench.repo}/commit/{sha})" in body
    assert f"- [Logbook]({ready.blob(sha, VIEW)})" in body
    fence = body.split("```bash\n")[1].split("\n```")[0]
    assert shlex.split(fence.replace("\\\n", ""))[-3:] == COMMAND, "what is copied is what was run"
    assert "- devices: 8 × tpu (TPU v5p), 4 used; host " in body
    assert "XLA_FLAGS='--xla_x=1 --xla_y'" in body
    [row] = [line for line in body.splitlines() if line.startswith("| [MOE-000]")]
    assert "239.500 TF/s" in row
    assert "quant_mode=int8" in row + body
    at = int(row.split(f"{VIEW}?plain=1#L")[1].split(")")[0])
    assert f"{ready.blob(sha, VIEW)}?plain=1#L{at}" in row
    assert "MOE-000" in ready.line(sha, VIEW, at)
    assert "No experiment" not in body

    assert f"- Snapshot [moe-1]({url})" in bench.block
    assert f"- Snapshot moe-1: {url}" in bench.book.view_path.read_text()
    [recorded] = bench.book.header.snapshots
    assert (recorded.name, recorded.commit, recorded.url, recorded.last_entry) == ("moe-1", sha, url, "MOE-001")

    writes = len(bench.github.writes)
    again = snapshot(bench)
    assert (again["created"], again["commit"], again["sync"]["steps"]) == (False, sha, [])
    assert bench.sync()["steps"] == []
    assert len(bench.github.writes) == writes


def test_the_tag_is_set_where_the_code_is(ready: Pushed) -> None:
    """The issue may be in another repository."""
    bench = ready.bench
    code = bench.github.new_repo()
    ready.git("remote", "set-url", "origin", f"{bench.github.web}/{code}.git")
    snapshot(bench)
    assert bench.github.tag(code, "moe-1")["object"]["sha"] == ready.head
    assert tags(bench) == []
    [comment] = told(bench)
    assert f"## Snapshot [moe-1]({bench.github.web}/{code}/tree/moe-1)" in comment["body"]
    assert f"{bench.github.web}/{code}/blob/{ready.head}/{VIEW}?plain=1#L" in comment["body"]


def test_entries_and_a_default_message(pushed: Pushed) -> None:
    """Without an issue the comment comes with the first sync."""
    bench = pushed.bench
    for title in ("Not this", "Only this"):
        run(bench, "--label", title, command=["bash", "-c", "echo RESULT tflops=1"])
    pushed.publish()
    answer = bench.ok("snapshot", "release/1.0", "--entry", "MOE-001", "--json")
    assert answer.data["sync"] is None
    assert len(json.loads(answer.out)["warnings"]) == 1
    assert bench.github.tag(bench.repo, "release/1.0")["message"] == "Snapshot release/1.0"
    assert bench.book.header.snapshots[0].entries == ["MOE-001"]
    bench.sync("--create")
    [comment] = told(bench, "release/1.0")
    assert [words in comment["body"] for words in ("MOE-001", "Only this:", "MOE-000")] == [True, True, False]
    assert bench.sync()["steps"] == []


def test_what_came_later_is_not_in_it(ready: Pushed) -> None:
    """The comment says what stood there, also when it is written after more was done."""
    bench = ready.bench
    bench.github.rules.add("POST", "/comments$", faults.unauthorized())
    assert "moe-1" in refused(bench, 4, "snapshot", "moe-1")["message"]
    assert tags(bench) == ["refs/tags/moe-1"]
    bench.github.rules.clear()
    later = run(bench)
    bench.sync()
    assert later not in told(bench)[0]["body"]


# -- what is allowed -------------------------------------------------------------------------------------


def test_a_changed_logbook_is_warned_about(ready: Pushed) -> None:
    bench = ready.bench
    bench.ok("edit", "MOE-000", "--next", "more")
    answer = bench.ok("snapshot", "moe-1", "--json")
    [warning] = json.loads(answer.out)["warnings"]
    assert "MOE-000" in warning
    assert "MOE-001" not in warning
    assert "git push" in warning
    assert tags(bench) == ["refs/tags/moe-1"]
    assert len(told(bench)) == 1


# -- lost answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["/git/tags$", "/git/refs$", "/comments$"])
@pytest.mark.parametrize("applied", [True, False], ids=["applied", "not_applied"])
@pytest.mark.sample(2)
def test_a_lost_answer_leaves_one_tag_and_one_comment(ready: Pushed, where: str, applied: bool) -> None:
    bench = ready.bench
    rule = bench.github.rules.add("POST", where, faults.bad_gateway(applied=applied), times=1)
    data = snapshot(bench)
    assert rule.met == 1
    assert data["created"] is True
    assert tags(bench) == ["refs/tags/moe-1"]
    assert bench.github.tag(bench.repo, "moe-1")["object"]["sha"] == ready.head
    assert len(told(bench)) == 1
    assert bench.sync()["steps"] == []


@pytest.mark.parametrize(
    ("fault", "code"), [(faults.forbidden(), "forbidden"), (faults.missing(), "issue_missing")], ids=["403", "404"]
)
def test_a_token_that_may_not_tag(ready: Pushed, fault: faults.Fault, code: str) -> None:
    bench = ready.bench
    bench.github.rules.add("POST", "/git/", fault)
    assert refused(bench, 4, "snapshot", "moe-1")["code"] == code
    assert bench.book.header.snapshots is None
    assert told(bench) == []
