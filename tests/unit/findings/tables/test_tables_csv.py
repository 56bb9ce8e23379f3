"""CSV holds what was measured, in full precision, and any text survives it."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.cases import Case
from logbook_agent.findings.tables.export import to_csv
from logbook_agent.model.run import Device, Failure, Measurement, Row
from tests.contract.exports.full_store import original_cell

GPU = (Device(platform="gpu", kind="H200", count=1, used=1),)
CASES = (
    Case(
        entry="X-001",
        run=1,
        label="Baseline",
        row=Row(
            config={"topk": 2, "shape": "a,b", "fused": True},
            metrics={"tokens_per_s": Measurement(samples=(1234567.125, 1234569.0, 1.0))},
            observations={"null_realized": 0.1 + 0.2, "nothing": None},
            labels={"label": "x"},
            devices=GPU,
        ),
    ),
    Case(entry="X-001", run=2, row=Row(config={"topk": 4}, failed=Failure(reason='said "no"'))),
)


def test_every_case_on_a_line() -> None:
    assert to_csv(CASES) == (
        "entry,run,case.label,topk,shape,fused,tokens_per_s,tokens_per_s_samples,null_realized,nothing,label.label,"
        "devices,failed\r\n"
        'X-001,1,Baseline,2,"a,b",true,1234567.125,3,0.30000000000000004,,x,1 x H200,\r\n'
        'X-001,2,,4,,,,,,,,,"said ""no"""\r\n'
    )


# RFC 4180 has no way to tell an empty text from an absent one; here both are unknown.
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(TEXT, min_size=1, max_size=4))
def test_any_text_survives(texts: list[str]) -> None:
    cases = [Case(entry="X-001", run=n, row=Row(config={"text": text, "k": n})) for n, text in enumerate(texts)]
    read = list(csv.DictReader(io.StringIO(to_csv(cases), newline=""), strict=True))
    assert [original_cell(row["text"]) for row in read] == texts


def test_no_text_is_a_formula_and_no_other_separator_cuts_one() -> None:
    row = Row(config={"=1+1": "=cmd|'/c calc'!A1", "flag": "-O3", "n": -5}, labels={"l": "a;=1"})
    text = to_csv([Case(entry="X-001", run=1, row=row)])
    assert text == "entry,run,label,'=1+1,flag,n,l,devices,failed\r\nX-001,1,,'=cmd|'/c calc'!A1,'-O3,-5,\"a;=1\",,\r\n"
