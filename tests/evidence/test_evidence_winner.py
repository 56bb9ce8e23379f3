"""Winners of sweeps: by pairs, by mixed runs, and never by what a drift could have made."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from logbook_agent.findings.evidence.layout import PlacedRun
from logbook_agent.findings.evidence.winner import winner
from logbook_agent.model.entry import Design

# Ten runs that scatter by about 1%, with a median of 1.
NOISE = [0.987, 0.991, 0.994, 0.997, 0.999, 1.001, 1.003, 1.006, 1.009, 1.013]
TIGHT = [1 + (v - 1) / 5 for v in NOISE]
Cases = dict[str, list[tuple[PlacedRun, list[float]]]]


def at(place: int, repeat: int = 1, design: Design | None = None) -> PlacedRun:
    return PlacedRun(("", "", place), repeat=repeat, design=design)


def rounds(cases: dict[str, list[float]]) -> Cases:
    """Each case in turn: 1..N, N..1, 1..N, and so on."""
    found: Cases = {name: [] for name in cases}
    place = 0
    for turn in range(max(map(len, cases.values()))):
        names = [name for name in (reversed(cases) if turn % 2 else cases) if turn < len(cases[name])]
        for name in names:
            found[name].append((at(place, turn + 1), [cases[name][turn]]))
            place += 1
    return found


def drawn(cases: dict[str, list[float]], *, shuffled: bool = False) -> Cases:
    """The same rounds, by a design that drew the order within each, or that of all runs."""
    return {
        name: [
            (replace(run, design=Design(seed=1, rounds=len(runs), shuffled=shuffled)), values) for run, values in runs
        ]
        for name, runs in rounds(cases).items()
    }


def blocks(cases: dict[str, list[float]]) -> Cases:
    """All runs of the first case, then all of the second, and so on."""
    places = iter(range(10_000))
    return {name: [(at(next(places)), [value]) for value in values] for name, values in cases.items()}


def test_the_luckiest_of_equal_cases_is_no_winner() -> None:
    lucky = rounds({f"case {i}": NOISE[i % 3 :] + NOISE[: i % 3] for i in range(9)})
    for base in ("case 0", None):
        found = winner(lucky, direction="max", base=base)
        assert found.winner is None
        assert found.best is not None
    assert winner(rounds({"a": NOISE}), direction="max").reasons == ("one case has nothing to win against",)
    assert winner(lucky, direction=None).reasons == ("the metric has no direction",)
    with pytest.raises(KeyError):
        winner(lucky, direction="max", base="case 99")


def test_one_run_cannot_tell() -> None:
    once = rounds({f"case {i}": [1.0 + i] for i in range(20)})
    alone = winner(once, direction="max")
    assert (alone.winner, alone.best, alone.rival, alone.repeats) == (None, "case 19", "case 18", 6)
    assert alone.reasons == ("one run of a case is not enough, 6 of each could be",)
    # Of the best of 19 it takes 2 / 2 ** 10 <= 0.05 / 19.
    assert winner(once, direction="max", base="case 0").repeats == 10
    # With so many rounds it can tell.
    for base, repeats in ((None, 6), ("case 0", 10)):
        again = rounds({f"case {i}": [1.0 + i + n / 1000 for n in range(repeats)] for i in range(20)})
        assert winner(again, direction="max", base=base).winner == "case 19"


def test_a_winner_beats_the_base_after_the_correction_or_all_others() -> None:
    cases = rounds({f"case {i}": [v * (1.05 if i == 7 else 1) for v in TIGHT] for i in range(20)})
    found = winner(cases, direction="max", base="case 0")
    assert (found.winner, found.best, found.rival) == ("case 7", "case 7", "case 0")
    assert found.reasons[0] == "the best of 19 cases against the base, corrected for that choice"
    assert "10 pairs" in found.reasons[1]
    alone = winner(cases, direction="max")
    assert alone.winner == "case 7"
    assert alone.reasons[0] == "better than every other case"
    # Six pairs are enough for one comparison; the best of 19 needs 2 / 2 ** 10 <= 0.05 / 19.
    few = {name: runs[:6] for name, runs in cases.items()}
    assert winner(few, direction="max").winner == "case 7"
    found = winner(few, direction="max", base="case 0")
    assert found.winner is None
    assert found.reasons[0].startswith("4 more pairs are needed")
    # Mixed by chance, runs are no pairs, even where they happen to stand in turns.
    plain = {f"case {i}": [v * (1.05 if i == 7 else 1) for v in TIGHT[:6]] for i in range(20)}
    mixed = winner(drawn(plain, shuffled=True), direction="max", base="case 0")
    assert (mixed.winner, "6 and 6 runs" in mixed.reasons[1]) == ("case 7", True)


def test_what_a_drift_could_have_made_names_no_winner() -> None:
    cases = {f"case {i}": [v * (1.05 if i == 7 else 1) for v in TIGHT] for i in range(9)}
    found = winner(blocks(cases), direction="max")
    assert (found.winner, found.best, found.repeats) == (None, "case 7", 10)
    assert "a drift of the machine would look like an effect" in found.reasons[0]
    for once in (False, True):
        assert winner(drawn(cases, shuffled=once), direction="max").winner == "case 7"


def test_rounds_in_which_one_case_always_ran_before_the_other_name_no_winner() -> None:
    same_way = {"a": [(at(2 * n), [v]) for n, v in enumerate(TIGHT)]}
    same_way["b"] = [(at(2 * n + 1), [1.05 * v]) for n, v in enumerate(TIGHT)]
    found = winner(same_way, direction="max")
    assert (found.winner, found.best, found.repeats) == (None, "b", 10)
    assert found.reasons == ("the same side always ran first: a drift of the machine would look like an effect",)


def test_pairs_of_rounds_are_those_of_a_round() -> None:
    """A run that was left out takes its partner with it, and the pairs after it stay together."""
    cases = drawn({"base": TIGHT, "new": [v * 1.05 for v in TIGHT]})
    del cases["new"][3]
    found = winner(cases, direction="max", base="base")
    assert found.winner == "new"
    assert "9 pairs" in found.reasons[1]
    assert "+5.00%, 95% interval +5.00% to +5.00%" in found.reasons[1], "each run beside that of its own round"


def test_the_base_can_be_best_and_a_case_without_ratio_is_left_out() -> None:
    cases = rounds({"base": [2 * v for v in NOISE], "a": NOISE, "b": [math.nan]})
    found = winner(cases, direction="max", base="base")
    assert found.reasons == (
        "no case has a better median than the base",
        "left out: 1 of 3 cases, whose values have no ratio",
    )
    assert winner(cases, direction="min", base="b").reasons[0] == "the base has no values with a ratio"


def test_the_only_case_beside_the_base_was_not_chosen_from_many() -> None:
    found = winner(rounds({"base": TIGHT, "new": [v * 1.1 for v in TIGHT]}), direction="max", base="base")
    assert (found.winner, found.reasons[0]) == ("new", "better than the base")
