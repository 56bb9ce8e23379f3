"""Sides that were measured on a busy machine and on a quiet one."""

from __future__ import annotations

import dataclasses

from logbook_agent.findings.comparisons.told import notes
from logbook_agent.findings.evidence.alike import LOAD, DifferenceStanding
from logbook_agent.findings.evidence.noise import noise_of
from logbook_agent.findings.tables.spec import Case
from tests.evidence.pair_support import on_axis, only, trial


def _sides(base: str, other: str, **config: object) -> list[Case]:
    """`b`: busy, `q`: quiet, `?`: not told; run in turns."""
    busy = {"b": True, "q": False, "?": None}
    runs = [
        (mode, busy[word]) for words in zip(base, other, strict=True) for mode, word in zip("xy", words, strict=True)
    ]
    return [
        dataclasses.replace(trial(n, {"mode": mode, **config}, 1.0 + n / 100), busy=told)
        for n, (mode, told) in enumerate(runs)
    ]


def test_a_busy_side_is_noted_and_withholds_nothing() -> None:
    answer = on_axis(_sides("qqqq", "bbbb"))
    found = [d for d in answer.lines[0].pair.likeness.differences if d.name == LOAD]
    assert [(d.base, d.other, d.standing) for d in found] == [("quiet", "busy", DifferenceStanding.NOTED)]
    assert [d.name for d in only(answer).withheld_by] == ["order"]
    assert "noted: load (quiet | busy)" in notes([answer], noise_of([answer]))


def test_parts_of_sides() -> None:
    def told(base: str, other: str, **config: object) -> list[tuple[str, str | None, str | None]]:
        differences = on_axis(_sides(base, other, **config)).lines[0].pair.likeness.differences
        return [(d.name, d.base, d.other) for d in differences if "load" in d.name]

    assert told("qqqq", "qqqq") == told("bbbb", "bbbb") == told("????", "bbbb") == told("qqqq", "qqqb") == []
    assert told("qqbq", "bbbb") == [("load", "busy in 1 of 4 runs", "busy")]
    assert told("q?qq", "b???") == [("load", "quiet", "busy")]
    # A key of config by that name is another thing.
    assert told("qq", "bb", load=3) == [("@load", "quiet", "busy")]
