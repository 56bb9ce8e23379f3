"""Exports: written whole or not at all, over nothing without `--force`; every row, and every number and text."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.exports.full_store import NASTY, ROWS, TITLE, original_cell
from tests.seams import Logbook, in_a_cell, to_pandas, to_polars

pytestmark = pytest.mark.slow


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_an_existing_path_needs_force(filled: Cli, folder: Path, form: str) -> None:
    words = ["export", "--as", form, "--out", f"rows.{form}"]
    first = filled(*words)
    assert first.code == 0, first.err
    assert f"{folder}/rows.{form}" in first.out
    before = (folder / f"rows.{form}").read_bytes()
    (folder / f"rows.{form}").write_bytes(b"theirs")
    answer = filled(*words)
    assert (answer.code, f"{folder}/rows.{form}" in answer.err, "--force" in answer.err) == (2, True, True)
    assert (folder / f"rows.{form}").read_bytes() == b"theirs"
    assert filled(*words, "--force").code == 0
    assert (folder / f"rows.{form}").read_bytes() == before
    (folder / "link").symlink_to(f"rows.{form}")
    assert filled("export", "--as", form, "--out", "link", "--force").code == 2
    assert names(folder) == ["link", "logbooks", f"rows.{form}"]


def test_force_deletes_no_folder_that_no_export_made(filled: Cli, folder: Path) -> None:
    (folder / "theirs").mkdir()
    (folder / "theirs/file").write_text("x")
    assert filled("export", "--as", "mlflow", "--out", "theirs", "--force").code == 2
    assert names(folder / "theirs") == ["file"]


def test_force_replaces_no_record(filled: Cli, folder: Path) -> None:
    for name in ("logbooks/moe.md", "logbooks/moe/logbook.yaml"):
        before = (folder / name).read_bytes()
        answer = filled("export", "--as", "csv", "--out", name, "--force")
        assert (answer.code, (folder / name).read_bytes()) == (2, before), answer.err
    for _ in range(2):
        assert filled("export", "--as", "csv").code == 0
        assert filled("export", "--as", "csv", "--out", "logbooks/moe/exports", "--force").code == 0


def test_without_a_path_it_lies_beside_the_records_where_git_ignores_it(filled: Cli, folder: Path) -> None:
    answer = filled("export", "--as", "csv", "--json")
    place = folder / "logbooks/moe/exports"
    assert answer.data["path"] == str(place / "moe.csv")
    assert names(place) == [".gitignore", "moe.csv"]
    assert (place / ".gitignore").read_text().splitlines()[-1] == "*"
    assert (answer.data["rows"], answer.data["counting"]) == (ROWS, 4)
    assert answer.data["left_out"] == {
        "runs_without_rows": 1,
        "not_asked_for": 0,
        "damaged_entries": [],
    }
    assert filled("render").code == 0
    assert (filled("doctor").code, filled("list").code) == (0, 0)


def test_an_export_folder_that_is_a_link_is_not_followed(filled: Cli, folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "logbooks/moe/exports").symlink_to(folder / "elsewhere")
    answer = filled("export", "--as", "csv")
    assert answer.code == 3, answer.err
    assert "link" in answer.err
    assert names(folder / "elsewhere") == []


def test_stdout(filled: Cli) -> None:
    answer = filled("export", "--as", "csv", "--out", "-", "MOE-003")
    assert answer.out.startswith("entry,run,row,counts,why_not,")
    assert answer.out.count("\r\n") == 2
    assert "why_not" in answer.err
    document = json.loads(filled("export", "--as", "json", "--out", "-").out)
    assert (document["schema"], len(document["rows"])) == ("logbook-rows/1", ROWS)
    for words, named in ((["--as", "parquet"], "parquet"), (["--as", "csv", "--json"], ""), (["--as", "xls"], "xls")):
        refused = filled("export", "--out", "-", *words)
        assert (refused.code, named in refused.err) == (2, True)


def test_a_file_that_fails_half_way_leaves_what_was_there(filled: Cli, folder: Path) -> None:
    """As on a disk that is full: no file may grow beyond a kilobyte."""
    words = ["export", "--as", "csv", "--out", "rows.csv", "--force"]
    assert filled(*words).code == 0
    before = (folder / "rows.csv").read_bytes()
    assert len(before) > 1024
    limited = ["bash", "-c", 'export PYTHONDONTWRITEBYTECODE=1; ulimit -f 1; exec "$@"', "bash", *LOGBOOK, *words]
    done = subprocess.run(limited, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert (folder / "rows.csv").read_bytes() == before
    assert names(folder) == ["logbooks", "rows.csv"]


# -- what stands in it -------------------------------------------------------------------------------


def lines_of(cli: Cli, *words: str) -> list[dict[str, str]]:
    text = cli("export", "--as", "csv", "--out", "-", *words).out
    read = csv.DictReader(io.StringIO(text, newline=""))
    return [{original_cell(name): original_cell(cell) for name, cell in line.items()} for line in read]


def test_nothing_is_left_out_and_each_row_says_why_it_does_not_count(filled: Cli) -> None:
    lines = lines_of(filled)
    assert [(line["entry"], line["run"], line["row"], line["why_not"]) for line in lines] == [
        ("MOE-000", "1", "1", ""),
        ("MOE-000", "1", "2", ""),
        ("MOE-001", "1", "1", "superseded by MOE-002"),
        ("MOE-002", "1", "1", ""),
        ("MOE-003", "1", "1", "void"),
        ("MOE-004", "1", "1", "warm-up"),
        ("MOE-004", "2", "1", ""),
        ("MOE-005", "1", "1", "failed: oom"),
    ]
    assert all((line["counts"] == "true") is (line["why_not"] == "") for line in lines)
    assert [line["why_not"] for line in lines_of(filled, "moe-1")] == ["superseded by MOE-002"]
    [chosen] = lines_of(filled, "--where", "tile=512")
    assert (chosen["config.mode"], chosen["config.tile"]) == (NASTY, "512")
    for words in (["--where", "tile=9"], ["MOE-999"]):
        assert filled("export", "--as", "csv", "--out", "-", *words).code == 2
    # The same numbers to the last bit, any text, no formula.
    assert json.loads(lines[0]["samples.tflops"]) == [0.30000000000000004, 1e-300, 5e-324]
    assert float(lines[0]["observation.share"]) == 1 / 3
    assert lines[2]["title"] == TITLE.replace("<!--", "&lt;!--")
    assert lines[-1]["failed_message"] == NASTY
    raw = filled("export", "--as", "csv", "--out", "-").out
    assert "'=cmd" in raw
    assert not re.search(r'[,\n]"?=cmd', raw)


def same(value: Any, cell: str) -> bool:
    if isinstance(value, bool | None):
        return cell == ("" if value is None else str(value).lower())
    if isinstance(value, float | list):
        return bool(json.loads(cell) == value)
    return cell == (value.isoformat() if isinstance(value, datetime) else str(value))


def test_every_form_has_the_same_rows(filled: Cli, folder: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    assert filled("export", "--as", "parquet", "--out", "all.parquet").code == 0
    said = json.loads(filled("export", "--as", "json", "--out", "-").out)["rows"]
    read = pq.read_table(folder / "all.parquet").to_pylist()
    for line, one, other in zip(lines_of(filled), said, read, strict=True):
        assert {*one} == {name for name, cell in line.items() if cell != ""}
        assert [name for name, cell in line.items() if not same(one.get(name), cell)] == []
        assert [name for name, cell in line.items() if not same(other[name], cell)] == []


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_not_there(filled: Cli, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    if library == "pyarrow":
        error = filled("export", "--as", "parquet", "--json").error
    else:
        with pytest.raises(Exception, match=library) as raised:
            {"pandas": to_pandas, "polars": to_polars}[library](Logbook.open())
        error = vars(raised.value)
    assert library in error["message"]
    assert error["hint"].startswith("pip install 'logbook-agent[")


def test_frames_of_a_logbook_and_of_an_entry(filled: Cli) -> None:
    logbook = Logbook.open()
    whole, one = to_pandas(logbook), to_pandas(logbook, "MOE-000")
    assert list(whole["entry"].unique()) == [f"MOE-00{n}" for n in range(6)]
    assert list(one["row"]) == [1, 2]
    assert whole["why_not"].iloc[2] == "superseded by MOE-002"
    wanted = {"run": "Int64", "counts": "boolean", "title": "string", "duration_s": "float64", "exit_code": "Int64"}
    wanted |= {"started": "datetime64[us, UTC]", "samples.tflops": "object", "config.fused": "boolean"}
    # 512 and auto are texts, 0.1 and 2 numbers.
    wanted |= {"config.tile": "string", "config.rate": "float64"}
    assert {name: str(whole[name].dtype) for name in wanted} == wanted
    assert whole["samples.tflops"].iloc[0] == [0.30000000000000004, 1e-300, 5e-324]
    schema = {name: str(kind) for name, kind in to_polars(logbook).schema.items()}
    assert schema["started"] == "Datetime(time_unit='us', time_zone='UTC')"
    assert schema["samples.tflops"] == "List(Float64)"
    assert list(whole.columns) == list(schema)
    assert to_polars(logbook, "MOE-001")["why_not"].to_list() == ["superseded by MOE-002"]
    assert logbook.warnings == []


def test_cells_of_a_notebook_hold_text_alone(filled: Cli) -> None:
    logbook = Logbook.open()
    for shown in (logbook, *logbook.records()):
        assert not [name for name in dir(shown) if name.startswith("_repr_") and name != "_repr_pretty_"]
        assert "\u202e" not in in_a_cell(shown)
    assert in_a_cell(logbook) == filled("status").out.rstrip("\n")
    assert in_a_cell(logbook.record("MOE-001")).strip() == filled("show", "MOE-001").out.strip()
    assert "script>" in in_a_cell(logbook.record("MOE-001"))
