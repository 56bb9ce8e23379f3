"""Cases find their partners, are never dropped silently, and unlike ones are never merged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from logbook_agent.findings.comparisons.as_text import compared_table
from logbook_agent.findings.comparisons.told import notes
from logbook_agent.findings.evidence.alike import DifferenceStanding, Terms
from logbook_agent.findings.evidence.answers import Ask, answer_sides, answer_values
from logbook_agent.findings.evidence.layout import Lay
from logbook_agent.findings.evidence.noise import noise_of
from logbook_agent.findings.evidence.verdict import Verdict
from logbook_agent.model.errors import UsageError
from tests.evidence.pair_support import DECLARED, ask, on_axis, only, trial


def test_cases_that_agree_are_paired_and_the_others_listed() -> None:
    trials = [trial(1, {"mode": "a", "topk": k}) for k in (1, 2, 4)]
    trials += [trial(2, {"mode": "b", "topk": k}, 1.1) for k in (4, 2, 8)]
    answer = on_axis(trials)
    assert [line.pair.case for line in answer.lines] == [{"topk": "2"}, {"topk": "4"}]
    assert [(u.side, u.case) for u in answer.unpaired] == [("base", {"topk": "1"}), ("other", {"topk": "8"})]
    assert answer.unpaired[0].why == "no case on the other side agrees in topk"
    mean = answer.mean("t")
    assert mean is not None
    assert mean == (pytest.approx(1.1), 2)


def test_a_difference_between_the_sides_pairs_them_nevertheless() -> None:
    """A sweep and its controls, measured at two commits: the numbers are shown, the verdict is withheld."""
    old = [trial(1, {"mode": "a", "topk": k}, facts={"commit": "old"}) for k in (1, 2)]
    new = [trial(2, {"mode": "b", "topk": k}, facts={"commit": "new"}) for k in (1, 2)]
    answer = on_axis([*old, *new])
    assert [[d.name for d in line.pair.likeness.withheld_by] for line in answer.lines] == [["commit"], ["commit"]]
    # A third commit on one side makes a case of its own, which is not merged with the second.
    answer = on_axis([*old, *new, trial(3, {"mode": "b", "topk": 2}, facts={"commit": "newer"})])
    assert [line.pair.case for line in answer.lines] == [
        {"topk": "1"},
        {"topk": "2", "commit": "new"},
        {"topk": "2", "commit": "newer"},
    ]


def test_several_on_both_sides_are_not_guessed_at() -> None:
    trials = [trial(i, {"mode": m}, facts={"commit": c}) for i, (m, c) in enumerate(("a1", "a2", "b3", "b4"))]
    answer = on_axis(trials)
    assert answer.lines == ()
    assert [u.case for u in answer.unpaired] == [{"commit": c} for c in "1234"]
    assert {u.why for u in answer.unpaired} == {"several cases on both sides match it"}


def test_the_code_that_both_sides_have_pairs_them() -> None:
    trials = [trial(i, {"mode": m}, facts={"commit": c}) for i, (m, c) in enumerate(("a1", "b1", "b2"))]
    answer = on_axis(trials)
    assert [line.pair.likeness.withheld_by for line in answer.lines] == [()]
    assert [u.case for u in answer.unpaired] == [{"commit": "2"}]


@pytest.mark.parametrize(
    ("order", "lay", "pairs", "alone"),
    [
        ("abbaab", Lay.FIXED, 3, 0),
        ("abbaa", Lay.FIXED, 2, 1),
        ("abba", Lay.FIXED, 2, 0),
        ("abbab", Lay.FIXED, 2, 1),
        ("ababab", Lay.ONE_FIRST, 3, 0),
        ("ababba", Lay.MIXED, 3, 0),
        ("abbaaa", Lay.MIXED, 0, 0),
        ("aaabbb", Lay.BLOCKED, 0, 0),
        ("abb", Lay.BLOCKED, 0, 0),
        ("ab", Lay.BLOCKED, 0, 0),
        ("aba", Lay.MIXED, 0, 0),
    ],
)
def test_runs_taken_in_turns_are_judged_in_pairs(order: str, lay: Lay, pairs: int, alone: int) -> None:
    trials = [trial(i, {"mode": m}, 1 + i / 100) for i, m in enumerate(order)]
    for base in "ab":
        [answer] = answer_values(trials, Ask(terms=Terms(axis="mode"), base_value=base, declared=DECLARED))
        m = only(answer)
        assert m.layout is not None
        assert (m.layout.lay, len(m.layout.pairs), m.layout.alone) == (lay, pairs, alone)
        assert m.interleaved is bool(pairs)
        assert m.base.runs == order.count(base)
        assert [d.name for d in m.withheld_by] == ([] if lay is Lay.FIXED else ["order"])


def test_seeds_become_repeats_when_allowed_and_the_answer_says_so() -> None:
    trials = [trial(i, {"mode": m, "seed": i % 3}, 1 + i / 1000) for i, m in enumerate("aaabbb")]
    assert len(on_axis(trials).lines) == 3
    [line] = on_axis(trials, allowed=("seed",)).lines
    assert (line.metrics[0].base.runs, line.metrics[0].other.runs) == (3, 3)
    seeds = [d for d in line.pair.likeness.differences if d.name == "seed"]
    assert [(d.base, d.standing) for d in seeds] == [("0, 1, 2", DifferenceStanding.ALLOWED)]


def test_what_is_implied_is_not_merged_either() -> None:
    trials = [
        trial(1, {"mode": "none"}),
        trial(2, {"mode": "ep", "mesh": "2x2"}),
        trial(2, {"mode": "ep", "mesh": "1x4"}),
    ]
    lines = on_axis(trials, implied=("mesh",)).lines
    assert [line.pair.case for line in lines] == [{"mesh": "2x2"}, {"mesh": "1x4"}]
    assert [line.pair.likeness.withheld_by for line in lines] == [(), ()]


def test_rows_of_one_run_are_told_apart_by_its_words_or_their_order() -> None:
    stages = [trial(r, {"mode": m}, labels={"stage": s}) for r, m in ((1, "a"), (2, "b")) for s in ("pack", "gmm")]
    assert [line.pair.case for line in on_axis(stages).lines] == [{"stage": "pack"}, {"stage": "gmm"}]
    rows = [trial(r, {"mode": m}, v) for r, m in ((1, "a"), (2, "b")) for v in (1.0, 5.0)]
    assert [line.metrics[0].ratio for line in on_axis(rows).lines] == [1.0, 1.0]


def test_a_failed_case_says_why_and_rows_of_unfinished_runs_are_left_out() -> None:
    m = only(on_axis([trial(1, {"mode": "a"}), trial(2, {"mode": "b"}, None)]))
    assert m.judgement is None
    assert m.reasons == ("other has no number: failed: RESOURCE_EXHAUSTED",)
    answer = on_axis([trial(1, {"mode": "a"}), trial(2, {"mode": "a"}, None), trial(3, {"mode": "b"})])
    assert notes([answer], noise_of([answer]))[-1] == "1 failed row left out: RESOURCE_EXHAUSTED"
    answer = on_axis([trial(1, {"mode": "a"}), trial(2, {"mode": "a"}, 9.0, state="failed"), trial(3, {"mode": "b"})])
    assert only(answer).ratio == 1.0
    assert answer.lines[0].pair.base.left_out == 1


def test_a_case_that_failed_before_it_told_the_axis_is_listed() -> None:
    answer = on_axis([trial(1, {"mode": "a"}), trial(2, {"mode": "b"}), trial(3, {}, None)])
    assert len(answer.lines) == 1
    assert [(u.side, u.why) for u in answer.unpaired] == [("neither", "failed before it reported its mode")]


def test_a_real_effect_is_found_and_repeats_of_several_entries_count() -> None:
    trials = [
        trial(i, {"mode": m}, (1 if m == "a" else 1.1) * (1 + i / 1e4), entry=f"T-{i}")
        for i, m in enumerate("abba" * 3)
    ]
    m = only(on_axis(trials))
    assert m.judgement is not None
    assert m.judgement.verdict is Verdict.BENEFICIAL
    assert not m.withheld_by
    assert (m.base.runs, m.other.runs) == (6, 6)


def test_runs_beside_others_are_counted() -> None:
    rows = [trial(1, {"mode": "a"}), replace(trial(2, {"mode": "b"}), contended=True)]
    answer = on_axis(rows)
    assert notes([answer], noise_of([answer]))[-1] == "1 of 2 runs started while others held an accelerator"


def test_one_value_a_wrong_value_and_a_wrong_name() -> None:
    rows = [trial(1, {"mode": "a"}), trial(2, {"mode": "b"})]
    with pytest.raises(UsageError, match="mode has one value in these rows: a"):
        answer_values(rows[:1], ask(axis="mode"))
    with pytest.raises(UsageError, match="no value of mode named 'c'"):
        answer_values(rows, Ask(terms=Terms(axis="mode"), base_value="c", declared=DECLARED))
    with pytest.raises(UsageError, match="no axis named 'mod'"):
        answer_values(rows, ask(axis="mod"))
    with pytest.raises(UsageError, match="no difference named 'sed'"):
        answer_sides(rows[:1], rows[1:], ("A", "B"), ask(allowed=("sed",)))
    # Facts and groups may be named whether or not these rows have them.
    answer_sides(rows[:1], rows[1:], ("A", "B"), ask(allowed=("commit", "env", "package:jax", "argv:--x", "mode")))


def test_what_is_within_the_noise_is_marked_and_a_verdict_is_not() -> None:
    """The repeats of one case tell the noise of all."""
    noisy = [1.0, 1.03, 0.99, 1.01]
    trials = [trial(i, {"mode": "a", "topk": 1}, v) for i, v in enumerate(noisy)]
    trials += [trial(10 + i, {"mode": "b", "topk": 1}, v * 2) for i, v in enumerate(noisy)]
    trials += [trial(20, {"mode": "a", "topk": 2}, 1.0), trial(21, {"mode": "b", "topk": 2}, 1.02)]
    trials += [trial(22, {"mode": "a", "topk": 4}, 1.0), trial(23, {"mode": "b", "topk": 4}, 1.5)]
    answer = on_axis(trials)
    noise = noise_of([answer])
    assert noise.floors == {"t": (pytest.approx(0.017, abs=0.001), 6)}, "three degrees of freedom on either side"
    found = [m for line in answer.lines for m in line.metrics]
    assert [noise.holds(m) for m in found] == [False, True, False]
    assert [noise.marks(m) for m in found] == [False, True, False]
    table = compared_table([answer], noise, rows=9, noted=9)
    assert [row[5].endswith("~") for row in table.rows] == [False, True, False]
    assert any(note.startswith("~ delta within the noise") for note in table.notes)
    assert "noise of t: runs of one configuration scatter by 1.69%" in table.notes


def test_one_run_of_each_side_tells_no_noise() -> None:
    answer = on_axis([trial(1, {"mode": "a"}, 1.0), trial(2, {"mode": "b"}, 1.0)])
    noise = noise_of([answer])
    assert not noise.floors
    assert noise.holds(only(answer)) is None


def test_the_noise_of_a_run_that_prints_several_cases_is_that_of_each() -> None:
    """A quiet case and one that scatters, in the same runs."""
    trials = []
    for run, (mode, quiet, wild) in enumerate([("a", 1.0, 1.0), ("b", 1.0, 1.3), ("a", 1.001, 1.4), ("b", 1.001, 1.0)]):
        trials += [trial(run, {"mode": mode, "topk": 1}, wild), trial(run, {"mode": mode, "topk": 2}, quiet)]
    [floor] = noise_of([on_axis(trials)]).floors.values()
    assert floor == (pytest.approx(0.150, abs=0.001), 4)
