"""Null routing: command templates, sweeps as multi-line shell commands, tables pasted into fields, artifacts and
coverage. How to rewrite the document: see golden_support."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.contract.e2e.golden.golden_support import Story, check, ids

HEADER = """\
topic: null_slots
prefix: NUL
title: Null Slots
goal: measure what it is worth when a token may choose no expert.
metrics: [tokens_per_s, "tflops:max:TF/s"]
constraints:
- use the harness of EPD; nothing else changes.
links:
- Experiment issue=https://github.com/example/moe/issues/63
baseline:
  date: 2026-02-09
  config: {null_frac: 0.0}
  text: |
    compared with `null_frac` in {0.3, 0.6, 0.9}.
stop_criteria:
- The sweep ran for both shapes.
- There is a table per shape, and one sentence on the trend.
matrix:
- {axis: null_frac, text: Share of null slots, values: [0.0, 0.3, 0.6, 0.9]}
- {axis: hidden, text: Shape, values: ["256", "512"]}
- {axis: topk, values: [2, 4]}
command_templates:
- label: One point
  command: python moe_bench.py --hidden 256 --topk 2 --null-frac 0.3
- label: All shapes
  command: |
    for H in 256 512; do
      for TK in 2 4; do
        python moe_bench.py --hidden "${H}" --topk "${TK}" --null-sweep
      done
    done
"""

SWEEP = """
set -euo pipefail
OUT=$(mktemp)
for H in 256 512; do
  for TK in 2 4; do
    echo "RUN hidden=$H topk=$TK"
    python moe_bench.py \\
      --hidden "$H" --topk "$TK" \\
      --null-sweep | tee -a "$OUT"
  done
done
rm "$OUT\""""

FINDINGS = """\
tokens/s rise in every row, most at `topk=4`.

#### How exact is the share of nulls?
- `max |null_realized - null_frac| = 0.001`

#### How to read TF/s
It counts real work alone, so it *falls* as slots are empty."""

SMOKE = """\
- `mode=prefix`:
  - `null_realized=0.495`, `real=517`
- `mode=independent`:
  - `null_realized=0.501`, `real=511`

```text
RUN mode=prefix
RESULT null_realized=0.495
```"""


@pytest.mark.slow
def test_null_story(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where a login shell finds `python`.
    (tmp_path / ".profile").write_text(f"PATH={Path(sys.executable).parent}:$PATH\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    story.repository("moe_bench.py")
    (story.folder / "nul.yaml").write_text(HEADER)
    story("start", "--from", "nul.yaml")
    _kickoff(story)
    _sweep(story)
    _point(story)
    _mode(story)
    check(story, "null", ids("NUL", 4))


def _kickoff(story: Story) -> None:
    story(
        "note", "--title", "Kickoff",
        "--hypothesis", "empty slots save expert work, and the more so the higher `topk` is.",
        "--result", "the harness takes `--null-frac` and `--null-sweep` and prints what it realised.",
        "--next", "sweep both shapes.",
    )  # fmt: skip


def _sweep(story: Story) -> None:
    story("run", "--title", "Sweep (`null_frac=0.0..0.9`)", "--", "bash", "-lc", SWEEP)
    table = story(
        "table", "NUL-001", "--pivot", "null_frac", "--first-last", "--delta", "--metric", "tokens_per_s",
    ).out  # fmt: skip
    story(
        "edit", "NUL-001",
        "--field", "Artifacts=- raw log: `results/null_slots.log`\n- as CSV: `results/null_slots.csv`",
        "--field", "Sweep coverage=2 shapes x 2 `topk` x 4 shares = 16 rows (complete)",
        "--field", f"End-to-end delta={table}",
        "--interpretation", FINDINGS,
    )  # fmt: skip


def _point(story: Story) -> None:
    story(
        "run", "--title", "One more point at 0.1", "--continues", "NUL-001", "--config", "purpose=linearity",
        "--", "OMP_NUM_THREADS=1", "python", "moe_bench.py", "--null-frac", "0.1",
    )  # fmt: skip


def _mode(story: Story) -> None:
    story(
        "note", "--title", "Variable number of experts per token (`prefix`)",
        "--field", "Goal=let a token use 0 to `topk` experts: all before its first null.",
        "--field", "Code changes=- `router.py`\n  - `prefix: bool = False`\n  - slots behind the first null get"
        " weight zero.\n- `moe_bench.py`\n  - `--null-mode {independent,prefix}`",
        "--field", f"Smoke validation={SMOKE}",
        "--next", "repeat the sweep in both modes.",
    )  # fmt: skip
