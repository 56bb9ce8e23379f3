"""`status` on one page whatever the logbook holds: three lines of each section, and a count of what is left out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store

URL = "https://example.org/" + "x" * 3000
LONG = "the quick 𝔘nicode “fox” ✓ jumps over `null_frac=0.9` and so on; " * 12
OPENED = "2026-02-10T10:43:00+00:00"
STATES = (None, "planned", "blocked", "abandoned", None)
METRICS = [f"metric_{n}" for n in range(40)]


@pytest.fixture
def crowded(cli: Cli, folder: Path) -> Cli:
    """A logbook of 30 entries, all of whose texts and lists are long."""
    judgement = {"met": True, "evidence": URL, "by": LONG, "at": OPENED}
    store = Store(folder, "crowded")
    header = {
        "topic": "crowded", "title": LONG, "prefix": "MANY", "opened": OPENED, "goal": LONG, "summary": LONG * 20,
        "metrics": [{"name": name, "direction": "max", "unit": "TF/s", "text": LONG} for name in METRICS],
        "constraints": [LONG] * 30, "links": [{"label": LONG, "url": URL}] * 30,
        "baseline": {
            "config": {f"key_{n}": LONG for n in range(30)}, "source": LONG, "confidence": LONG,
            "numbers": [{"config": {"k": LONG}, "metrics": dict.fromkeys(METRICS, 1.5)}] * 30,
        },
        "stop_criteria": [{"text": LONG, "judgement": judgement}] * 30,
        "issue": {"url": f"https://ghe.example.org/{'o' * 100}/{'r' * 100}/issues/1234567890"},
        "closing": {"at": OPENED, "conclusion": LONG, "limitations": [LONG] * 30, "next_steps": [LONG] * 30},
    }  # fmt: skip
    store.write(store.header_path, header)
    labels = ("Hypothesis", "Result", "Interpretation", "Next action")
    fields = [{"label": label, "text": LONG} for label in labels]
    for n in range(30):
        entry = {"id": f"MANY-{n:03d}", "title": f"{n} {LONG}", "opened": OPENED, "fields": fields}
        state = {"state": STATES[n % 5]} if STATES[n % 5] else {}
        commands = {"commands": [{"argv": ["echo", LONG]}]} if n % 2 else {}
        store.write(store.entry_path(entry["id"]), entry | state | commands)
    for n in range(0, 30, 10):
        row = {"config": {"key": LONG}, "metrics": {name: {"samples": [float(n)]} for name in METRICS}}
        run = {
            "entry": f"MANY-{n:03d}", "run": 1, "argv": ["echo", LONG], "started": OPENED, "rows": [row],
            "ended": "2026-02-10T10:44:00+00:00", "exit": {"code": 0}, "problems": [LONG] * 20,
        }  # fmt: skip
        store.write(store.run_path(run["entry"], 1), run)
    return cli


@pytest.mark.slow
def test_status_stays_small_and_counts_what_it_cut(crowded: Cli) -> None:
    as_json = crowded("status", "--json")
    assert as_json.code == 0
    assert len(as_json.out.encode()) <= 8000
    data = as_json.data
    assert data["entries"]["total"] == 30
    left_out = data["left_out"]
    for key, count in (("links", 30), ("criteria", 30), ("metrics", 40), ("constraints", 30)):
        shown = len(data.get(key, ()))
        assert (left_out[key], shown in (0, 3)) == (count - shown, True), key
    # Of those without a state, every other one has planned commands.
    waiting = sum(n % 5 in (1, 2) or n % 10 in (5, 9) for n in range(30))
    assert left_out["open"] == waiting - sum(map(len, data["open"].values()))
    # A text that is longer than a line ends after a sentence.
    assert data["closed"]["conclusion"].endswith(("; …", " …"))
    text = crowded("status").out
    assert len(text.encode()) <= 8000
    assert "entries: 30 (" in text
    assert len(text.splitlines()) <= 60
    for budget in (2000, 12_000):
        for words in (["--json"], []):
            assert len(crowded("status", "--budget", str(budget), *words).out.encode()) <= budget
    refused = crowded("status", "--budget", "1999")
    assert (refused.code, "2,000 bytes" in refused.err) == (2, True)


SIX = "echo METRIC tflops=10${MODE:-0}.$LOGBOOK_RUN; echo METRIC loss=2.$LOGBOOK_RUN"
AB = ("ab", "--axis", "env:MODE=,6", "--seed", "1", "--title", "Six")


@pytest.mark.slow
def test_status_begins_with_what_was_asked_and_found(cli: Cli) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--goal", "Does six help?", "--metric", "tflops:max:TF/s").code == 0
    lines = cli("status").out.splitlines()[:4]
    assert lines[:2] == ["moe (moe, MOE)", "asked: Does six help?"]
    assert lines[3] == "  type: logbook run -- COMMAND", "what start said"
    cli("run", "--next", "compare them", "--", "echo", "RESULT tflops=2")
    lines = cli("status").out.splitlines()[:5]
    assert "logbook ab --help" in lines[3]
    assert lines[4] == "next, from MOE-000: compare them"
    assert cli(*AB, "--max-pairs", "4", "--", "sh", "-c", SIX).code == 0
    [answer] = cli("status", "--json").data["answers"]
    assert (answer["id"], answer["outcome"], answer["settled"]) == ("MOE-001", "open", False)
    lines = cli("status").out.splitlines()[:6]
    assert lines[3] == f"- {answer['answer']} [MOE-001 Six]"
    assert "after each 10 pairs" in lines[4]
    assert lines[5].endswith("logbook ab --id MOE-001 --max-pairs 6")
    assert cli(*AB, "--new", "--pairs", "8", "--", "sh", "-c", SIX).code == 0
    data = cli("status", "--json").data
    assert list(data)[:3] == ["logbook", "asked", "answers"]
    assert not {"last", "runs", "left_out"} & data.keys()
    assert data["failed"] == []
    # Both entries about one question stand side by side.
    said = [(one["id"], one["outcome"], one["settled"]) for one in data["answers"]]
    assert sorted(said) == [("MOE-001", "open", False), ("MOE-002", "better", True)]
    [settled] = [one["answer"] for one in data["answers"] if one["settled"]]
    assert cli("status").out.splitlines()[2] == f"- {settled} [MOE-002 Six]"


def status_lines(cli: Cli) -> list[str]:
    return cli("status").out.splitlines()


@pytest.mark.slow
def test_status_counts_the_answers_that_it_does_not_show(started: Cli) -> None:
    for n in range(5):
        assert started("ab", "--axis", f"env:MODE=,{n + 4}", "--pairs", "8", "--", "sh", "-c", SIX).code == 0
    assert "  and 2 more answers: logbook -L moe list" in status_lines(started)
    assert all(f"MOE-00{n}" in started("-L", "moe", "list").out for n in range(5))


@pytest.mark.slow
def test_what_an_earlier_code_left_open_is_over_once_it_is_asked_again(
    started: Cli, git: Callable[..., str], folder: Path
) -> None:
    for text, pairs in ((SIX, "3"), (f"{SIX} # faster", "10")):
        (folder / "b.sh").write_text(text)
        git("add", "b.sh")
        git("commit", "-q", "-m", "The benchmark")
        assert started(*AB, "--max-pairs", pairs, "--", "sh", "b.sh").code == 0
    [answer] = started("status", "--json").data["answers"]
    assert (answer["id"], answer["settled"]) == ("MOE-001", True)


def test_an_answer_that_other_code_has_again_comes_after_those_that_stand(
    started: Cli, git: Callable[..., str], folder: Path
) -> None:
    bench = "echo RESULT tflops=$((1000 + ${1#?} * 100)).$LOGBOOK_RUN\n"
    for text, sides in ((bench, (1, 2, 3)), (f"{bench}# edited\n", (2, 3))):
        (folder / "bench.sh").write_text(text)
        git("add", "bench.sh")
        git("commit", "-q", "-m", "now")
        for side in sides:
            assert started("ab", "--axis", f"mode=m0,m{side}", "--", "sh", "bench.sh", "{mode}").code == 0
    assert [one["id"] for one in started("status", "--json").data["answers"]] == ["MOE-004", "MOE-003", "MOE-000"]


def test_the_best_case_is_named_where_the_command_alone_tells_it(started: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text("echo RESULT tflops=$((10 * $2))\n")
    for lr in (("1", "--wd", "3"), ("2",)):
        assert started("run", "--", "sh", "b.sh", "--lr", *lr).code == 0
    said = [line for line in status_lines(started) if line.startswith("Best")]
    named = ["in MOE-001, command=sh b.sh --lr 2:", "in MOE-000, command=sh b.sh --lr 1 --wd 3:"]
    assert [name in line for name, line in zip(named, said, strict=True)] == [True, True]


def test_status_names_ids_whose_command_died(started: Cli, folder: Path) -> None:
    started("note", "--title", "x")
    owner = {"host": os.uname().nodename, "pid": 2**22 + 1, "root": str(folder / "logbooks"), "at": "x"}
    (folder / "logbooks/.ids/MOE/MOE-001").write_text(json.dumps(owner))
    started("edit", "MOE-000", "--state", "void")
    data = started("status", "--json").data
    assert (data["entries"]["void"], data["reserved"]) == (1, ["MOE-001"])


def test_status_says_which_criteria_are_met_where_the_issue_is_and_that_it_ended(cli: Cli) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--stop", "no speed-up", "--stop", "two weeks").code == 0
    data = cli("status", "--json").data
    assert data["criteria"] == [{"text": text, "met": False} for text in ("no speed-up", "two weeks")]
    assert not {"issue", "closed"} & data.keys()
    cli("note", "--title", "x")
    assert cli("criteria", "--met", "1", "--evidence", "MOE-000").code == 0
    assert cli("link", "acme/moe#7").code == 0
    assert cli("close", "--conclusion", "It is so", "--local", "--unmet").code == 0
    data = cli("status", "--json").data
    assert data["criteria"][0] == {"text": "no speed-up", "met": True, "evidence": "MOE-000"}
    assert data["issue"] == "https://github.com/acme/moe/issues/7"
    assert data["closed"]["conclusion"] == "It is so"
    assert cli("close", "--reopen", "--local").code == 0
    assert "closed" not in cli("status", "--json").data


@pytest.mark.slow
def test_what_got_worse_is_said_once(cli: Cli) -> None:
    assert cli("start", "moe", "--metric", "time_ms:min:ms", "--metric", "rate:max:1/s:watched").code == 0
    script = "echo RESULT time_ms=$((100 + 50 * {axis})).$(($$ % 9)) rate=$((100 - 50 * {axis})).$(($$ % 9))"
    assert cli("ab", "--axis", "n=0,1", "--", "sh", "-c", script).code == 0
    [answer] = cli("status", "--json").data["answers"]
    assert (answer["answer"].count("rate"), "(worse)" in answer["answer"]) == (1, True)


@pytest.mark.slow
def test_the_latest_answer_is_among_those_that_are_shown(cli: Cli) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s").code == 0
    for gain in (5, 4, 3, 2):
        values = f"--axis=v=100,{100 + gain}"
        bench = "echo METRIC tflops={axis}.$LOGBOOK_RUN; echo RESULT of=" + str(gain)
        assert cli("ab", values, "--max-pairs", "10", "--", "sh", "-c", bench).code == 0
    shown = [answer["id"] for answer in cli("status", "--json").data["answers"]]
    assert shown == ["MOE-000", "MOE-001", "MOE-003"]
