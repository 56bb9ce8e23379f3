"""Numbers of both sides, their ratio and verdict: pairs in turns, units, directions, means, spread."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.comparisons.told import data, evidence_text
from logbook_agent.findings.evidence.alike import DifferenceStanding, Terms
from logbook_agent.findings.evidence.answers import Ask, answer_values
from logbook_agent.findings.evidence.layout import Lay, PlacedRun, layout
from logbook_agent.findings.evidence.noise import noise_of
from logbook_agent.findings.evidence.verdict import Verdict
from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.entry import Comparison
from logbook_agent.model.run import Measurement
from tests.evidence.pair_support import DECLARED, on_axis, only, trial


@given(st.lists(st.floats(0.9, 1.1), min_size=3, max_size=20), st.sampled_from([1.0, 1.1]))
def test_the_verdict_of_an_ab_does_not_depend_on_its_base(values: list[float], scale: float) -> None:
    """Whole or cut off: AB BA AB ... seen from B."""
    order = ("abba" * len(values))[: len(values)]
    trials = [
        trial(i, {"mode": m}, v * scale ** (m == "b")) for i, (m, v) in enumerate(zip(order, values, strict=True))
    ]
    swapped = {"beneficial": "regressive", "regressive": "beneficial"}
    asks = [Ask(terms=Terms(axis="mode"), base_value=base, declared=DECLARED) for base in "ab"]
    one, two = (only(answer_values(trials, asked)[0]) for asked in asks)
    assert one.judgement is not None
    assert two.judgement is not None
    assert two.judgement.verdict == swapped.get(one.judgement.verdict, one.judgement.verdict)
    first, last = one.judgement.effect, two.judgement.effect
    assert first is not None
    assert last is not None
    assert (last.p_value, last.missing_runs) == (first.p_value, first.missing_runs)
    assert last.ratio == pytest.approx(1 / first.ratio)
    assert last.order_effect == pytest.approx(first.order_effect)
    assert (last.interval is None) == (first.interval is None)
    if first.interval is not None and last.interval is not None:
        assert last.interval.low == pytest.approx(1 / first.interval.high)


def test_a_pair_that_was_cut_off_is_left_out() -> None:
    whole = [trial(i, {"mode": m}, 1.0 if m == "a" else 1.1) for i, m in enumerate("abba" * 3)]
    m = only(on_axis([*whole, trial(12, {"mode": "a"}, 5.0)]))
    assert m.judgement is not None
    assert m.judgement.verdict is Verdict.BENEFICIAL
    assert m.judgement.effect is not None
    assert m.judgement.effect.ratio == pytest.approx(1.1)
    assert m.reasons[-1] == "1 run without a partner left out"
    assert evidence_text(m, noise_of([])).endswith(
        "6 pairs, p = 0.031 by signed ranks, fixed order, order effect +0.00%"
    )


def test_a_run_that_holds_both_sides_has_no_order() -> None:
    a, b = ([PlacedRun(("", "T", run)) for run in runs] for runs in ((1, 3), (1, 2)))
    assert layout(a, b).lay is layout(b, a).lay is Lay.ONE_RUN
    assert not layout(a, b).is_paired


def with_metric(found: Case, *, unit: str | None = None, direction: str | None = None, name: str = "t") -> Case:
    """The same, its number in a unit, with a direction, or under another name."""
    [measured] = found.row.metrics.values()
    more = Measurement(samples=measured.samples, unit=unit, direction=direction)  # type: ignore[arg-type]
    return replace(found, row=replace(found.row, metrics={name: more}))


def test_numbers_in_two_units_have_no_ratio() -> None:
    a, b = trial(1, {"mode": "a"}, 2.0), trial(2, {"mode": "b"}, 3.0)
    m = only(on_axis([with_metric(a, unit="s"), with_metric(b, unit="ms")]))
    assert (m.ratio, m.judgement) == (None, None)
    assert [(d.name, d.base, d.other, d.standing) for d in m.withheld_by] == [
        ("unit", "s", "ms", DifferenceStanding.DIFFERS)
    ]
    # One that is not stated is no other unit.
    assert only(on_axis([with_metric(a, unit="s"), b])).ratio == 1.5
    # Several within a side: there is no median of them.
    mixed = only(on_axis([with_metric(a, unit="s"), with_metric(trial(3, {"mode": "a"}, 2.0), unit="ms"), b]))
    assert (mixed.base.median, mixed.base.runs, mixed.ratio) == (None, 0, None)
    assert mixed.reasons == ("base has no number: its unit is s and ms",)


def test_the_rows_of_the_base_state_the_direction() -> None:
    """Unless they contradict each other; what is measured against them does not say how it is judged."""

    def direction(*base: str | None, last: str | None) -> str | None:
        rows = [
            with_metric(trial(n, {"mode": "a"}, 2.0), direction=stated, name="own") for n, stated in enumerate(base, 1)
        ]
        return only(on_axis([*rows, with_metric(trial(9, {"mode": "b"}, 3.0), direction=last, name="own")])).direction

    assert direction("max", last="max") == direction("max", last=None) == direction("max", last="min") == "max"
    assert direction("max", "min", last="max") is None
    assert direction(None, last=None) is direction(None, last="max") is None


def test_the_mean_is_over_what_may_be_compared_and_has_a_ratio() -> None:
    def pairs(values: dict[int, float | None], commit: str = "aaa") -> list[Case]:
        sides = [trial(1, {"mode": "a", "topk": k}) for k in values]
        return sides + [trial(2, {"mode": "b", "topk": k}, v, facts={"commit": commit}) for k, v in values.items()]

    assert on_axis(pairs({1: 2.0, 2: 8.0})).mean("t") == (pytest.approx(4.0), 2)
    assert on_axis(pairs({1: 2.0})).mean("t") is None, "of one pair there is no mean"
    assert on_axis(pairs({1: 2.0, 2: 8.0, 3: None})).mean("t") is None, "one that failed is not left out silently"
    assert on_axis(pairs({1: 2.0, 2: 8.0}, commit="bbb")).mean("t") is None, "what is withheld counts for nothing"


def test_both_sides_are_summed_up_in_data() -> None:
    values = [3.1, 4.7, 1.2, 9.9]
    trials = [trial(i, {"mode": "a"}, v) for i, v in enumerate(values)] + [trial(9, {"mode": "b"}, 2.0)]
    found = data(Comparison(references=("T-0",), axis="mode"), [on_axis(trials)])
    [metric] = found["comparisons"][0]["pairs"][0]["metrics"]
    base, other = metric["base"], metric["other"]
    # numpy.quantile, numpy.mean, numpy.std(ddof=1), scipy.stats.median_abs_deviation
    assert base["quartiles"] == pytest.approx([2.625, 6.0])
    assert base["mean"] == pytest.approx(4.725)
    assert base["standard_deviation"] == pytest.approx(3.734858319)
    assert base["mad"] == pytest.approx(1.75)
    assert (base["median"], base["runs"]) == (pytest.approx(3.9), 4)
    assert (other["mean"], other["quartiles"]) == (2.0, [2.0, 2.0])
    assert (other["standard_deviation"], other["mad"]) == (None, None), "one run scatters by nobody knows what"
