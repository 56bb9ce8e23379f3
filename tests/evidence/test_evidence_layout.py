"""How runs lie in time: every kind of order, what it is called, and whether a verdict may rest on it."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.comparisons.as_text import compared_text
from logbook_agent.findings.comparisons.told import data, lines, verdict_text
from logbook_agent.findings.evidence.answers import Answer, answer_values
from logbook_agent.findings.evidence.layout import APART_S, SOUND, WHY, Lay, PlacedRun, layout, sittings
from logbook_agent.findings.evidence.verdict import CLAIMS, judge
from logbook_agent.findings.tables.spec import Case, Table
from logbook_agent.findings.trust import Answered
from logbook_agent.model.draw import order_of_round
from logbook_agent.model.entry import Comparison, Design
from tests.evidence.pair_support import ask, on_axis, only, trial

BEGAN = datetime(2026, 2, 10, 10, tzinfo=UTC)
DRAWN = Design(seed=5, rounds=6)


def moment(minutes: float) -> str:
    return (BEGAN + timedelta(minutes=minutes)).isoformat()


def placed(
    order: str, *, design: Design | None = None, gap_min: dict[int, float] | None = None, entry: str = "T-0"
) -> tuple[list[PlacedRun], list[PlacedRun]]:
    """The runs of `a` and of `b` in this order, each of a minute, in rounds of two. `gap_min`: what passes before the
    run at a place."""
    now, sides = 0.0, {"a": list[PlacedRun](), "b": list[PlacedRun]()}
    for place, side in enumerate(order):
        now += (gap_min or {}).get(place, 0)
        run = PlacedRun((moment(now), entry, place + 1), ended=moment(now + 1), repeat=place // 2 + 1, design=design)
        sides[side].append(run)
        now += 1
    return sides["a"], sides["b"]


def lay_of(order: str, design: Design | None = None, gap_min: dict[int, float] | None = None) -> Lay:
    """What both sides agree on."""
    a, b = placed(order, design=design, gap_min=gap_min)
    one, turned = layout(a, b), layout(b, a)
    assert turned.lay is one.lay
    assert turned.pairs == tuple((y, x) for x, y in one.pairs)
    assert turned.other_first == tuple(not first for first in one.other_first)
    return one.lay


@pytest.mark.parametrize(
    ("order", "design", "gap_min", "lay"),
    [
        ("abbaab", None, None, Lay.FIXED),
        ("baabba", None, None, Lay.FIXED),
        ("abbab", None, None, Lay.FIXED),
        ("ababab", None, None, Lay.ONE_FIRST),
        ("bababa", None, None, Lay.ONE_FIRST),
        ("aaabbb", None, None, Lay.BLOCKED),
        ("bbbaaa", None, None, Lay.BLOCKED),
        ("ab", None, None, Lay.BLOCKED),
        ("abba", None, None, Lay.FIXED),
        ("aababb", None, None, Lay.MIXED),
        ("ababba", None, None, Lay.MIXED),
        # Ten minutes within a pair are too many, between pairs any time is none too long.
        ("abbaab", None, {1: 10.5}, Lay.APART),
        ("abbaab", None, {1: 9.5}, Lay.FIXED),
        ("abbaab", None, {2: 600}, Lay.FIXED),
        # Drawn by chance it may come out as it likes.
        ("abbaab", DRAWN, None, Lay.DRAWN),
        ("ababab", DRAWN, None, Lay.DRAWN),
        ("ababba", DRAWN, {1: 600}, Lay.DRAWN),
        ("aababb", replace(DRAWN, shuffled=True), None, Lay.SHUFFLED),
        # Chance, too, may put all of one side first: then it settles as little.
        ("aaabbb", replace(DRAWN, shuffled=True), None, Lay.BLOCKED),
    ],
)
def test_every_order_has_a_name(order: str, design: Design | None, gap_min: dict[int, float] | None, lay: Lay) -> None:
    assert lay_of(order, design, gap_min) is lay
    a, b = placed(order, design=design, gap_min=gap_min)
    assert layout(a, b).is_sound is (lay in SOUND)
    assert (lay in SOUND) != (lay in WHY)


def test_a_run_that_holds_both_sides() -> None:
    a, b = placed("abba")
    assert layout(a, a).lay is Lay.ONE_RUN
    assert layout(a, [*b, a[0]]).lay is Lay.ONE_RUN


def test_how_far_apart_is_the_callers_to_say() -> None:
    a, b = placed("abbaab", gap_min={1: 30})
    assert layout(a, b).lay is layout(a, b, apart_s=APART_S).lay is Lay.APART
    assert layout(a, b, apart_s=3600).lay is Lay.FIXED
    # Where a time is not known nothing speaks against it.
    a, b = ([replace(run, key=("", *run.key[1:]), ended=None) for run in side] for side in (a, b))
    assert layout(a, b).lay is Lay.FIXED


def test_the_pairs_of_a_design_are_those_of_its_rounds() -> None:
    """A round of which one side is missing leaves the others in their pairs."""
    a, b = placed("abbaababba", design=replace(DRAWN, rounds=5, looks=2))
    found = layout(a, b[1:])
    assert (found.lay, found.pairs, found.alone) == (Lay.DRAWN, ((1, 0), (2, 1), (3, 2), (4, 3)), 1)
    assert found.other_first == (True, False, False, True)
    assert (found.looks, found.rounds) == (2, 5)


def test_older_pairs_and_drawn_ones_of_one_entry_are_judged_together() -> None:
    """AB BA without a design, then rounds that one drew: the drawn ones may come in any order."""
    a, b = placed("abbaababab")
    since = Design(seed=5, since=4, rounds=5)

    def added(runs: list[PlacedRun]) -> list[PlacedRun]:
        return [replace(run, design=since) if (run.repeat or 0) >= 4 else run for run in runs]

    found = layout(added(a), added(b))
    assert (found.lay, len(found.pairs), found.rounds) == (Lay.FIXED, 5, 5)
    # The same without a draw is an order that nobody knows the reason of.
    assert layout(a, b).lay is Lay.MIXED


def test_cases_that_a_sweep_does_not_compare_share_no_rounds() -> None:
    """A sweep makes all rounds of one size, then all of the next: their rounds have the same numbers."""
    design = Design(seed=0, rounds=3)
    small, large = (
        [PlacedRun((moment(size * 10 + n), "T-0", size * 10 + n), repeat=n, design=design) for n in (1, 2, 3)]
        for size in (0, 1)
    )
    assert layout(small, large).lay is layout(large, small).lay is Lay.BLOCKED
    # Two entries at the same time, each with rounds of its own, are no such thing.
    (a, b), (c, d) = (placed("abba", design=DRAWN, entry=entry) for entry in ("T-0", "T-1"))
    assert layout(sorted([*a, *c], key=lambda p: p.key), sorted([*b, *d], key=lambda p: p.key)).lay is Lay.DRAWN


def test_looks_at_pairs_that_were_made_by_hand_are_counted_from_the_first_on() -> None:
    """Whoever makes pairs by hand may stop after any: after 6, 7, 8 ... of them."""
    for pairs, looks in ((2, 1), (6, 1), (7, 2), (12, 7)):
        a, b = placed(("abba" * pairs)[: 2 * pairs])
        by_hand = [[replace(run, repeat=None) for run in side] for side in (a, b)]
        assert layout(*by_hand).looks == looks
        assert layout(a, b).looks == 1, "numbered by an older `logbook ab`"


@given(st.lists(st.sampled_from("ab"), min_size=2, max_size=16).filter(lambda sides: len({*sides}) == 2))
def test_every_order_is_one_of_them_and_seen_alike_from_both_sides(order: list[str]) -> None:
    lay = lay_of("".join(order))
    assert lay not in (Lay.DRAWN, Lay.SHUFFLED, Lay.ONE_RUN), "nobody drew it"
    a, b = placed("".join(order))
    found = layout(a, b)
    assert len({x for x, _ in found.pairs}) == len(found.pairs)
    assert 2 * len(found.pairs) + found.alone == len(order) or not found.pairs


def test_sittings_are_set_apart_by_time() -> None:
    def runs(*begin_min: float) -> list[tuple[str, str | None]]:
        return [(moment(m), moment(m + 1)) for m in begin_min]

    assert sittings(runs(0, 1, 2)) == [[0, 1, 2]]
    assert sittings(runs(0, 1, 13)) == [[0, 1], [2]]
    assert sittings(runs(13, 0, 1)) == [[1, 2], [0]]
    # A long run within which another was made ends its sitting.
    assert sittings([(moment(0), moment(60)), *runs(1, 65)]) == [[0, 1, 2]]
    assert sittings([(moment(0), None), (moment(11), None)]) == [[0], [1]]
    assert sittings([]) == []


# -- what a reader sees ------------------------------------------------------------------------------


def trials(order: str, *, gain: float = 1.1, **more: object) -> list[Case]:
    """One row of each run; `b` is better."""
    rising = 1.0
    found = []
    for place, mode in enumerate(order):
        rising *= 1.0001
        started, ended = moment(2 * place), moment(2 * place + 1)
        made = trial(place + 1, {"mode": mode}, rising * (gain if mode == "b" else 1.0), started=started)
        found.append(replace(made, ended=ended, **more))  # type: ignore[arg-type]
    return found


def text_of(answer: Answer) -> str:
    def render(table: Table) -> str:
        return "\n".join([*("|".join(row) for row in table.rows), *table.notes])

    return compared_text([answer], render)


def view_of(answer: Answer, **asked: object) -> str:
    comparison = Comparison(references=("T-0",), axis="mode", **asked)  # type: ignore[arg-type]
    return lines(Answered(asked=comparison, answers=(answer,)), "T-0")


@pytest.mark.parametrize(
    ("order", "lay"),
    [("a" * 6 + "b" * 6, Lay.BLOCKED), ("ab" * 6, Lay.ONE_FIRST), ("aabbabaabbba", Lay.MIXED), ("ab", Lay.BLOCKED)],
)
def test_an_order_that_settles_nothing_is_told_everywhere_with_its_reason(order: str, lay: Lay) -> None:
    answer = on_axis(trials(order))
    m = only(answer)
    assert [(d.name, d.why) for d in m.withheld_by] == [("order", WHY[lay])]
    assert verdict_text(m) == "not settled"
    assert m.ratio == pytest.approx(1.1, rel=0.01), "the numbers are there"
    said = text_of(answer)
    assert said.splitlines()[0].endswith("|not settled")
    assert f"not settled: {WHY[lay]}, so a drift of the machine would look like an effect" in said
    assert "to settle it: logbook ab --axis mode=a,b -- COMMAND" in said
    assert "to judge it all the same: --allow order" in said
    assert f": not settled, {WHY[lay]}" in view_of(answer)
    told = data(Comparison(references=("T-0",), axis="mode"), [answer])["comparisons"][0]["pairs"][0]["metrics"][0]
    assert (told["order"], told["withheld_by"], told["verdict"]) == (lay.value, ["order"], None)
    assert told["delta"] == pytest.approx(0.1, rel=0.02)


def test_whoever_allows_the_order_has_a_verdict_and_it_says_so() -> None:
    for order, lay in (("a" * 6 + "b" * 6, Lay.BLOCKED), ("ab" * 6, Lay.ONE_FIRST)):
        answer = on_axis(trials(order), allowed=("order",))
        m = only(answer)
        assert (m.withheld_by, verdict_text(m)) == ((), "beneficial")
        assert f"allowed: order ({WHY[lay]})" in text_of(answer)
        assert f"allowed: order ({WHY[lay]})" in view_of(answer, allowed=("order",))
        told = data(Comparison(references=("T-0",)), [answer])["comparisons"][0]["pairs"][0]["metrics"][0]
        assert (told["order"], told["withheld_by"], told["verdict"]) == (lay.value, [], "beneficial")
        assert told["test"] == ("signed-rank" if lay is Lay.ONE_FIRST else "mann-whitney")
    # Of an order that settles it nothing has to be said.
    assert "order (" not in text_of(on_axis(trials("abba" * 3), allowed=("order",)))


def test_what_lies_apart_is_told_too() -> None:
    late = [
        replace(case, started=moment(60 * n), ended=moment(60 * n + 1)) for n, case in enumerate(trials("abba" * 3))
    ]
    m = only(on_axis(late))
    assert [d.why for d in m.withheld_by] == ["the two runs of a pair lie too far apart in time"]
    drawn = [replace(case, repeat=n // 2 + 1, design=DRAWN) for n, case in enumerate(late)]
    assert verdict_text(only(on_axis(drawn))) == "beneficial"


def test_both_sides_in_the_same_runs() -> None:
    both = [replace(case, run=case.run // 2, started=moment(case.run // 2)) for case in trials("ab" * 6)]
    m = only(on_axis(both))
    assert [d.why for d in m.withheld_by] == ["both sides were measured in the same runs, one always before the other"]


def test_the_mean_is_of_numbers_and_needs_no_order() -> None:
    cases = [replace(c, row=replace(c.row, config={**c.row.config, "k": k})) for k in (1, 2) for c in trials("ab")]
    cases = [replace(case, run=run, started=moment(run)) for run, case in enumerate(cases)]
    answer = on_axis(cases)
    assert [verdict_text(line.metrics[0]) for line in answer.lines] == ["not settled"] * 2
    assert "geometric mean of t over 2 pairs: +10" in text_of(answer)


@pytest.mark.parametrize("axis", ["order", "mode"])
def test_a_config_key_by_the_name_of_order_is_no_order_of_runs(axis: str) -> None:
    """It may be the axis, and it may differ beside it."""
    order = "a" * 6 + "b" * 6
    named = [
        replace(
            case, row=replace(case.row, config={"order": mode} if axis == "order" else {"mode": mode, "order": mode})
        )
        for mode, case in zip(order, trials(order), strict=True)
    ]
    [answer] = answer_values(named, ask(axis=axis))
    m = only(answer)
    assert ("order", WHY[Lay.BLOCKED]) in [(d.name, d.why) for d in m.withheld_by]
    assert verdict_text(m) == ("not settled" if axis == "order" else "withheld")
    assert "None" not in text_of(answer)


def test_the_design_of_a_fixed_number_is_judged_when_it_is_whole() -> None:
    order = "abbaabbaabba"
    for rounds, verdict in ((6, "beneficial"), (7, "inconclusive")):
        design = Design(seed=1, rounds=rounds)
        made = [replace(case, repeat=n // 2 + 1, design=design) for n, case in enumerate(trials(order))]
        m = only(on_axis(made))
        assert verdict_text(m) == verdict
        assert m.reasons[0].startswith("6 of 7 planned pairs: the result is judged when all are there") == (rounds == 7)
    # One that is looked at on the way is judged at each look, and held against more.
    open_end = [
        replace(c, repeat=n // 2 + 1, design=Design(seed=1, rounds=20, looks=7)) for n, c in enumerate(trials(order))
    ]
    m = only(on_axis(open_end))
    assert m.reasons[0] == "2 more pairs are needed before an effect can be told from chance"


# -- why an order by chance is enough ----------------------------------------------------------------


def false_claims(seeds: range, period: int, fixed: bool) -> int:
    """How often pairs of two equal sides are called different on a machine that is slow in every `period`-th run."""
    found = 0
    for seed in seeds:
        chance = random.Random(seed)
        base, other, first = [], [], []
        for number in range(1, 11):
            order = [number % 2 == 0, number % 2 == 1] if fixed else [v == 1 for v in order_of_round(seed, number, 2)]
            values = [0.0, 0.0]
            for place, is_other in enumerate(order):
                slow = (2 * (number - 1) + place) % period == 0
                values[is_other] = (1.1 if slow else 1.0) * (1 + chance.gauss(0, 0.001))
            base.append([values[0]])
            other.append([values[1]])
            first.append(order[0])
        verdict = judge(base, other, direction="max", other_first=first).verdict
        found += verdict in CLAIMS
    return found


@pytest.mark.parametrize("period", [2, 3, 4, 8])
def test_pairs_in_an_order_by_chance_hold_their_level_whatever_comes_back_every_few_runs(period: int) -> None:
    """The sign of each pair is a fair coin: at most 5% of 400 claim something; 39 and more come up in one of 10,000."""
    assert false_claims(range(400), period, fixed=False) < 39


def test_pairs_in_a_fixed_order_do_not() -> None:
    """AB BA on a machine that is slow in every fourth run, which is always one of A."""
    # Of 100 with a chance of 5%, 15 come up in one of 7,000 cases.
    assert false_claims(range(100), 4, fixed=True) >= 15 > false_claims(range(100), 4, fixed=False)
