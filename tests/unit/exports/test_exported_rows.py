"""Rows of an export in each form: the same numbers to the last bit, any text, no formula."""

from __future__ import annotations

import csv
import io
import json
import struct
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.exports.columns import DataColumn, columns_of, csv_lines, json_pieces
from logbook_agent.exports.frames import parquet, to_pandas, to_polars
from logbook_agent.model.codec import utf8
from logbook_agent.model.run import Measurement, Row
from logbook_agent.text.cells import neutral_cell
from logbook_agent.text.redaction.names import is_secret_name
from tests.breadth import examples
from tests.contract.exports.full_store import original_cell
from tests.unit.exports.exported_support import add, all_rows, new_book

FORMULAS = "=+-@\t\r\n＝＋－＠"


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


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
    add(book, rows)
    found = all_rows(book)
    columns = columns_of(found.rows)
    assert len({column.name for column in columns}) == len(columns)
    document = json.loads(b"".join(json_pieces(found, book.header)))
    for at, said in enumerate(document["rows"]):
        assert {*said} == {column.name for column in columns if column.values[at] is not None}
        assert all(
            same(column, column.values[at], said.get(column.name)) for column in columns if column.type != "time"
        )
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
