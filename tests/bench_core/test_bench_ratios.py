"""Ratios of medians with their intervals, and where an order changes."""

import random

import pytest

from bench_core.studies.ratios import ENOUGH, LEVEL, Crossing, Ratio, crossing, ratio

ABOVE, BELOW = Ratio(value=1.2, low=1.1, high=1.3), Ratio(value=0.8, low=0.7, high=0.9)
HIGHER, LOWER = Ratio(value=1.1, low=0.9, high=1.2), Ratio(value=0.9)


def test_few_samples_have_a_ratio_and_no_interval() -> None:
    assert ratio([4.0], [2.0]) == Ratio(value=2.0)
    assert ratio([4.0, 9.0, 1.0], [2.0] * 9) == Ratio(value=2.0)
    assert ratio([1.0] * (ENOUGH - 1), [1.0] * 99).low is None
    assert ratio([1.0] * ENOUGH, [1.0] * ENOUGH) == Ratio(value=1, low=1, high=1)
    with pytest.raises(ValueError, match="positive samples"):
        ratio([], [1.0])
    with pytest.raises(ValueError, match="positive samples"):
        ratio([1.0, 0.0], [1.0])


def test_the_interval_lies_between_order_statistics() -> None:
    # Of 7 samples the extremes miss with 2 / 2**7 < 0.025; of 9, the second ones would with 2 * 10 / 2**9 > 0.025.
    assert ratio([10, 20, 30, 40, 50, 60, 70], [10.0] * 7) == Ratio(value=4, low=1, high=7)
    assert ratio(range(10, 100, 10), [10.0] * 7) == Ratio(value=5, low=1, high=9)
    # Of 10, they do with 2 * 11 / 2**10 < 0.025.
    assert ratio([10.0] * 10, range(10, 110, 10)) == Ratio(value=2 / 11, low=1 / 9, high=0.5)


def test_intervals_hold_the_true_ratio_as_often_as_they_say() -> None:
    rng = random.Random(0)
    held = 0
    for _ in range(500):
        fast, slow = ([scale * rng.lognormvariate(0, 0.3) for _ in range(15)] for scale in (3.0, 2.0))
        found = ratio(fast, slow)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1.5 <= found.high
    assert held / 500 >= LEVEL


def test_sides() -> None:
    assert [one.side for one in (ABOVE, BELOW, HIGHER, LOWER)] == [1, -1, 0, 0]
    assert str(ABOVE) == "1.2 (1.1 to 1.3)"
    assert str(LOWER) == "0.9"


@pytest.mark.parametrize(
    ("points", "found", "text"),
    [
        ([(1, ABOVE), (2, ABOVE)], Crossing(side=1), "a is faster at every n"),
        ([(1, BELOW)], Crossing(side=-1), "b is faster at every n"),
        # In any order of the points.
        (
            [(1920, BELOW), (192, ABOVE)],
            Crossing(changes=((192, 1920),), by_medians=((192, 1920),)),
            "the order changes between n 192 and 1920",
        ),
        # What is undecided between the two belongs to the gap.
        (
            [(1, ABOVE), (2, HIGHER), (4, BELOW)],
            Crossing(changes=((1, 4),), by_medians=((2, 4),)),
            "the order changes between n 1 and 4",
        ),
        # It may change and change back.
        (
            [(1, ABOVE), (2, LOWER), (4, ABOVE)],
            Crossing(by_medians=((1, 2), (2, 4)), undecided=(2,), side=1),
            "undecided at n 2; by the medians alone it changes between 1 and 2, between 2 and 4",
        ),
        ([(1, HIGHER), (2, HIGHER)], Crossing(undecided=(1, 2)), "undecided at n 1, 2"),
        (
            [(1, ABOVE), (2, BELOW), (3, LOWER)],
            Crossing(changes=((1, 2),), by_medians=((1, 2),), undecided=(3,)),
            "the order changes between n 1 and 2; undecided at n 3",
        ),
        (
            [(1, HIGHER), (2, LOWER)],
            Crossing(by_medians=((1, 2),), undecided=(1, 2)),
            "undecided at n 1, 2; by the medians alone it changes between 1 and 2",
        ),
    ],
)
def test_crossings(points: list[tuple[float, Ratio]], found: Crossing, text: str) -> None:
    assert crossing(points) == found
    assert found.text("n", "a", "b") == text
