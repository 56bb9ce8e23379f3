"""Cases find their partners, are never dropped silently, and unlike ones are never merged."""

from __future__ import annotations

from typing import Any

import pytest

from logbook_agent.findings.contrasts.likeness import LOAD, DifferenceStanding, Terms
from logbook_agent.findings.contrasts.matching import Ground, Pairing, compare_values
from logbook_agent.findings.contrasts.numbers import numbers
from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.errors import UsageError
from tests.contrasts.pair_support import trial


def paired(trials: list[Case], base: str | None = None, **terms: Any) -> Pairing:
    [found] = compare_values(Ground(trials, Terms(axis="mode", **terms)), base)
    return found


def test_cases_that_agree_are_paired_and_the_others_listed() -> None:
    trials = [trial(1, {"mode": "a", "topk": k}) for k in (1, 2, 4)]
    trials += [trial(2, {"mode": "b", "topk": k}, 1.1) for k in (4, 2, 8)]
    found = paired(trials)
    assert [pair.case for pair in found.pairs] == [{"topk": "2"}, {"topk": "4"}]
    assert [(u.side, u.case) for u in found.unpaired] == [("base", {"topk": "1"}), ("other", {"topk": "8"})]
    assert found.unpaired[0].why == "no case on the other side agrees in topk"


def test_a_difference_between_the_sides_pairs_them_nevertheless() -> None:
    """A sweep and its controls, measured at two commits: the numbers are shown, and the difference is named."""
    old = [trial(1, {"mode": "a", "topk": k}, facts={"commit": "old"}) for k in (1, 2)]
    new = [trial(2, {"mode": "b", "topk": k}, facts={"commit": "new"}) for k in (1, 2)]
    found = paired([*old, *new])
    assert [[d.name for d in pair.likeness.withheld_by] for pair in found.pairs] == [["commit"], ["commit"]]
    # A third commit on one side makes a case of its own, which is not merged with the second.
    found = paired([*old, *new, trial(3, {"mode": "b", "topk": 2}, facts={"commit": "newer"})])
    assert [pair.case for pair in found.pairs] == [
        {"topk": "1"},
        {"topk": "2", "commit": "new"},
        {"topk": "2", "commit": "newer"},
    ]


def test_several_on_both_sides_are_not_guessed_at() -> None:
    found = paired([trial(i, {"mode": m}, facts={"commit": c}) for i, (m, c) in enumerate(("a1", "a2", "b3", "b4"))])
    assert found.pairs == ()
    assert [u.case for u in found.unpaired] == [{"commit": c} for c in "1234"]
    assert {u.why for u in found.unpaired} == {"several cases on both sides match it"}


def test_the_code_that_both_sides_have_pairs_them() -> None:
    found = paired([trial(i, {"mode": m}, facts={"commit": c}) for i, (m, c) in enumerate(("a1", "b1", "b2"))])
    assert [pair.likeness.withheld_by for pair in found.pairs] == [()]
    assert [u.case for u in found.unpaired] == [{"commit": "2"}]


def test_seeds_become_repeats_when_allowed() -> None:
    trials = [trial(i, {"mode": m, "seed": i % 3}, 1 + i / 1000) for i, m in enumerate("aaabbb")]
    assert len(paired(trials).pairs) == 3
    [pair] = paired(trials, allowed=("seed",)).pairs
    assert (pair.base.runs, pair.other.runs) == (3, 3)
    seeds = [d for d in pair.likeness.differences if d.name == "seed"]
    assert [(d.base, d.standing) for d in seeds] == [("0, 1, 2", DifferenceStanding.ALLOWED)]


def test_what_is_implied_is_not_merged_either() -> None:
    trials = [
        trial(1, {"mode": "none"}),
        trial(2, {"mode": "ep", "mesh": "2x2"}),
        trial(2, {"mode": "ep", "mesh": "1x4"}),
    ]
    found = paired(trials, implied=("mesh",)).pairs
    assert [pair.case for pair in found] == [{"mesh": "2x2"}, {"mesh": "1x4"}]
    assert [pair.likeness.withheld_by for pair in found] == [(), ()]


def test_rows_of_one_run_are_told_apart_by_its_words_or_their_order() -> None:
    stages = [trial(r, {"mode": m}, labels={"stage": s}) for r, m in ((1, "a"), (2, "b")) for s in ("pack", "gmm")]
    assert [pair.case for pair in paired(stages).pairs] == [{"stage": "pack"}, {"stage": "gmm"}]
    rows = [trial(r, {"mode": m}, v) for r, m in ((1, "a"), (2, "b")) for v in (1.0, 5.0)]
    values = [(numbers(pair.base, "t").values, numbers(pair.other, "t").values) for pair in paired(rows).pairs]
    assert values == [((1.0,), (1.0,)), ((5.0,), (5.0,))]


@pytest.mark.parametrize(("counts", "why"), [((3, 2), "3 rows a run against 2"), ((1, 2), "1 rows a run against 2")])
def test_unequal_rows_that_nothing_tells_apart_are_not_paired(counts: tuple[int, int], why: str) -> None:
    rows = [trial(run, {"mode": "ab"[run % 2]}, 10.0 * at) for run in range(4) for at in range(counts[run % 2])]
    found = paired(rows)
    assert found.pairs == ()
    assert {u.why for u in found.unpaired} == {why}
    # What config tells apart is matched, whatever else one side measured.
    rows = [trial(r, {"mode": m, "k": k}, 10.0 * k) for r, m in ((1, "a"), (2, "b")) for k in range(counts[r - 1])]
    assert [pair.case for pair in paired(rows).pairs] == [{"k": str(k)} for k in range(min(counts))]


def test_rows_of_unfinished_runs_are_left_out() -> None:
    [pair] = paired(
        [trial(1, {"mode": "a"}), trial(2, {"mode": "a"}, 9.0, state="failed"), trial(3, {"mode": "b"})]
    ).pairs
    assert numbers(pair.base, "t").values == (1.0,)
    assert pair.base.left_out == 1


def test_a_case_that_failed_before_it_told_the_axis_is_listed() -> None:
    found = paired([trial(1, {"mode": "a"}), trial(2, {"mode": "b"}), trial(3, {}, None)])
    assert len(found.pairs) == 1
    assert [(u.side, u.why) for u in found.unpaired] == [("neither", "failed before it reported its mode")]


def test_repeats_of_several_entries_count() -> None:
    [pair] = paired([trial(i, {"mode": m}, entry=f"T-{i}") for i, m in enumerate("abba")]).pairs
    assert (pair.base.runs, pair.other.runs) == (2, 2)
    assert pair.likeness.withheld_by == ()


def test_one_value_a_wrong_value_and_a_wrong_name() -> None:
    rows = [trial(1, {"mode": "a"}), trial(2, {"mode": "b"})]
    with pytest.raises(UsageError, match="mode has one value in these rows: a"):
        paired(rows[:1])
    with pytest.raises(UsageError, match="no value of mode named 'c'"):
        paired(rows, "c")
    with pytest.raises(UsageError, match="no axis named 'mod'"):
        Ground(rows, Terms(axis="mod"))


@pytest.mark.parametrize(
    ("base", "other", "config", "said"),
    [
        ("qqqq", "qqqq", {}, []),
        ("bbbb", "bbbb", {}, []),
        ("????", "bbbb", {}, []),
        ("qqqq", "qqqb", {}, []),
        ("qqqq", "bbbb", {}, [(LOAD, "quiet", "busy")]),
        ("qqbq", "bbbb", {}, [(LOAD, "busy in 1 of 4 runs", "busy")]),
        ("q?qq", "b???", {}, [(LOAD, "quiet", "busy")]),
        # A key of config by that name is another thing.
        ("qq", "bb", {LOAD: 3}, [(f"@{LOAD}", "quiet", "busy")]),
    ],
)
def test_a_machine_that_was_busy_for_one_side_is_noted(
    base: str, other: str, config: dict[str, Any], said: list[tuple[str, str, str]]
) -> None:
    busy = {"b": True, "q": False, "?": None}
    runs = [(mode, busy[word]) for mode, words in (("x", base), ("y", other)) for word in words]
    [pair] = paired([trial(n, {"mode": mode, **config}, busy=told) for n, (mode, told) in enumerate(runs)]).pairs
    found = [d for d in pair.likeness.differences if "load" in d.name]
    assert [(d.name, d.base, d.other) for d in found] == said
    assert all(d.standing is DifferenceStanding.NOTED for d in found)
