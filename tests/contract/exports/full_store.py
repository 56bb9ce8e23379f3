"""A logbook with every kind of row, made by commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

NASTY = (
    "=cmd()|'/c calc'!A1 <script>alert(1)</script> \u202egnp.exe [x](javascript:alert(1)) ```\n<!-- logbook -->\t\"',;"
)
# A title has one line.
TITLE = NASTY.replace("\n", " ").replace("\t", " ")
MIXED = {
    "config": {"tile": 512, "mode": NASTY, "fused": True, "rate": 0.1},
    "metrics": {"tflops": {"samples": [0.1 + 0.2, 1e-300, 5e-324], "unit": "TF/s"}, "time": {"samples": [3.0]}},
    "observations": {"share": 1 / 3, "nothing": None},
    "labels": {"label": NASTY},
}
ROWS = 8


def printing(*rows: dict[str, Any]) -> tuple[str, ...]:
    """A command with these rows."""
    return "printf", "RESULT_JSON %s\\n", *map(json.dumps, rows)


def tflops(value: float) -> dict[str, Any]:
    return {"metrics": {"tflops": {"samples": [value], "unit": "TF/s"}}}


def full(typed: Callable[..., Any]) -> None:
    """Rows of several samples, superseded, void, a warm-up, a failure; a text that is hostile."""
    typed("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s")
    second = {"config": {"tile": "auto", "rate": 2}, **tflops(2.5)}
    typed("run", "--title", "x", "--", *printing(MIXED, second))
    typed("run", "--title", TITLE, "--", *printing(tflops(1.0)))
    typed("run", "--supersedes", "MOE-001", "--", *printing(tflops(2.0)))
    typed("run", "--", *printing(tflops(3.0)))
    typed("edit", "MOE-003", "--state", "void")
    typed("run", "--discard", "1", "--", *printing(tflops(4.0)))
    failed = {"config": {"tile": 8}, "failed": {"reason": "oom", "message": NASTY}}
    typed("run", "--", *printing(failed))
    typed("run", "--id", "MOE-005", "--", "true")


def original_cell(text: str) -> str:
    """The text of a cell of CSV, as the documentation says how to read it."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(tuple("=+-@\t\r\n＝＋－＠")) else text
