"""Calls of tools are command lines: what each argument becomes, how large an answer may be, what a run meets."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.contract.agents.mcp.test_mcp_tools import call
from tests.contract.report.live.live_support import wait_for
from tests.seams import mcp_document, mcp_tool, mcp_tools
from tests.stored import at

pytestmark = pytest.mark.slow

SIDES = ["sh", "-c", "echo METRIC tflops={axis}.$LOGBOOK_RUN"]
WAITS = ["sh", "-c", "touch began; exec sleep 60"]


def options_of(cli: Cli, command: str) -> set[str]:
    return {word.strip(",") for word in cli(command, "--help").out.split() if word.startswith("--")} | {"--logbook"}


def test_each_argument_is_an_option_of_its_command(cli: Cli) -> None:
    for tool in mcp_tools():
        chosen = {f"--{tool.chosen_by}"} - {"--digest"}
        names = {*tool.names} - {*tool.behind.split()}
        options = {f"--{name.removesuffix('_s').replace('_', '-')}" for name in names} - chosen
        commands = {words.split()[0] for words in (tool.command, *tool.commands.values()) if words}
        assert options <= {one for command in commands for one in options_of(cli, command)}, tool.name


def test_an_entry_is_decided_cited_and_judged(started: Cli, folder: Path) -> None:
    assert started("run", "--", "echo", "METRIC tflops=12.5 TF/s").code == 0
    call(folder, "record", action="note", text="first", interpretation="it reaches [[MOE-000 tflops]]")
    assert started("show", "MOE-001", "--json").data["fields"][-1]["text"] == "it reaches [[MOE-000 tflops]]"
    assert "it reaches 12.500 TF/s" in mcp_document(folder, "logbook://moe/entry/MOE-001")
    assert "12.500 TF/s" in mcp_document(folder, "logbook://moe/view")
    kept = call(folder, "record", action="keep", id="MOE-000", why="fast")
    assert (kept["schema"], kept["data"]["decides"], kept["data"]["kept"]) == ("logbook/keep/1", "MOE-000", True)
    discarded = call(folder, "record", action="discard", id="MOE-000", why="not so fast")
    assert (discarded["schema"], discarded["data"]["kept"]) == ("logbook/discard/1", False)
    assert call(folder, "record", action="discard", id="MOE-000")["error"]["code"] == "usage"
    assert call(folder, "record", action="edit", id="MOE-000", title="@x")["data"]["title"] == "@x"


def test_a_wait_returns_the_answer_of_a_comparison(started: Cli, folder: Path) -> None:
    begun = call(folder, "run", subcommand="ab", axis="size=1,2", pairs=8, seed=0, argv=SIDES)
    entry = begun["data"]["id"]
    waited = call(folder, "wait", ids=[entry])["data"]
    assert waited["answers"] == [started("compare", entry, "--json").data["answer"]]
    assert waited["answers"][0]["findings"]
    assert len(waited["ended"][0]["runs"]) + waited["ended"][0]["runs_left_out"] == 16
    stated = at(folder / f"logbooks/moe/entries/{entry}.yaml").read_text()
    assert "seed: 0\n" in stated


def test_what_still_runs_shows_its_output(started: Cli, folder: Path) -> None:
    begun = call(folder, "run", argv=["sh", "-c", "echo going; touch began; exec sleep 60"])["data"]["id"]
    wait_for((folder / "began").exists)
    waited = call(folder, "wait", timeout_s=0.5)["data"]
    assert (waited["timeout"], waited["output"][0]["id"], waited["output"][0]["lines"][1]) == (True, begun, "going")
    assert call(folder, "cancel", id=begun)["data"]["ended"]


def test_a_run_says_what_it_meets(started: Cli, folder: Path) -> None:
    one = call(folder, "run", argv=WAITS)
    assert one["warnings"] == []
    wait_for((folder / "began").exists)
    other = call(folder, "run", argv=["true"])
    assert any(f"logbook wait {one['data']['id']}" in said for said in other["warnings"])
    again = call(folder, "run", id=one["data"]["id"], argv=["true"])
    assert any(f"another run of {one['data']['id']}" in said for said in again["warnings"])
    call(folder, "plan", title="later", command=[f"A: {shlex.join(WAITS)}", "B: true"])
    plan = started("list", "--state", "planned", "--json").data[0]["id"]
    assert call(folder, "run", id=plan)["data"]["id"] == plan
    assert call(folder, "run", id=plan)["error"]["code"] == "locked"
    for entry in (one["data"]["id"], plan):
        assert call(folder, "cancel", id=entry)["schema"] == "logbook/cancel/1"


def test_agents_in_two_worktrees_execute_each_others_plans(
    git: Callable[..., str], started: Cli, folder: Path, tmp_path: Path
) -> None:
    one, other = folder, tmp_path / "other"
    command = f"A: sh -c 'touch {one}/began; until [ -e {one}/end ]; do sleep 0.1; done; echo METRIC tflops=1'"
    call(one, "plan", title="from one", command=[command])
    git("add", "logbooks")
    git("commit", "-qm", "plan")
    git("worktree", "add", "-q", "-b", "other", str(other))
    assert call(other, "run", id="MOE-000")["data"]["id"] == "MOE-000"
    wait_for((one / "began").exists)
    met = call(one, "run", id="MOE-000")["error"]
    assert (met["code"], str(other) in met["message"]) == ("locked", True), met
    (one / "end").touch()
    assert call(other, "wait", ids=["MOE-000"])["data"]["ended"][0]["state"] == "finished"
    again = call(one, "run", id="MOE-000")["error"]
    assert f"was executed already, in {other}" in again["message"], again


def test_a_comparison_is_planned_and_taken_up_by_its_id(started: Cli, folder: Path) -> None:
    words = ["sh", "-c", "echo METRIC tflops={axis}.$LOGBOOK_RUN"]
    planned = call(folder, "run", subcommand="plan_ab", axis="n=1,2", argv=words, seed=0, title="Two")["data"]
    assert (planned["id"], planned["run"]) == ("MOE-000", "logbook ab --id MOE-000")
    assert not (folder / "logbooks/moe/runs").exists()
    # What runs is said by the entry alone.
    assert call(folder, "run", id="MOE-000")["error"]["hint"] == "logbook ab --id MOE-000"
    assert call(folder, "run", subcommand="ab", id="MOE-000", max_pairs=10)["data"]["id"] == "MOE-000"
    [answer] = call(folder, "wait", ids=["MOE-000"])["data"]["answers"]
    assert (answer["id"], answer["pairs"]) == ("MOE-000", 10)
    like = call(folder, "run", subcommand="ab", axis="n=1,3", like="MOE-000", max_pairs=1)["data"]
    assert like["id"] == "MOE-001"
    assert call(folder, "wait", ids=["MOE-001"])["data"]["answers"][0]["pairs"] == 1


def test_a_log_of_each_run(started: Cli, folder: Path) -> None:
    for number in (1, 2):
        assert started("run", *([] if number == 1 else ["--id", "MOE-000"]), "--", "echo", f"run {number}").code == 0
    for run in ("1", at(folder / "logbooks/moe/runs/MOE-000/01").name):
        assert call(folder, "show", id=f"MOE-000/{run}", tail=5)["data"]["lines"][1] == "run 1"
        assert call(folder, "show", id=f"MOE-000/{run}")["data"]["run"] == 1
    assert "\nrun 1\n" in mcp_document(folder, "logbook://moe/log/MOE-000/1")
    assert started("show", "MOE-000/2", "--log").out == "run 2\n"
    assert started("show", "MOE-000/3", "--log").err.startswith("error: no run MOE-000/3\n")


def test_a_large_answer_is_cut_and_says_how_to_get_all(started: Cli, folder: Path) -> None:
    rows = "for i in range(3000): print(f'RESULT size={i} tflops={i}.5')"
    assert started("run", "--", "python3", "-c", rows).code == 0
    answer: dict[str, Any] = call(folder, "show", id="MOE-000", full=True)
    assert len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()) < 31_000
    [said] = answer["warnings"]
    assert "data.runs.rows: " in said
    assert " of 3,000" in said
    command = shlex.split(said.rpartition("all of it: ")[2])
    whole = json.loads(started(*command[1:]).out)
    assert len(whole["data"]["runs"][0]["rows"]) == 3000


def test_what_does_not_fit_is_refused(started: Cli, folder: Path) -> None:
    for given, said in (
        ({"subcommand": "ab", "axis": "n=1,2", "label": "x"}, "No such option: --label"),
        ({"axis": "n=1,2", "argv": ["a"]}, "No such option: --axis"),
        ({"subcommand": "ab", "argv": ["a"]}, "nothing to compare"),
        ({"code": ["main"], "argv": ["a"]}, "run: code: ['main'] is too short"),
        ({"argv": ["a", 1]}, "run: argv[1]: 1 is not of type 'string'"),
        ({"argv": "a b"}, "run: argv: 'a b' is not of type 'array'"),
        ({"repeat": True, "argv": ["a"]}, "run: repeat: True is not of type 'integer'"),
        ({"argvs": ["a"]}, "('argvs' was unexpected)"),
        ({"argv": ["x" * 200_000]}, "fits in no command line"),
        ({"subcommand": "sync"}, "'sync' is not one of ['run', 'ab', 'plan_ab', 'sweep']"),
    ):
        error = call(folder, "run", **given)["error"]
        assert error["code"] == "usage"
        assert said in error["message"], error
    assert call(folder, "record", text="x")["error"]["message"] == "record: 'action' is a required property"
    assert started("list", "--json").data == []


def test_a_text_is_the_text_and_names_no_file(started: Cli, folder: Path) -> None:
    for text in ("-", "@x", "@-", "--title"):
        made = call(folder, "record", action="note", text="T", hypothesis=text, field={"Goal": text})["data"]["id"]
        texts = [one["text"] for one in started("show", made, "--json").data["fields"]]
        assert texts == [text, text]


def test_null_is_not_given_and_a_whole_number_may_have_a_point(started: Cli, folder: Path) -> None:
    assert started("start", "other", "--goal", "G", "--prefix", "OTHER", "--metric", "t:min:s").code == 0
    chosen = mcp_tool(folder, "status", {"logbook": None}, logbook="other")
    assert chosen["data"]["logbook"]["topic"] == "other"
    asked = call(folder, "run", logbook="other", repeat=2.0, argv=["true"], label=None)
    assert "data" in asked, asked
    assert started("wait", asked["data"]["id"]).code == 0
