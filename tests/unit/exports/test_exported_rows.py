"""Cells of an export: no formula, and every text comes back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.text.markdown import neutral_cell
from tests.breadth import examples
from tests.contract.exports.full_store import original_cell

FORMULAS = "=+-@\t\r\n＝＋－＠"


@given(st.one_of(st.text(), st.text(alphabet=FORMULAS + "'1.e ")))
@examples(200)
def test_no_cell_is_a_formula_and_every_text_comes_back(text: str) -> None:
    cell = neutral_cell(text)
    assert original_cell(cell) == text
    if cell.startswith(tuple(FORMULAS)):
        float(cell)
