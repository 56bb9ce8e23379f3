"""Markdown logs as entries: headings in any form, fields, commands, tables; nothing is lost."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Cli
from tests.contract.imports.test_import_tables import imported

LOG = """# Kernel lab: Research Logbook

## Scope
- Goal: find out whether the tiled kernel pays.

## Experiment Log
### 2026-02-10 10:40 - KL-000 Kickoff (confidence: exploratory)
- Hypothesis: tiles help.
- Command: N/A (setup)
- Result: harness is ready.
- Next action: run the sweep.

### 2026-02-10 14:55 - KL-001 Sweep of the tile
- Command:
```bash
RAY=token uv run dev_tpu.py execute \\
  -- python bench.py --sweep
```

#### Throughput
| tile | tokens/s | TF/s |
| ---: | ---: | ---: |
| 128 | 1,572,435 | 146.8 |
| 256 | 2,001,485 | 150.9 |
| **mean** | 1,786,960 | 148.9 |

- Interpretation: larger tiles help.

### 2026-02-10 15:20 - KL-002 The base
- Command:
```bash
RAY=token uv run dev_tpu.py execute \\
  -e LIBTPU_INIT_ARGS='--limit=50000' \\
  -- python bench.py --tile 64
```
- Result:
  - `tile=64, none`: 101.5 TF/s, 900,000 tok/s
  - `tile=64, ep`: 99.5 TF/s, 880,000 tok/s

## Negative Results Index
- A tile of 32 does not fit.
"""
COLLECTED = """# Lab

## 📅 2026-02-12 — ✅ EXP-12a — dropout

**Hypothesis:** better
**Result**: loss 0.4, but not adopted

## 📅 2026-02-11 — Runs 3-5: lr sweep

Status: discarded

## 📅 2026-02-10 — EXP-11

commit: `71bc0de4`
"""


def test_the_form_of_published_logbooks(cli: Cli, folder: Path) -> None:
    data = imported(cli, folder, "kernel_lab.md", LOG)
    assert [e["id"] for e in data["entries"]] == ["KL-000", "KL-001", "KL-002"]
    assert [e["opened"] for e in data["entries"]][1] == "2026-02-10T14:55:00+00:00"
    assert [(e["rows"], len(e["commands"])) for e in data["entries"]] == [(0, 0), (2, 1), (2, 1)]
    shown = cli("show", "KL-000", "--json").data
    assert {f["label"]: f["text"] for f in shown["fields"]}["Next action"] == "run the sweep."
    view = (folder / "logbooks/kernel_lab.md").read_text()
    lines = [" ".join(line.split()).removeprefix("- ") for line in LOG.split("\n")]
    missing = [line for line in lines if line and line.lstrip("#- ").partition(" - ")[2] not in view]
    assert [line for line in missing if " ".join(line.lstrip("# ").split()) not in " ".join(view.split())] == []
    assert "A tile of 32 does not fit." in view.partition("## Negative Results Index")[2]
    assert cli("render", "--check").code == 0


def test_compare_names_what_the_commands_and_their_environments_differ_in(cli: Cli, folder: Path) -> None:
    imported(cli, folder, "kernel_lab.md", LOG)
    data = cli("compare", "KL-001", "KL-002", "--json").data["numbers"]
    assert data["residue"]["env:LIBTPU_INIT_ARGS"] == {"KL-001": "—", "KL-002": "--limit=50000"}
    assert "reports them" in data["settle"]
    assert data["command"] is None


def test_an_imported_command_is_quoted_and_never_executed(cli: Cli, folder: Path) -> None:
    log = f"# x\n\n## EXP-001 danger\n- Command: `touch {folder}/made`\n- Result: 3\n"
    imported(cli, folder, "x.md", log)
    refused = cli("run", "--id", "EXP-001")
    assert refused.code == 2
    assert "imported" in refused.err
    assert f"logbook run --id EXP-001 -- touch {folder}/made" in refused.err
    assert cli("reproduce", "EXP-001").code == 2
    assert cli("next").code == 0
    assert not (folder / "made").exists()
    assert cli("run", "--id", "EXP-001", "--", "touch", f"{folder}/made").code == 0
    assert (folder / "made").exists()


def test_dates_pictures_ranges_and_suffixes_newest_first(cli: Cli, folder: Path) -> None:
    data = imported(cli, folder, "lab.md", COLLECTED)
    assert [(e["name"], e["opened"][:10], e["kept"]) for e in data["entries"]] == [
        ("EXP-11", "2026-02-10", None),
        ("Runs 3-5", "2026-02-11", False),
        ("EXP-12a", "2026-02-12", None),
    ]
    assert data["entries"][0]["commit"] == "71bc0de4"
    assert "EXP-12a: dropout" in cli("list").out
    assert "not adopted" in (folder / "logbooks/lab.md").read_text().partition("## Negative Results Index")[2]


def test_an_entry_that_was_changed_supersedes_its_earlier_form(cli: Cli, folder: Path) -> None:
    imported(cli, folder, "kernel_lab.md", LOG)
    changed = LOG.replace("harness is ready.", "harness is ready, and tested.")
    [one] = imported(cli, folder, "kernel_lab.md", changed)["entries"]
    assert one["supersedes"] == "KL-000"


FORMS = {
    "plain headings": (
        "# L\n\n## Longer warmup\nCommand: python x.py --a 1\nResult: 0.4\n\n## Summary\nfine\n",
        ["Longer warmup"],
    ),
    "days": ("# L\n## 2026-02-10\n### Tried A\nx\n### Tried B\ny\n", ["Tried A", "Tried B"]),
    "items": ("# L\n- 2026-02-10: bf16, loss 0.4\n  more\n- 2026-02-11: fp8\n", ["bf16, loss 0.4", "fp8"]),
    "front matter": (
        "---\ntitle: T\n---\n### 2026-09-01 10:00 UTC - one\nx\n### 2026-09-01 12:00 UTC - two\ny\n",
        ["one", "two"],
    ),
    "a table": ("# L\n\n| id | cmd | loss | status |\n|--|--|--|--|\n| E-1 | `a|b` | 0.5 | keep |\n", ["E-1"]),
    "one experiment": (
        "# 4f9a — q8 cache\n\n**Result:**\n- gen_tok_s: 29.2 ± 0.3\n- peak_gb: 10.1 GB\n\n**Decision: keep**\n",
        ["4f9a — q8 cache"],
    ),
    "a table beside sections": (
        "# L\n\n## Experiment Log\n\n| # | try | tok/s | status |\n|--|--|--|--|\n| 1 | b16 | 50 | KEEP |\n"
        "| 2 | b32 | 70 | REVERT |\n\n## Flash attention\n- Config: a=1\n- Result: 22 tok/s\n",
        ["number 1", "number 2", "Flash attention"],
    ),
    "numbered headings": (
        "# L\n\n## Experiments\n\n### 1. Window fix\n- **Goal:** 128K\n- **Fix:** a line\n\n### 2. Serving\n"
        "- **Why:** half the layers\n- **Peak:** 654 tok/s\n",
        ["Window fix", "Serving"],
    ),
    "a word and a number": (
        "# L\n\n## Discovery #1: no compile\nx\n\n## Discovery #2: fused\ny\n\n## What changed\nz\n",
        ["no compile", "fused"],
    ),
    "one number among sections": (
        "# L\n\n## Progress\n\n| try | tok/s |\n|--|--|\n| b16 | 50 |\n| b32 | 70 |\n\n## Insight (experiment 18)\nx\n",
        ["Progress", "Insight"],
    ),
    "no form": ("just words\n", []),
}


def test_forms_of_logs(cli: Cli, folder: Path) -> None:
    for name, (text, titles) in FORMS.items():
        data = imported(cli, folder, f"{name.replace(' ', '_')}.md", text, "--dry-run")
        assert [e["title"] for e in data["entries"]] == titles, name
