"""The tables of the seeds, `tables.yaml`: their rows are recorded as a benchmark prints them, and `logbook table` gives
the numbers, deltas, ratios, means and values per device that the seeds print, to the digits they print."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Cli
from tests.contract.seeds.support import HERE, add, ok

TABLES = yaml.safe_load((HERE / "tables.yaml").read_text(encoding="utf-8"))
MEASURED = ("tflops", "tokens_per_s", "time_s")
OBSERVED = re.compile(r".*(_pct|_gb_per_s|_realized|_assignments)$")
V5P = [{"platform": "tpu", "kind": "TPU v5p", "count": 4, "used": 4}]


def row_of(columns: list[str], cells: list[Any]) -> dict[str, Any]:
    """A row as `RESULT_JSON` states it, on the four chips of the seeds."""
    row: dict[str, Any] = {"config": {}, "metrics": {}, "observations": {}, "devices": V5P}
    for name, cell in zip(columns, cells, strict=True):
        part = "metrics" if name in MEASURED else "observations" if OBSERVED.match(name) else "config"
        row[part][name] = cell
    return row


def record(cli: Cli, folder: Path, columns: list[str], rows: list[list[Any]]) -> None:
    """An entry whose command prints these rows; all entries of a table have the same command."""
    (folder / "rows").write_text(f"RESULT_JSON {json.dumps([row_of(columns, cells) for cells in rows])}\n")
    (folder / "bench.sh").write_text("cat rows\n")
    add(cli, "run", "--title", "Measured", "--", "sh", "bench.sh")


def printed(value: float, text: str) -> str:
    """A number in the form of this text: `-0.48%`, `+4%`, `2.31x`."""
    digits = len(text.rstrip("%x").partition(".")[2])
    return f"{value:+.{digits}%}" if text.endswith("%") else f"{value:.{digits}f}x"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table["name"])
def test_a_table_has_the_numbers_of_the_seed(cli: Cli, folder: Path, table: dict[str, Any]) -> None:
    """The document and section are the name of the table."""
    ok(cli, "start", "moe", "--metric", "tflops:max:TF/s", "--metric", "tokens_per_s:max:tokens/s")
    columns = table["columns"]
    entries = table.get("entries") or [table["rows"]]
    for rows in entries:
        record(cli, folder, columns, [*rows[:1], *table.get("skipped", []), *rows[1:]])
    words = table["words"].split()
    made = ok(cli, "table", "--json", *words).data
    shown = [cell for row in made["values"] for cell in row if isinstance(cell, (int, float))]
    numbers = [cell for rows in entries for row in rows for cell, name in zip(row, columns, strict=True)
               if (name in MEASURED or OBSERVED.match(name))]  # fmt: skip
    if "--value" not in words:
        assert set(numbers) <= set(shown), "every number of the seed is in the table"
    left_out = [cell for row in table.get("skipped", []) for cell in row[-2:]]
    assert not set(left_out) & set(shown)
    assert len(made["columns"]) == len(made["rows"][0])
    for expected, row in zip(table.get("devices", []), made["rows"], strict="devices" in table):
        assert [found for cell in row for found in re.findall(r"\((.*)\)", cell)] == expected
    derived = [n for n, column in enumerate(made["columns"]) if re.search(r"\bdelta\b|/", column["name"])]
    values = [[row[n] for n in derived] for row in made["values"]]
    if "is" in table:
        body = values[: len(table["is"])]
        assert [[text and printed(cell, text) for cell, text in zip(*pair, strict=True)]
                for pair in zip(body, table["is"], strict=True)] == table["is"]  # fmt: skip
    if "means" in table:
        assert [printed(row[0], text) for row, text in zip(values[-2:], table["means"], strict=True)] == table["means"]
    if "within" in table:
        assert max(abs(cell) for row in values for cell in row) <= table["within"]
