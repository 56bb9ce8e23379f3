"""Which rows an export has, and what they are in each form: the same numbers to the last bit, any text, no formula."""

from __future__ import annotations

import csv
import io
import json
import struct
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.exports.columns import DataColumn, columns_of, csv_lines
from logbook_agent.exports.frames import parquet, to_pandas, to_polars
from logbook_agent.exports.measured_rows import exported
from logbook_agent.exports.row_data import json_pieces
from logbook_agent.findings.read import Findings
from logbook_agent.model.codec import utf8
from logbook_agent.model.errors import NotFound, UsageError
from logbook_agent.model.run import Measurement, Row
from logbook_agent.store.workspace import utc_now
from logbook_agent.text.cells import neutral_cell
from logbook_agent.text.redaction.names import is_secret_name
from tests.breadth import examples
from tests.unit.exports.exported_support import NASTY, add, all_rows, full, new_book, original_cell, table

FORMULAS = "=+-@\t\r\n＝＋－＠"


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def test_nothing_is_left_out_and_each_row_says_why_it_does_not_count(tmp_path: Path) -> None:
    book = full(tmp_path / "logbooks")
    found = all_rows(book)
    assert [(row.name, row.why_not) for row in found.rows] == [
        ("MOE-000/1#1", ""),
        ("MOE-000/1#2", ""),
        ("MOE-001/1", "superseded by MOE-002"),
        ("MOE-002/1", ""),
        ("MOE-003/1", "void"),
        ("MOE-004/1", "warm-up"),
        ("MOE-005/1", "failed: oom"),
    ]
    assert found.notes() == [
        "4 rows do not count (see column why_not)",
        "1 run without a measured row, not exported",
    ]
    findings = Findings(book, utc_now)
    one = exported(findings, entry_ids=["moe-1"])
    assert [(row.name, row.why_not) for row in one.rows] == [("MOE-001/1", "superseded by MOE-002")]
    chosen = exported(findings, where={"tile": "512"})
    assert [row.name for row in chosen.rows] == ["MOE-000/1#1"]
    assert chosen.not_asked_for == 6
    with pytest.raises(UsageError, match="no row has tile=9"):
        exported(findings, where={"tile": "9"})
    with pytest.raises(NotFound):
        exported(findings, entry_ids=["MOE-999"])


def test_columns_have_the_types_of_what_is_in_them(tmp_path: Path) -> None:
    found = table(full(tmp_path / "logbooks"))
    types = {name: column.type for name, column in found.items() if "." in name}
    assert types == {
        "config.tile": "text",  # 512 and auto
        "config.mode": "text",
        "config.fused": "bool",
        "config.rate": "float",  # 0.1 and 2
        "metric.tflops": "float",
        "metric.time": "float",
        "samples.tflops": "samples",
        "samples.time": "samples",
        "unit.tflops": "text",
        "observation.share": "float",
        "observation.nothing": "float",
        "label.label": "text",
        "package.jax": "text",
    }
    assert found["config.tile"].values[:2] == ("512", "auto")
    assert found["unit.tflops"].values[0] == "TF/s"
    assert found["observation.nothing"].values == (None,) * 7
    assert found["failed_message"].values[-1] == NASTY


def test_whole_numbers_that_no_column_holds_stay_as_they_are(tmp_path: Path) -> None:
    book = new_book(tmp_path / "logbooks")
    add(book, 0, [Row(config={"a": 2**63, "b": 2**53 + 1, "c": -(2**63)}), Row(config={"a": 1, "b": 0.5, "c": 1})])
    found = table(book)
    assert (found["config.a"].type, found["config.a"].values) == ("text", ("9223372036854775808", "1"))
    assert (found["config.b"].type, found["config.b"].values) == ("text", ("9007199254740993", "0.5"))
    assert (found["config.c"].type, found["config.c"].values) == ("int", (-(2**63), 1))


# -- CSV -------------------------------------------------------------------------------------------


@given(st.one_of(st.text(), st.text(alphabet=FORMULAS + "'1.e ")))
@examples(200)
def test_no_cell_is_a_formula_and_every_text_comes_back(text: str) -> None:
    cell = neutral_cell(text)
    assert original_cell(cell) == text
    if cell.startswith(tuple(FORMULAS)):
        float(cell)


def read_csv(columns: list[DataColumn]) -> list[dict[str, str]]:
    text = b"".join(csv_lines(columns)).decode()
    return [
        {original_cell(name): original_cell(cell) for name, cell in line.items()}
        for line in csv.DictReader(io.StringIO(text, newline=""))
    ]


def test_csv_says_what_the_table_holds(tmp_path: Path) -> None:
    columns = columns_of(all_rows(full(tmp_path / "logbooks")).rows)
    lines = read_csv(columns)
    assert lines[0]["config.mode"] == NASTY
    assert lines[2]["title"] == NASTY
    assert json.loads(lines[0]["samples.tflops"]) == [0.30000000000000004, 1e-300, 5e-324]
    assert float(lines[0]["metric.tflops"]) == 1e-300
    assert lines[0]["exit_signal"] == ""
    assert [line["counts"] for line in lines] == ["true", "true", "false", "true", "false", "false", "false"]
    raw = b"".join(csv_lines(columns)).decode()
    assert "'=cmd" in raw
    assert ',"=cmd' not in raw
    assert ",=cmd" not in raw


# -- all forms -------------------------------------------------------------------------------------

_number = st.floats(allow_nan=False, allow_infinity=False)
_text = st.text(max_size=12).map(utf8)
_value = st.one_of(_number, _text, st.booleans(), st.none(), st.integers(-(2**70), 2**70))
# What stands under a secret's name is hidden.
_name = _text.filter(lambda name: bool(name) and not is_secret_name(name))
_row = st.builds(
    Row,
    config=st.dictionaries(_name, _value, max_size=3),
    metrics=st.dictionaries(
        _name, st.lists(_number, min_size=1, max_size=4).map(tuple).map(lambda s: Measurement(samples=s)), max_size=2
    ),
    observations=st.dictionaries(_name, st.one_of(_number, st.none()), max_size=2),
    labels=st.dictionaries(_name, _text, max_size=2),
)


@pytest.mark.slow
@given(rows=st.lists(_row, min_size=1, max_size=4))
@examples(100)
def test_every_form_has_the_same_rows(rows: list[Row], tmp_path_factory: pytest.TempPathFactory) -> None:
    book = new_book(tmp_path_factory.mktemp("any") / "logbooks")
    add(book, 0, rows)
    found = all_rows(book)
    columns = columns_of(found.rows)
    assert len({column.name for column in columns}) == len(columns)
    document = json.loads(b"".join(json_pieces(found, book.header)))
    for row, said in zip(rows, document["rows"], strict=True):
        for name, m in row.metrics.items():
            assert [*map(bits, said["metrics"][name]["samples"])] == [*map(bits, m.samples)]
        assert said["config"] == row.config
        assert said["labels"] == row.labels
    lines = read_csv(columns)
    read = pq.read_table(io.BytesIO(parquet(columns))).to_pylist()
    frame, polars_rows = to_pandas(columns), to_polars(columns).rows(named=True)
    for column in columns:
        for at, value in enumerate(column.values):
            forms = read[at][column.name], polars_rows[at][column.name], frame[column.name].iloc[at]
            assert [same(column, value, form) for form in forms] == [True] * 3, (column, value, forms)
            assert same_cell(column, value, lines[at][column.name])


def same(column: DataColumn, value: Any, found: Any) -> bool:
    if value is None:
        return found is None or str(found) in ("<NA>", "nan", "NaT")
    if column.type == "samples":
        return [*map(bits, found)] == [*map(bits, value)]
    if column.type == "float":
        return bits(found) == bits(value)
    return found.isoformat() == value if column.type == "time" else bool(found == value)


def same_cell(column: DataColumn, value: Any, cell: str) -> bool:
    if value is None:
        return cell == ""
    if column.type == "samples":
        return [*map(bits, json.loads(cell))] == [*map(bits, value)]
    if column.type == "float":
        return bits(float(cell)) == bits(value)
    return cell == (str(value).lower() if column.type == "bool" else str(value))


def test_data_frames_have_the_right_types(tmp_path: Path) -> None:
    columns = columns_of(all_rows(full(tmp_path / "logbooks")).rows)
    frame = to_pandas(columns)
    wanted = {"run": "Int64", "counts": "boolean", "title": "string", "duration_s": "float64", "exit_code": "Int64"}
    wanted |= {"started": "datetime64[us, UTC]", "samples.tflops": "object", "config.fused": "boolean"}
    assert {name: str(frame[name].dtype) for name in wanted} == wanted
    assert frame["samples.tflops"].iloc[0] == [0.30000000000000004, 1e-300, 5e-324]
    schema = {name: str(kind) for name, kind in to_polars(columns).schema.items()}
    assert schema["started"] == "Datetime(time_unit='us', time_zone='UTC')"
    assert schema["samples.tflops"] == "List(Float64)"
    assert list(frame.columns) == list(schema) == [column.name for column in columns]


@pytest.mark.parametrize(
    ("library", "make", "extra"),
    [("pandas", to_pandas, "pandas"), ("polars", to_polars, "polars"), ("pyarrow", parquet, "parquet")],
)
def test_a_library_that_is_not_there(library: str, make: Any, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(UsageError) as caught:
        make([])
    what = "logbook export --as parquet" if library == "pyarrow" else f"to_{library}()"
    assert caught.value.message == f"{what} needs {library}"
    assert caught.value.cause == "it is not installed"
    assert caught.value.hint == f"pip install 'logbook-agent[{extra}]'"
