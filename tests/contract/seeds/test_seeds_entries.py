"""The entries of the seeds' logs: kinds, fields, labels, plans, relations, states, and the indexes below the log."""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Cli, FixedClock
from tests.contract.seeds.support import HERE, add, ok, section, show


def view_of(folder: Path) -> str:
    return (folder / "logbooks/moe.md").read_text()


def entry_in(folder: Path, entry: str) -> str:
    """What the view says below the heading of an entry, with the heading."""
    view = view_of(folder)
    heading = next(line for line in view.splitlines() if line.startswith("### ") and f" {entry} " in line)
    return f"{heading}\n{section(view, heading)}"


def labels_in(folder: Path, entry: str) -> list[str]:
    """The labels of an entry's fields, in the order of the view."""
    return re.findall(r"^- ([^:\n`]+):", entry_in(folder, entry), re.MULTILINE)


def printing(folder: Path, *rows: dict[str, Any]) -> tuple[str, ...]:
    """A command that prints these rows."""
    (folder / "rows").write_text(f"RESULT_JSON {json.dumps(list(rows))}\n")
    (folder / "bench.sh").write_text("cat rows\n")
    return ("--", "sh", "bench.sh")


def test_a_kickoff_has_every_usual_field(started: Cli, folder: Path, clock: FixedClock) -> None:
    """Int8 10:40: date, ID, title and confidence in the heading; hypothesis to next action in their order, a command
    that is none, and lists within a field."""
    entry = add(
        started, "note", "--title", "Kickoff", "--kind", "experiment", "--hypothesis", "int8 is faster.",
        "--field", "Command=N/A (setup)", "--field", "Config=- branch: `int8`\n- harness: `--quant-mode {none,int8}`",
        "--result", "- The mode exists.\n  - In three paths.", "--interpretation", "ready.", "--next", "measure.",
    )  # fmt: skip
    ok(started, "edit", entry, "--confidence", "exploratory", "--reason", "nothing was measured")
    text = entry_in(folder, entry)
    assert text.startswith("### 2026-02-10 10:43 - MOE-000 Kickoff (confidence: exploratory)\n")
    labels = [label for label in labels_in(folder, entry) if label != "Confidence"]
    assert labels == ["Hypothesis", "Command", "Config", "Result", "Interpretation", "Next action"]
    assert "- Result:\n  - The mode exists.\n    - In three paths.\n" in text
    assert ok(started, "status", "--json").data["next_actions"][0]["next"] == "measure."


@pytest.mark.parametrize("word", ["exploratory", "replicated", "stable"])
def test_confidence_is_a_label_of_a_fixed_set(started: Cli, folder: Path, word: str) -> None:
    """Int8, every heading, and Baseline: a run is exploratory until a person says otherwise, with a reason."""
    entry = add(started, "run", "--title", "A/B", "--", "echo", "RESULT tflops=1")
    assert show(started, entry)["confidence"] == "exploratory"
    ok(started, "edit", entry, "--confidence", word, "--reason", "from a sweep")
    assert show(started, entry)["confidence"] == word
    assert f" MOE-000 A/B (confidence: {word})\n" in entry_in(folder, entry)
    assert started("edit", entry, "--confidence", "certain").code == 2
    ok(started, "edit", entry, "--confidence", "computed")
    assert show(started, entry)["confidence"] == "exploratory"


OWN = yaml.safe_load((HERE / "fields.yaml").read_text(encoding="utf-8"))


def test_fields_of_ones_own_stand_as_they_were_written(started: Cli, folder: Path) -> None:
    """All documents: labels of one's own, with lists, formulas, code and fences, in their order; more is added later,
    and an empty text removes one."""
    words = [word for label, text in OWN.items() for word in ("--field", f"{label}={text}")]
    entry = add(started, "note", "--title", "Own", *words)
    fields = {one["label"]: one["text"] for one in show(started, entry)["fields"]}
    assert list(fields.items()) == list(OWN.items())
    text = entry_in(folder, entry)
    for label, body in OWN.items():
        assert f"- {label}:" in text
        assert all(line.strip() in text for line in body.splitlines())
    ok(started, "edit", entry, "--append", "--field", "Notes=- measured since", "--field", "Aggregate=`+7.57%`")
    ok(started, "edit", entry, "--field", "Status=")
    fields = {one["label"]: one["text"] for one in show(started, entry)["fields"]}
    assert "one candidate is missing" in fields["Notes"]
    assert "measured since" in fields["Notes"]
    assert (list(fields)[-1], "Status" in fields) == ("Aggregate", False)


def test_headings_and_tables_within_an_entry(started: Cli, folder: Path) -> None:
    """Null routing 14:55 and 14:42: a heading and a Markdown table of one's own below a result."""
    table = "| Shape | gain |\n| --- | ---: |\n| `S` | +7.23% |"
    entry = add(started, "note", "--title", "Sweep", "--interpretation", f"it rises.\n\n#### Requested metric\n{table}")
    text = entry_in(folder, entry)
    assert all(line in [one.strip() for one in text.splitlines()] for line in table.splitlines())
    assert "#### Requested metric" in text
    assert [line for line in view_of(folder).splitlines() if line.startswith("### ")] == [text.splitlines()[0]]


def test_commands_of_one_entry_have_labels(started: Cli, folder: Path) -> None:
    """Int8 10:43: two smoke tests and a negative control, which fails with a known error; the others stand."""
    bench = "case $2 in bfloat16) echo 'TypeError: pad operand and padding_value differ' >&2; exit 1;; esac\n"
    (folder / "bench.sh").write_text(f"{bench}echo RESULT dtype=$2 backend=$4 tflops=1.5\n")
    lines = [("ragged_dot", "float32"), ("gmm", "float32"), ("gmm", "bfloat16")]
    labels = ["ragged_dot/int8", "gmm/int8/float32", "Negative control"]
    entry, codes = "", list[int]()
    for label, (backend, dtype) in zip(labels, lines, strict=True):
        to = ("--id", entry) if entry else ("--title", "Smoke")
        command = ("--", "sh", "bench.sh", "--dtype", dtype, "--backend", backend)
        answer = started("run", *to, "--label", label, "--json", *command)
        entry, codes = answer.data["id"], [*codes, answer.code]
    assert codes == [0, 0, 1]
    runs = show(started, entry)["runs"]
    assert [(run["label"], run["state"]) for run in runs] == list(
        zip(labels, ("finished", "finished", "failed"), strict=True)
    )
    assert [len(run.get("rows", [])) for run in runs] == [1, 1, 0]
    text = entry_in(folder, entry)
    assert all(f"- {label}:\n    - " in text for label in labels)
    assert "TypeError: pad operand and padding_value differ" in text
    [tried] = ok(started, "list", "--tried", "--json").data["tried"]
    assert (tried["entry"], tried["run"], tried["kind"]) == (entry, 3, "failure")


AB = ("Baseline: echo RESULT quant_mode=none tflops=2", "Int8: echo RESULT quant_mode=int8 tflops=3")


def test_a_plan_of_several_commands_is_executed_later(started: Cli, folder: Path) -> None:
    """Int8 10:55: two labelled commands, planned, a pending result; executed under the same entry once that can be."""
    entry = add(
        started, "note", "--plan", "--title", "First A/B", "--command", AB[0], "--command", AB[1],
        "--result", "pending.", "--next", "execute it.",
    )  # fmt: skip
    shown = show(started, entry)
    assert (shown["state"], shown["runs"]) == ("planned", [])
    assert [one["label"] for one in shown["planned"]] == ["Baseline", "Int8"]
    assert "Command (planned)" in labels_in(folder, entry)
    assert "- Result: pending." in entry_in(folder, entry)
    ok(started, "run", "--id", entry)
    shown = show(started, entry)
    assert (shown["state"], shown["planned"]) == ("finished", [])
    table = ok(started, "table", entry, "--metric", "tflops", "--pivot", "quant_mode", "--delta", "--json").data
    assert table["values"][0][-3:] == [2.0, 3.0, 0.5]
    assert "Command (planned)" not in labels_in(folder, entry)


def test_a_plan_waits_for_what_blocks_it(started: Cli) -> None:
    """Int8 10:51 and 10:55, EP benchmark 18:18: blocked, and what is open is said."""
    blocked = add(started, "note", "--title", "Launcher", "--kind", "experiment", "--next", "install it")
    ok(started, "edit", blocked, "--state", "blocked")
    planned = add(started, "note", "--plan", "--title", "A/B", "--command", AB[0], "--continues", blocked)
    data = ok(started, "status", "--json").data
    assert {state: [one["id"] for one in of] for state, of in data["open"].items()} == {
        "blocked": [blocked],
        "planned": [planned],
    }
    assert show(started, planned)["continues"] == blocked


def test_entries_continue_complete_and_supersede_others(started: Cli, folder: Path) -> None:
    """EP benchmark: 13:44 continues 13:40, 16:21 completes 15:55 and closes its next action, 14:22 corrects 13:40,
    whose rows no longer count."""
    first = add(started, "run", "--title", "EP", "--next", "larger", "--", "echo", "RESULT topk=2 tflops=143.985")
    later = add(started, "run", "--title", "Larger", "--continues", first, "--", "echo", "RESULT topk=4 tflops=1")
    half = add(started, "run", "--title", "A/B", "--next", "the rest", "--", "echo", "RESULT topk=6 tflops=2")
    rest = add(started, "run", "--title", "Rest", "--completes", half, "--", "echo", "RESULT topk=8 tflops=3")
    assert not ok(started, "status", "--json").data["next_actions"]
    right = add(
        started, "run", "--title", "Compact", "--supersedes", first, "--", "echo", "RESULT topk=2 tflops=232.246"
    )
    assert show(started, later)["continues"] == first
    assert (show(started, rest)["completes"], show(started, half)["completed_by"]) == (half, [rest])
    assert (show(started, right)["supersedes"], show(started, first)["superseded_by"]) == (first, [right])
    for entry, line in ((later, f"Continues: {first}"), (half, f"Completed by: {rest}"), (rest, f"Completes: {half}"),
                        (right, f"Supersedes: {first}"), (first, f"Superseded by: {right}")):  # fmt: skip
        assert f"- {line}\n" in entry_in(folder, entry)
    values = [row[-1] for row in ok(started, "table", "--metric", "tflops", "--json").data["values"]]
    assert 143.985 not in values
    assert 232.246 in values


def test_an_incident_says_what_is_missing(started: Cli, folder: Path) -> None:
    """EP benchmark 16:02: an observation, its impact and what to resume; it is no experiment and no result."""
    entry = add(
        started, "note", "--title", "Hosts gone", "--kind", "incident", "--field", "Observation=`port 22: timed out`",
        "--field", "Impact=- the A/B at `hidden=3072` is missing", "--next", "resume it",
    )  # fmt: skip
    assert show(started, entry)["kind"] == "incident"
    assert "(incident)" in entry_in(folder, entry).splitlines()[0]
    assert "confidence" not in entry_in(folder, entry).splitlines()[0]
    assert [one["id"] for one in ok(started, "list", "--kind", "incident", "--json").data] == [entry]
    [action] = ok(started, "status", "--json").data["next_actions"]
    assert action["next"] == "resume it"


def test_negative_results_have_an_index(started: Cli, folder: Path) -> None:
    """Grug, Negative Results Index, and EP benchmark 13:40: what did not work is listed below the log and found
    again."""
    command = ("--", "sh", "-c", "echo RESOURCE_EXHAUSTED: scoped vmem >&2; exit 1")
    entry = str(started("run", "--json", "--title", "hidden=1024", *command).data["id"])
    ok(started, "edit", entry, "--field", "Negative result=without the limit it runs out of memory")
    slower = add(started, "note", "--title", "EP", "--kind", "experiment", "--field", "Negative result=EP is slower")
    index = section(view_of(folder), "## Negative Results Index")
    assert [line for line in index.splitlines() if line] == [
        f"- {entry} hidden=1024: without the limit it runs out of memory",
        f"- {slower} EP: EP is slower",
    ]
    found = ok(started, "status", "--json").data["negative_results"]
    assert next((one["id"], one["text"]) for one in found) == (slower, "EP is slower")
    tried = ok(started, "list", "--tried", "--json").data["tried"]
    assert {one["entry"] for one in tried} == {entry, slower}
    assert "RESOURCE_EXHAUSTED" in json.dumps(tried)


def test_decisions_have_a_log(started: Cli, folder: Path, clock: FixedClock) -> None:
    """EP benchmark 16:21, 16:35 and 18:00: what is the default from now on, with its date, below the log."""
    entry = add(started, "note", "--title", "Pack", "--kind", "decision", "--field", "Decision=argsort is the default.")
    [line] = [line for line in section(view_of(folder), "## Decision Log").splitlines() if line]
    assert line == f"- 2026-02-10 10:43 - {entry} Pack: argsort is the default."
    [decision] = ok(started, "status", "--json").data["decisions"]
    assert (decision["id"], decision["text"]) == (entry, "argsort is the default.")


def test_config_names_code_and_devices(started: Cli, folder: Path, git: Callable[..., str]) -> None:
    """EP benchmark 13:40, Config: the case, four chips of one host, and the commit and branch of the code; a change
    that is not committed is kept."""
    git("checkout", "-q", "-b", "int8-moe")
    device = {"platform": "tpu", "kind": "TPU v5p", "count": 4, "used": 4}
    row = {"config": {"tokens": 32768, "topk": 2}, "metrics": {"tflops": 192.868}, "devices": [device]}
    entry = add(started, "run", "--title", "Clean", *printing(folder, row))
    sha = git("rev-parse", "HEAD")
    [run] = show(started, entry)["runs"]
    assert (run["code"]["commit"], run["code"]["branch"]) == (sha, "int8-moe")
    config = entry_in(folder, entry)
    for words in ("tokens=32768", "topk=2", f"`{sha[:9]}` on int8-moe", "4 × tpu (TPU v5p)"):
        assert words in config
    (folder / "bench.py").write_text("print('RESULT tflops=2.5')\n")
    changed = add(started, "run", "--title", "Changed", "--", "python", "bench.py")
    [run] = show(started, changed)["runs"]
    assert run["code"]["commit"] == sha
    assert "2.5" in ok(started, "patch", changed).out


def test_rows_carry_labels_and_observations(started: Cli, folder: Path) -> None:
    """Null routing 14:50 and EP benchmark 14:10: numbers that nobody declared, and words, stand beside the metrics and
    identify no case; a case that failed says why."""
    seen = {"null_realized": 0.495, "null_assignments": 507, "real_assignments": 517}
    row = {"config": {"null_mode": "take_until_null"}, "metrics": {"tflops": 1.0}, "observations": seen}
    failed = {"config": {"null_mode": "independent"}, "failed": {"reason": "out_of_memory", "message": "vmem"}}
    entry = add(started, "run", "--title", "Modes", *printing(folder, {**row, "labels": {"check": "passed"}}, failed))
    [run] = show(started, entry)["runs"]
    assert run["rows"][0]["observations"] == seen
    assert run["rows"][0]["labels"] == {"check": "passed"}
    assert run["rows"][1]["failed"]["reason"] == "out_of_memory"
    names = [word for name in seen for word in ("--metric", name)]
    [measured, *_] = ok(started, "table", entry, *names, "--json").data["values"]
    assert measured[-3:] == list(seen.values())


def test_rows_leave_as_csv(started: Cli, folder: Path) -> None:
    """Null routing 14:55 and 14:42, Artifacts: all 90 rows as CSV in full, from which the largest and the mean
    difference of realised and wanted fractions follow."""
    rows = [
        {
            "config": {"experts": experts, "topk": topk, "null_route_frac": n / 10},
            "metrics": {"tflops": 100.0},
            "observations": {"null_realized": n / 10 + 0.003 * ((experts, topk, n) == (60, 2, 7))},
        }
        for experts in (60, 64, 128)
        for topk in (2, 4, 8)
        for n in range(10)
    ]
    entry = add(started, "run", "--title", "Sweep", *printing(folder, *rows))
    text = ok(started, "table", entry, "--csv", "--metric", "tflops", "--metric", "null_realized").out
    found = list(csv.DictReader(io.StringIO(text)))
    assert len(found) == 90
    off = [abs(float(row["null_realized"]) - float(row["null_route_frac"])) for row in found]
    assert [max(off), statistics.mean(off)] == pytest.approx([0.003, 0.003 / 90])
