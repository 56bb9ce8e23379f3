"""results.tsv, CSV and JSON lines as entries whose numbers are reported."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

TSV = """commit\tval_bpb\tmemory_gb\tstatus\tdescription
3c81f0a\t1.0412\t38.4\tkeep\tas it was
51ad2c8\t1.0377\t38.4\tdiscard\twarm up over 8%
0fd6a25\t0.000000\t0.0\tcrash\tdepth 22 (out of memory)
b77e913\t1.0294\t61.9\tkeep\tshared embeddings
"""
JSONL = """{"type":"config","name":"Shorten the build","metricName":"build_s","metricUnit":"s","bestDirection":"lower"}
{"run":1,"commit":"71bc0de","metric":412.6,"metrics":{"docs":88},"status":"keep","description":"as it was"}
{"run":2,"commit":"e13d7c4","metric":0,"metrics":{},"status":"crash","description":"mapped: SIGBUS"}
{"run":3,"commit":"0b5c991","metric":355.2,"metrics":{"docs":88},"status":"checks_failed","description":"a &amp; b"}
{"run":4,"commit":"c7714
"""


def imported(cli: Cli, folder: Path, name: str, text: str | bytes, *options: str) -> Any:
    """The answer to `logbook import` of a file with this text."""
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    answer = cli("import", name, "--json", *options)
    assert answer.code == 0, answer.out
    return answer.data


def test_rows_are_entries_that_are_reported(cli: Cli, folder: Path) -> None:
    data = imported(cli, folder, "results.tsv", TSV, "--prefix", "AR")
    assert [(e["id"], e["lines"], e["commit"], e["kept"]) for e in data["entries"]] == [
        ("AR-000", [2, 2], "3c81f0a", True),
        ("AR-001", [3, 3], "51ad2c8", False),
        ("AR-002", [4, 4], "0fd6a25", None),
        ("AR-003", [5, 5], "b77e913", True),
    ]
    assert data["spans"] == [[1, 1], [2, 2], [3, 3], [4, 4], [5, 5]]
    [run] = cli("show", "AR-000", "--json").data["runs"]
    assert run["exit"] == {"reported": True}
    assert run["started"] == ""
    assert run["rows"][0]["metrics"]["val_bpb"]["median"] == 1.0412
    assert run["problems"] == [{"grade": "withheld", "text": "reported by results.tsv, not measured here"}]
    assert "1.0412 (reported)" in cli("table", "AR-000", "AR-003").out
    assert "AR-003" in cli("list", "shared").out


def test_reported_numbers_are_in_no_best_and_no_baseline_until_they_are_accepted(cli: Cli, folder: Path) -> None:
    imported(cli, folder, "results.tsv", TSV, "--prefix", "AR")
    assert cli("edit", "--metric", "val_bpb:min", "--reason", "bits per byte").code == 0
    assert "Best val_bpb" not in cli("status").out
    assert cli("status", "--json").data["best"] == []
    assert cli("baseline", "--entry", "AR-000", "--reason", "as it was").code == 2
    assert cli("edit", "AR-000", "--accept", "measured by me on this machine").code == 0
    assert "Best val_bpb so far: 1.0412" in cli("status").out
    assert "AR-003" not in cli("status").out.partition("Best val_bpb")[2].partition("\n")[0]


def test_status_and_the_issue_name_the_best_number_that_was_reported(cli: Cli, folder: Path) -> None:
    imported(cli, folder, "results.tsv", TSV, "--prefix", "AR")
    assert "reported" not in cli("status", "--json").data
    assert cli("edit", "--metric", "val_bpb:min", "--reason", "bits per byte").code == 0
    [reported] = cli("status", "--json").data["reported"]
    assert (reported["entry"], reported["value"]) == ("AR-003", 1.0294)
    said = "Reported, not measured here: at best val_bpb 1.0294 in AR-003"
    assert said in cli("status").out
    assert cli("sync", "--offline", "out").code == 0
    text = (folder / "out/issue.md").read_text()
    assert said in text
    assert "| AR-000 | as it was | finished | exploratory | 1 row, val_bpb 1.0412 (reported) |" in text


def test_zeros_and_crashes_are_failures(cli: Cli, folder: Path) -> None:
    imported(cli, folder, "results.tsv", TSV, "--prefix", "AR")
    shown = cli("show", "AR-002", "--json").data
    assert shown["state"] == "failed"
    assert shown["runs"][0]["rows"][0]["failed"]["reason"] == "crash"
    assert "metrics" not in shown["runs"][0]["rows"][0]


def test_verdicts_are_decisions_and_negative_results(cli: Cli, folder: Path) -> None:
    imported(cli, folder, "results.tsv", TSV, "--prefix", "AR")
    view = (folder / "logbooks/results.md").read_text()
    decisions, _, negative = view.partition("## Decision Log")[2].partition("## Negative Results Index")
    assert decisions.count("AR-0") == 3
    assert negative.count("AR-0") == 1
    assert "AR-001" in negative
    # What was discarded counts nowhere, accepted or not.
    cli("edit", "--metric", "val_bpb:min", "--reason", "bits per byte")
    cli("edit", "AR-001", "--accept", "measured by me")
    assert "Best val_bpb" not in cli("status").out


def test_results_in_words_are_verdicts_and_no_text_is_lost(cli: Cli, folder: Path) -> None:
    text = (
        "| Exp | Tag | TFLOPS | What Was Tried | Result |\n|--|--|--|--|--|\n"
        "| 0 | a | 15.1 | blocks 32→64 | KEEP (baseline) |\n| 1 | b | 12.8 | tile ⇒ k ✓ | REVERT (-26.9) |\n"
        "| 2 | c | ~322 | more stages | KEEP |\n| 3 | d | FAIL | pure fp16 | REVERT |\n"
    )
    data = imported(cli, folder, "lab.md", f"# L\n\n{text}")
    found = [(e["title"], e["kept"], e["failed"]) for e in data["entries"]]
    assert found == [
        ("blocks 32→64", True, 0),
        ("tile ⇒ k ✓", False, 0),
        ("more stages", True, 0),
        ("pure fp16", False, 1),
    ]


def test_the_source_is_kept_byte_for_byte(cli: Cli, folder: Path) -> None:
    raw = b"\xef\xbb\xbf" + TSV.replace("\n", "\r\n").encode()
    data = imported(cli, folder, "results.tsv", raw, "--prefix", "AR")
    kept = folder / "logbooks/results/imports/results.tsv"
    assert kept.read_bytes() == raw
    assert data["sha256"] == hashlib.sha256(raw).hexdigest()
    assert data["is_redacted"] is False
    assert data["entries"][0]["commit"] == "3c81f0a"
    assert cli("doctor").code == 0
    assert cli("render", "--check").code == 0


def test_a_newer_version_adds_what_is_new(cli: Cli, folder: Path) -> None:
    imported(cli, folder, "results.tsv", TSV, "--prefix", "AR")
    again = imported(cli, folder, "results.tsv", TSV)
    assert (again["entries"], again["texts"], again["note"]) == ([], [], None)
    row = "b77e913\t1.0294\t61.9\tkeep\tshared embeddings\n"  # the same row once more is a repeat
    newer = imported(cli, folder, "results.tsv", TSV + row)
    assert [(e["id"], e["lines"]) for e in newer["entries"]] == [("AR-005", [6, 6])]
    assert len([*(folder / "logbooks/results/imports").iterdir()]) == 2


def test_what_a_killed_import_has_not_written_is_new(cli: Cli, folder: Path) -> None:
    imported(cli, folder, "results.tsv", TSV, "--prefix", "AR")
    # Runs are written first, so a kill leaves some without an entry, and no entry without its runs.
    for number in (2, 3, 4):
        [entry] = (folder / "logbooks/results/entries").glob(f"AR-00{number}.*")
        entry.unlink()
    again = imported(cli, folder, "results.tsv", TSV)["entries"]
    assert [e["lines"] for e in again] == [[4, 4], [5, 5]]
    assert [len(cli("show", e["id"], "--json").data["runs"]) for e in again] == [1, 1]


def test_dry_run_writes_nothing(cli: Cli, folder: Path) -> None:
    data = imported(cli, folder, "results.tsv", TSV, "--dry-run")
    assert data["entries"][0]["title"] == "as it was"
    assert data["entries"][0]["id"] is None
    assert [path.name for path in folder.iterdir()] == ["results.tsv"]


def test_into_a_logbook_that_is_there(started: Cli, folder: Path) -> None:
    data = imported(started, folder, "results.tsv", TSV, "-L", "moe")
    assert data["logbook"] == "moe"
    assert data["entries"][0]["id"] == "MOE-000"


def test_json_lines_with_a_metric_that_is_named(cli: Cli, folder: Path) -> None:
    data = imported(cli, folder, "autoresearch.jsonl", JSONL, "--prefix", "AR")
    assert data["metrics"][0] == {"name": "build_s", "unit": "s", "direction": "min"}
    assert [(e["name"], e["failed"]) for e in data["entries"]] == [("run 1", 0), ("run 2", 1), ("run 3", 1)]
    assert {"line": 5, "text": "no JSON object; it is kept as text"} in data["named"]
    assert "run 3: a & b" in cli("list").out
    assert "Best" not in cli("status").out


CASES = [
    ("unit", "run\ttime\tstatus\n1\t412 ms\tkeep\n2\t0.40 s\tkeep\n", "time is in s from here on"),
    ("size", "run\tlatency\n1\t412\n2\t401\n3\t399\n4\t0.398\n5\t0.39\n", "its unit may have changed"),
    ("head", "commit\tloss\tstatus\nHEAD\t0.4\tkeep\nabcdef1\t0.3\tkeep\n", "HEAD is no commit"),
    ("doubled", "run\tloss\n1\t0.4\n2\t0.3\n2\t0.2\n", "2 stands on line 3, too"),
    ("order", "run\tloss\n1\t0.4\n3\t0.3\n2\t0.2\n4\t0.1\n", "2 comes after 3"),
    ("devices", "run\tloss\tgpu\n1\t0.4\tA100\n2\t0.3\tH100\n", "several values of gpu: A100, H100"),
    ("ragged", "commit\tloss\tdescription\nabcdef1\t0.4\ta\tb\n", "4 cells in 3 columns"),
]


@pytest.mark.parametrize(("name", "text", "named"), CASES, ids=[name for name, *_ in CASES])
def test_what_is_odd_is_named(cli: Cli, folder: Path, name: str, text: str, named: str) -> None:
    data = imported(cli, folder, f"{name}.tsv", text)
    [one] = [one for one in data["named"] if named in one["text"]]
    own = [e["id"] for e in data["entries"] if e["lines"][0] <= one["line"] <= e["lines"][1]]
    problems = [
        p["text"] for entry in own for run in cli("show", entry, "--json").data["runs"] for p in run["problems"]
    ]
    assert any(named in text for text in problems)


def test_tables_of_trackers(cli: Cli, folder: Path) -> None:
    wandb = (
        '"Name","State","Notes","Created","lr","loss"\n"a","finished","-","2026-02-01T10:00:00.000Z","1e-3","0.43"\n'
    )
    [one] = imported(cli, folder, "wandb.csv", wandb)["entries"]
    assert (one["title"], one["opened"]) == ("a", "2026-02-01T10:00:00+00:00")
    mlflow = "run_id,status,start_time,params.lr,metrics.loss\nabc1,FAILED,1769940000000,0.1,\n"
    [one] = imported(cli, folder, "mlflow.csv", mlflow)["entries"]
    assert (one["failed"], one["opened"]) == (1, "2026-02-01T10:00:00+00:00")
    named = imported(cli, folder, "bare.csv", "0.5,1\n0.4,2\n", "--columns", "loss,seed")
    assert named["metrics"][0]["name"] == "loss"


def test_the_steps_of_a_run_are_one_entry(cli: Cli, folder: Path) -> None:
    text = "run_id,step,loss\na1,0,9.5\na1,100,4.1\nb2,0,9.4\nb2,100,3.9\n"
    data = imported(cli, folder, "curves.csv", text)
    assert [(e["title"], e["lines"], e["rows"]) for e in data["entries"]] == [("a1", [2, 3], 2), ("b2", [4, 5], 2)]


@pytest.mark.parametrize("content", [b"", b"\n \n", bytes(range(256)) * 8])
def test_what_is_no_text_is_refused(cli: Cli, folder: Path, content: bytes) -> None:
    (folder / "odd.dat").write_bytes(content)
    answer = cli("import", "odd.dat")
    assert answer.code == 2
    assert "odd.dat" in answer.err
    assert not (folder / "logbooks").exists()


def test_secrets_are_taken_out_of_the_source_too(cli: Cli, folder: Path) -> None:
    key = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    data = imported(cli, folder, "log.md", f"# Log\n\n## EXP-1\n- Command: `python x.py --token {key}`\n")
    assert data["is_redacted"] is True
    found = [path for path in (folder / "logbooks").rglob("*") if path.is_file() and key in path.read_text()]
    assert found == []


def test_from_standard_input(folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TSV.encode())))
    answer = cli("import", "-", "-L", "lab", "--as", "tsv", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["schema"] == "logbook/import/1"
    assert answer.data["logbook"] == "lab"
