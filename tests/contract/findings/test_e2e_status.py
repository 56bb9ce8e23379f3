"""`status` in at most 8,000 bytes whatever the logbook holds, and a start of the CLI that imports little."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from logbook_agent.findings.read import read
from logbook_agent.findings.status import OnMachine, status
from logbook_agent.model.entry import Entry, Field, PlannedCommand
from logbook_agent.model.header import (
    Baseline,
    BaselineNumbers,
    Closing,
    Criterion,
    CriterionJudgement,
    ExperimentIssue,
    Header,
    Link,
    Metric,
)
from logbook_agent.model.run import Exit, Measurement, Row, Run
from logbook_agent.store.book import Book
from logbook_agent.store.root import create
from logbook_agent.store.workspace import Workspace
from tests.conftest import Cli

URL = "https://example.org/" + "x" * 3000
LONG = "the quick 𝔘nicode “fox” ✓ jumps over `null_frac=0.9` and so on; " * 12
OPENED = "2026-02-10T10:43:00+00:00"
STATES = (None, "planned", "blocked", "abandoned", None)


def _crowded(folder: Path, entries: int) -> Book:
    metrics = tuple(Metric(name=f"metric_{n}", direction="max", unit="TF/s", text=LONG) for n in range(40))
    header = Header(
        topic="crowded", title=LONG, prefix="MANY", opened="2026-02-10T10:43:00+00:00", goal=LONG, metrics=metrics,
        constraints=(LONG,) * 30, links=(Link(label=LONG, url=URL),) * 30,
        baseline=Baseline(
            config={f"key_{n}": LONG for n in range(30)}, source=LONG, confidence=LONG,
            numbers=(BaselineNumbers(config={"k": LONG}, metrics={m.name: 1.5 for m in metrics}),) * 30,
        ),
        stop_criteria=(
            Criterion(text=LONG, judgement=CriterionJudgement(met=True, evidence=URL, by=LONG, at=OPENED)),
        )
        * 30,
        issue=ExperimentIssue(url=f"https://ghe.example.org/{'o' * 100}/{'r' * 100}/issues/1234567890"),
        closing=Closing(at=OPENED, conclusion=LONG, limitations=(LONG,) * 30, next_steps=(LONG,) * 30),
        summary=LONG * 20,
    )  # fmt: skip
    book = create(folder / "logbooks", header, durable=False)
    for n in range(entries):
        fields = tuple(
            Field(label=label, text=LONG) for label in ("Hypothesis", "Result", "Interpretation", "Next action")
        )
        entry = Entry(
            id=f"MANY-{n:03d}", title=f"{n} {LONG}", opened="2026-02-10T10:43:00+00:00", state=STATES[n % 5],  # type: ignore[arg-type]
            fields=fields, commands=(PlannedCommand(argv=("echo", LONG)),) if n % 2 else (),
        )  # fmt: skip
        book.write_entry(entry)
    for n in range(0, entries, 10):
        rows = (Row(config={"key": LONG}, metrics={m.name: Measurement(samples=(float(n),)) for m in metrics}),)
        run = Run(entry=f"MANY-{n:03d}", run=1, argv=("echo", LONG), started="2026-02-10T10:43:00+00:00", rows=rows,
                  ended="2026-02-10T10:44:00+00:00", exit=Exit(code=0), problems=(LONG,) * 20)  # fmt: skip
        book.new_run(run.entry)
        book.write_run(run)
    return book


@pytest.fixture
def crowded(folder: Path) -> Book:
    return _crowded(folder, 30)


@pytest.mark.slow
def test_status_stays_small_and_counts_what_it_cut(crowded: Book, cli: Cli) -> None:
    _check_status(cli, 30)


def _check_status(cli: Cli, entries: int) -> None:
    as_json = cli("status", "--json")
    assert as_json.code == 0
    assert len(as_json.out.encode()) <= 8000
    data = as_json.data
    assert data["entries"]["total"] == entries
    left_out = data["left_out"]
    assert left_out["links"] == 30 - len(data.get("links", ()))
    assert left_out["criteria"] == 30 - len(data["criteria"])
    assert left_out["metrics"] == 40 - len(data["metrics"])
    # Of those without a state, every other one has planned commands.
    waiting = sum(n % 5 in (1, 2) or n % 10 in (5, 9) for n in range(entries))
    assert left_out["open"] == waiting - sum(map(len, data["open"].values()))
    assert left_out["last"] == 5 - len(data["last"])
    # A text that is longer than a line has room for ends after a sentence.
    assert data["closed"]["conclusion"].endswith("; …") or data["closed"]["conclusion"].endswith(" …")
    text = cli("status")
    assert len(text.out.encode()) <= 8000
    assert f"total: {entries}" in text.out


SIX = "echo METRIC tflops=10${MODE:-0}.$LOGBOOK_RUN; echo METRIC loss=2.$LOGBOOK_RUN"
AB = ("ab", "--axis", "env:MODE=,6", "--seed", "1", "--title", "Six")


@pytest.mark.slow
def test_status_begins_with_what_was_asked_and_found(cli: Cli) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--goal", "Does six help?", "--metric", "tflops:max:TF/s").code == 0
    assert cli("status").out.splitlines()[:4] == [
        "moe (moe, MOE)", "asked: Does six help?", "Nothing was measured yet.",
        "  to compare: logbook ab --axis NAME=A,B -- COMMAND",
    ]  # fmt: skip
    cli("run", "--next", "compare them", "--", "echo", "RESULT tflops=2")
    first = cli("status").out.splitlines()[:5]
    assert first[2] == "No two cases were compared in pairs, so no difference between them is settled."
    assert first[3] == "  to compare: logbook ab --axis NAME=A,B -- COMMAND"
    assert first[4] == "next, from MOE-000: compare them"
    assert cli(*AB, "--repeat", "4", "--", "sh", "-c", SIX).code == 0
    lines = cli("status").out.splitlines()[:6]
    assert lines[2] == "No comparison is settled yet."
    assert lines[3].startswith("- MODE=6 against (empty) is open in tflops, +")
    assert lines[3].endswith(" so far (4 pairs in 1 sitting) [MOE-001 Six]")
    assert lines[4] == "  why it is open: a comparison is first judged at 8 pairs; it needs at least 4 more pairs"
    to_add = "  to add up to 4 pairs: "
    assert lines[5] == f"{to_add}logbook ab --id MOE-001 --max-pairs 4 --axis env:MODE=,6 -- sh -c '{SIX}'"
    assert cli(*AB, "--repeat", "8", "--", "sh", "-c", SIX).code == 0
    lines = cli("status").out.splitlines()[:4]
    assert lines[2].startswith("- MODE=6 has ")
    assert lines[2].endswith(" [MOE-002 Six]")
    assert lines[3] == "next, from MOE-000: compare them"
    data = cli("status", "--json").data
    assert list(data)[:3] == ["logbook", "asked", "answers"]
    assert "not_settled" not in data
    assert data["failed"] == []
    [answer] = data["answers"]
    assert (answer["id"], answer["outcome"], answer["settled"]) == ("MOE-002", "better", True)
    assert lines[2] == f"- {answer['answer']} [MOE-002 Six]"


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
    assert data["criteria"] == [
        {"text": text, "met": False, "command": f"logbook criteria --met {n} --evidence ID"}
        for n, text in enumerate(("no speed-up", "two weeks"), 1)
    ]
    assert not {"issue", "closed"} & data.keys()
    assert "issue" not in cli("status").out
    cli("note", "--title", "x")
    assert cli("criteria", "--met", "1", "--evidence", "MOE-000").code == 0
    assert cli("link", "acme/moe#7").code == 0
    assert cli("close", "--conclusion", "It is so", "--local", "--unmet").code == 0
    data = cli("status", "--json").data
    assert data["criteria"][0] == {"text": "no speed-up", "met": True, "evidence": "MOE-000"}
    assert data["issue"] == "https://github.com/acme/moe/issues/7"
    assert data["closed"]["conclusion"] == "It is so"
    text = cli("status").out
    for words in ("issue: https://github.com/acme/moe/issues/7", "closed:", "met: true", "evidence: MOE-000"):
        assert words in text
    assert cli("close", "--reopen", "--local").code == 0
    assert "closed" not in cli("status", "--json").data


@pytest.mark.slow
def test_a_budget_is_kept_and_a_claim_is_named(crowded: Book, cli: Cli, folder: Path) -> None:
    for budget in (2000, 3000, 12_000):
        for words in (["--json"], []):
            assert len(cli("status", "--budget", str(budget), *words).out.encode()) <= budget
    refused = cli("status", "--budget", "1999")
    assert (refused.code, "at least 2,000 bytes" in refused.err) == (2, True)
    found = read(Workspace(cwd=folder, environ=os.environ), crowded)
    claim = {"id": "MANY-001", "host": "a", "pid": 7}
    assert status(found, OnMachine(view="", claims=[claim]))["claimed"] == [claim]
