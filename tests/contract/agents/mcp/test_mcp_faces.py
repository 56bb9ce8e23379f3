"""CLI, API and MCP are three faces of the same functions: the same question has the same answer."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.contract.agents.mcp.test_mcp_tools import LABEL, call
from tests.contract.report.live.live_support import wait_for
from tests.seams import Logbook, sync

pytestmark = pytest.mark.slow

SIDES = ["sh", "-c", "echo METRIC tflops={axis}.$LOGBOOK_RUN"]


@pytest.fixture
def filled(started: Cli) -> Cli:
    assert started("run", "--title", "rows", "--", "sh", "-c", "echo RESULT tflops=2 topk=1; echo seen").code == 0
    assert started("run", "--label", "fails", "--", "sh", "-c", "exit 3").code == 3
    assert started("ab", "--axis", "size=1,2", "--pairs", "8", "--seed", "1", "--", *SIDES).code == 0
    assert started("note", "--plan", "--title", "later", "--command", "echo METRIC tflops=2").code == 0
    return started


def without_fences(data: Any) -> Any:
    """The answer as it was before output was fenced."""
    if isinstance(data, dict):
        return {key: without_fences(value) for key, value in data.items()}
    if isinstance(data, list):
        is_fenced = data and isinstance(data[0], str) and data[0].endswith(LABEL)
        return data[1:-1] if is_fenced else [without_fences(value) for value in data]
    if isinstance(data, str) and data.partition("\n")[0].endswith(LABEL):
        return "\n".join(data.split("\n")[1:-1])
    return data


def plain(data: object) -> Any:
    return json.loads(json.dumps(data))


# Of each tool that reads: its arguments, the words of the command, and the call of the API where there is one.
READS: dict[str, tuple[str, dict[str, Any], list[str], Callable[[Logbook], object] | None]] = {
    "status": ("status", {}, ["status"], lambda book: book.status()),
    "small": ("status", {"budget": 2000}, ["status", "--budget", "2000"], None),
    "words": ("search", {"words": ["seen"]}, ["list", "seen"], lambda book: book.search("seen")),
    "none": ("search", {"last": 0}, ["list", "--last", "0"], None),
    "tried in a state": ("search", {"tried": True, "state": "failed"}, ["list", "--tried", "--state", "failed"], None),
    "full": ("show", {"id": "MOE-000", "full": True}, ["show", "MOE-000", "--full"], None),
    "log": ("show", {"id": "MOE-000", "tail": 5}, ["show", "MOE-000", "--tail", "5"], None),
    "whole log": ("show", {"id": "MOE-000", "tail": 10**30}, ["show", "MOE-000", "--tail", str(10**30)], None),
    "answer": ("compare", {"references": ["MOE-002"]}, ["compare", "MOE-002"], lambda book: book.compare("MOE-002")),
    "numbers": (
        "compare",
        {"references": ["MOE-000", "MOE-002"], "metric": ["tflops"]},
        ["compare", "MOE-000", "MOE-002", "--metric", "tflops"],
        lambda book: book.compare("MOE-000", "MOE-002", metrics=["tflops"]),
    ),
    "sync": (
        "sync",
        {"create": True, "repo": "acme/moe"},
        ["sync", "--create", "--repo", "acme/moe", "--dry-run"],
        lambda book: sync(book, create=True, repository="acme/moe", dry_run=True),
    ),
}


def test_the_same_question_has_the_same_answer(filled: Cli, folder: Path) -> None:
    for name, (tool, given, words, asked) in READS.items():
        said = json.loads(filled(*words, "--json").out)
        answer = call(folder, tool, **given)
        if name == "small":
            assert len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()) <= given["budget"]
            assert answer["data"]["logbook"] == said["data"]["logbook"]
            continue
        assert without_fences(answer) == said, name
        if asked is not None:
            assert plain(asked(Logbook.open())) == said["data"], name


def test_what_is_written_is_the_same(started: Cli, folder: Path) -> None:
    """Each face writes an entry of its own; the entries differ in nothing but ID and time."""
    texts = {"hypothesis": "faster", "next": "more"}
    started("note", "One", "--kind", "decision", "--hypothesis", "faster", "--next", "more")
    Logbook.open().note("One", kind="decision", fields={"Hypothesis": "faster", "Next action": "more"})
    assert call(folder, "record", action="note", text="One", kind="decision", **texts)["data"]["id"] == "MOE-002"
    assert started("note", "--plan", "--title", "Two", "--command", "A: true").code == 0
    assert call(folder, "plan", title="Two", command=["A: true"])["schema"] == "logbook/plan/1"
    for entry_id in ("MOE-000", "MOE-001", "MOE-002"):
        call(folder, "record", action="edit", id=entry_id, interpretation="so")
    shown = [started("show", f"MOE-00{n}", "--json").data for n in range(5)]
    for one in shown:
        del one["id"], one["opened"]
    assert shown[0] == shown[2]
    assert {f["label"]: f["text"] for f in shown[0]["fields"]} == {f["label"]: f["text"] for f in shown[1]["fields"]}
    assert shown[3] == shown[4]
    assert call(folder, "record", action="summary", summary="Half way")["data"] == started("status", "--json").data
    assert plain(Logbook.open().status())["summary"] == "Half way"
    started("criteria", "--add", "It is faster")
    number = len(started("criteria", "--json").data["criteria"])
    judged = call(folder, "record", action="criterion", met=number, evidence="MOE-000")
    assert judged["data"] == started("criteria", "--json").data
    assert judged["data"]["criteria"][-1]["met"]


def test_runs_are_the_same(started: Cli, folder: Path) -> None:
    argv = ["sh", "-c", "echo METRIC tflops=2; echo out"]
    by_cli = started("run", "--title", "One", "--config", "n=1", "--detach", "--json", "--", *argv).data
    # Where both run at once, the second one says so.
    assert started("wait", by_cli["id"]).code == 0
    by_mcp = call(folder, "run", title="One", config={"n": 1}, argv=argv)
    assert by_mcp["schema"] == "logbook/run/1"
    assert by_mcp["data"].keys() == by_cli.keys()
    ids = [by_cli["id"], by_mcp["data"]["id"]]
    assert without_fences(call(folder, "wait", ids=ids)) == json.loads(started("wait", *ids, "--json").out)
    one, other = (started("show", entry_id, "--json").data for entry_id in ids)
    for run in (*one["runs"], *other["runs"]):
        for name in ("started", "duration_s", "log", "busy"):
            run.pop(name, None)
    assert one["runs"] == other["runs"]
    assert one["title"] == other["title"]


def test_a_run_that_goes_on_is_cancelled(started: Cli, folder: Path) -> None:
    waits = ["sh", "-c", "touch $LOGBOOK_ENTRY_ID; exec sleep 60"]
    ids = [
        call(folder, "run", argv=waits)["data"]["id"],
        started("run", "--detach", "--json", "--", *waits).data["id"],
    ]
    # One that is ended before its command has begun says so instead.
    wait_for(lambda: all((folder / entry_id).exists() for entry_id in ids))
    began = time.monotonic()
    waited = call(folder, "wait", ids=ids, timeout_s=0.2)["data"]
    assert waited["timeout"]
    assert sorted(waited["going"]) == sorted(ids)
    assert time.monotonic() - began < 20
    by_mcp = call(folder, "cancel", id=ids[0])["data"]["ended"][0]
    by_cli = started("cancel", ids[1], "--json").data["ended"][0]
    assert by_mcp.keys() == by_cli.keys()
    assert by_mcp["state"] == by_cli["state"]


def test_a_sync_is_applied_by_its_digest_alone(filled: Cli, folder: Path) -> None:
    planned = call(folder, "sync", create=True, repo="acme/moe")["data"]
    again = call(folder, "sync", create=True, repo="acme/moe")["data"]
    assert planned["digest"] == again["digest"]
    assert planned["steps"]
    call(folder, "record", action="note", text="Something new")
    late = call(folder, "sync", create=True, repo="acme/moe", digest=planned["digest"])
    assert late["error"]["code"] == "usage"
    assert call(folder, "sync", create=True, repo="acme/moe")["data"]["digest"] != planned["digest"]
    assert os.path.lexists(folder / "logbooks/moe/logbook.yaml")
