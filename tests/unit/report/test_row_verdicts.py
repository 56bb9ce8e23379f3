"""Which verdict two rows of a table have."""

from __future__ import annotations

import dataclasses

from logbook_agent.findings.cases import Case
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome, PairSeries, Side
from logbook_agent.model.comparison import Part, Question
from logbook_agent.report.page.row_verdicts import RowPart, row_parts, verdicts
from tests.unit.findings.pair_support import trial


def finding(side: str, topk: str) -> Finding:
    return Finding(
        metric="t", unit=None, direction="max", is_guard=False, side=side, case={"topk": topk},
        base=Side(), other=Side(), outcome=Outcome.BETTER, change=0.1, low=0.05, high=0.15, pairs=8, judged=8,
        series=PairSeries(y=(), signs=(), entries=()),
    )  # fmt: skip


def answer(entry: str, *findings: Finding) -> Answer:
    return Answer(
        entry=entry, entries=(entry,), question=Question(axis="mode", base="none", sides=("int8", "fp8")),
        findings=findings, pairs=8, sittings=1, confidence="exploratory", reasons=(), code={},
    )  # fmt: skip


def row(side: str | None, topk: int, entry: str = "T-001") -> tuple[Case, ...]:
    part = Part(pair=1, side=side) if side is not None else None
    return (dataclasses.replace(trial(1, {"mode": side or "none", "topk": topk}, entry=entry), part=part),)


def test_a_row_of_the_base_has_the_verdicts_of_all_sides_of_its_case() -> None:
    answers = [
        answer("T-000", finding("int8", "2")),
        answer("T-001", *(finding(s, k) for s in ("int8", "fp8") for k in "24")),
    ]
    found = row_parts(answers, [row("none", 2), row("int8", 2), row("fp8", 4), row("none", 2, "T-000"), row(None, 2)])
    assert found == [
        RowPart(answer=1, side="none", verdicts=(1, 3)),
        RowPart(answer=1, side="int8", verdicts=(1,)),
        RowPart(answer=1, side="fp8", verdicts=(4,)),
        RowPart(answer=0, side="none", verdicts=(0,)),
        None,
    ]
    told = verdicts(answers)
    assert [v.entry for v in told] == ["T-000", *["T-001"] * 4]
    assert told[1].asked == "mode: int8, fp8 against none"
    assert "topk=4" in told[4].text
    assert told[4].text.startswith("fp8 has 10% higher t than none")


def test_rows_of_an_entry_with_two_answers_have_the_one_of_their_own_pairs() -> None:
    """Its code changed after the first pairs; the later answer says nothing of the earlier rows."""
    before, after = (
        dataclasses.replace(answer("T-001", finding("int8", "2")), times=((began, ended),))
        for began, ended in (("01", "02"), ("03", "04"))
    )
    rows = [(dataclasses.replace(row("int8", 2)[0], started=at),) for at in ("02", "03", "05")]
    found = row_parts([before, after], rows)
    assert [one and (one.answer, one.verdicts) for one in found] == [(0, (0,)), (1, (1,)), None]
