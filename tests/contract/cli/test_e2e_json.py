"""Every command's --json: one JSON value with its schema name on stdout, and nothing else there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.stored import at

pytestmark = pytest.mark.slow

PRINTS = ["bash", "-c", "echo RESULT tflops=2 topk=1; echo RESULT tflops=3 topk=2; echo noise >&2; printf 'no end'"]
CALLS: dict[str, list[str]] = {
    "start": ["start", "other", "--prefix", "OTHER", "--json"],
    "run": ["run", "--json", "--config", "a=b", "--", *PRINTS],
    "wait": ["wait", "MOE-000", "--json"],
    "executors": ["executors", "--json"],
    "plan": ["note", "--plan", "--title", "x", "--command", "true", "--json"],
    "note": ["note", "--title", "x", "--json"],
    "edit": ["edit", "MOE-000", "--next", "x", "--json"],
    "list": ["list", "--json"],
    "show": ["show", "MOE-000", "--json"],
    "status": ["--json", "status"],
    "next": ["next", "--json"],
    "baseline": ["baseline", "--json"],
    "table": ["table", "MOE-000", "--json"],
    "export": ["export", "--as", "csv", "--json"],
    "plot": ["plot", "--json"],
    "noise": ["run", "--noise", "--repeat", "6", "--json", "--", "echo", "METRIC tflops=1"],
    "ab": ["ab", "--axis", "a=1,2", "--pairs", "1", "--json", "--", "echo", "METRIC tflops={axis}"],
    "sweep": ["sweep", "null-routing", "--scale", "tiny", "--dry-run", "--json"],
    "compare": ["compare", "MOE-000", "--axis", "topk", "--json"],
    "criteria": ["criteria", "--json"],
    "sync": ["sync", "--create", "--dry-run", "--json"],
    "link": ["link", "acme/moe#7", "--as", "Prior issue", "--json"],
    "close": ["close", "--reopen", "--json"],
    "report": ["report", "--json"],
    "agents": ["agents", "install", "--json"],
    "publish": ["publish", "--file", "moe.html", "--json"],
    "render": ["render", "--json"],
    "doctor": ["doctor", "--json"],
    "mcp": ["mcp", "--json"],
    "keep": ["keep", "MOE-000", "--json"],
    "discard": ["discard", "MOE-000", "--why", "slower", "--json"],
}

# Of a file that cites, and of a run or a patch in a repository: agents. Of logs of others: imports. A snapshot is made
# of what is pushed: issue; base and head are two commits: issue; what runs can be ended: running; what goes on until it
# is ended: report.
ELSEWHERE = ("cite", "import", "reproduce", "patch", "snapshot", "cancel", "ci", "watch")


@pytest.fixture
def filled(started: Cli) -> Cli:
    assert started("run", "--title", "rows", "--", *PRINTS).code == 0
    assert started("note", "--plan", "--title", "later", "--command", "echo RESULT tflops=1").code == 0
    return started


def test_json_of_a_log_and_of_what_was_tried(filled: Cli) -> None:
    """One command, another schema: its data have another shape."""
    log = json.loads(filled("show", "MOE-000", "--log", "--tail", "1", "--json").out)
    assert (log["schema"], log["data"]) == ("logbook/log/1", {"id": "MOE-000", "run": 1, "lines": ["no end"]})
    assert json.loads(filled("list", "--tried", "--json").out)["schema"] == "logbook/tried/1"


def test_show_of_one_run(filled: Cli) -> None:
    assert filled("run", "--id", "MOE-000", "--json", "--config", "a=c", "--", "echo", "METRIC", "tflops=9").code == 0
    text = filled("show", "MOE-000/2").out
    assert ("echo METRIC tflops=9" in text, "noise" in text, "rows, run 2" in text) == (True, False, True)
    assert re.search(r"Output: `\S*logbooks/moe/runs/MOE-000\S*/02\S*/output.log`", text), text
    run = filled("show", "MOE-000/2", "--json").data
    assert (run["id"], run["run"], run["command"]) == ("MOE-000", 2, "echo METRIC tflops=9")
    assert run["rows"][0]["config"] == {"a": "c"}
    assert Path(run["log"]).read_text() == filled("show", "MOE-000/2", "--log").out
    assert filled("show", "MOE-000/1", "--tail", "1").out == "no end"
    hint = filled("show", "MOE-000/1", "--full").err
    typed = hint[hint.index("logbook ") :].split()[1:]
    assert filled(*typed).data["output"]["tail"][-1] == "no end"
    unknown = filled("show", "MOE-000/7", "--json")
    assert (unknown.code, unknown.error["code"]) == (2, "not_found")
    assert re.search(r"MOE-000\b.*\b7\b", unknown.error["message"])
    assert unknown.error["cause"] == "its runs are 1, 2"


def test_every_command_is_here_or_elsewhere(cli: Cli) -> None:
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", cli("--help").out.partition("Daily:")[2], re.MULTILINE)
    assert len(listed) > 30
    assert {*listed} - {*CALLS, *ELSEWHERE} == set()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.sample(8)
def test_json(filled: Cli, name: str) -> None:
    answer = filled(*CALLS[name])
    assert answer.code == 0, answer.err
    parsed = json.loads(answer.out)
    assert set(parsed) == {"schema", "data", "warnings"}
    assert parsed["schema"] == f"logbook/{name}/1"
    assert parsed["data"]
    assert parsed["warnings"] == []
    assert "warning" not in answer.err


def test_warnings_are_part_of_the_json(filled: Cli, folder: Path) -> None:
    at(folder / "logbooks/moe/entries/MOE-000.yaml").write_text("title: [")
    for name in ("list", "status", "render", "note"):
        answer = filled(*CALLS[name])
        [warning] = json.loads(answer.out)["warnings"] or [""]
        assert "MOE-000" in warning or name == "note"
        assert answer.err == ""


def test_json_of_a_failed_run_and_of_unusual_values(filled: Cli) -> None:
    script = "echo 'RESULT tflops=nan topk=1'; echo 'RESULT tflops=inf topk=2'; echo $'\\xff\\x00' ; kill -9 $$"
    answer = filled("run", "--json", "--", "bash", "-c", script)
    assert answer.code == 137
    data = json.loads(answer.out, parse_constant=lambda c: pytest.fail(f"{c} is not JSON"))["data"]
    assert data["exit_status"] == 137
    assert data["runs"][0]["exit"] == {"signal": "SIGKILL"}
    for words in (["show", data["id"]], ["list"], ["status"], ["table", data["id"]]):
        json.loads(filled(*words, "--json").out, parse_constant=lambda c: pytest.fail(f"{c} is not JSON"))


def test_without_json_stdout_is_the_commands_own(filled: Cli) -> None:
    answer = filled("run", "--", "bash", "-c", "echo out; echo err >&2")
    assert answer.out == "out\n"
    assert answer.err.startswith("err\n")
