"""The file of points, and what a picture shows of a curve."""

from __future__ import annotations

import io
import math
from array import array

from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.curves.chart import thinned
from logbook_agent.curves.point_file import Series, packed, read_series, standing

NUMBERS = st.floats(width=64, allow_nan=False)
STEPS = st.one_of(
    st.lists(st.integers(-(2**53), 2**53).map(float), min_size=1),
    st.integers(1, 50).map(lambda n: [float(3 * i) for i in range(n)]),
    st.lists(NUMBERS, min_size=1),
)


def file_of(steps: list[float], values: list[float]) -> bytes:
    return packed(
        [Series(name="loss", over="step", config={"seed": 1}, steps=array("d", steps), values=array("d", values))]
    )


@given(STEPS, st.data())
def test_points_are_read_as_they_were_written(steps: list[float], data: st.DataObject) -> None:
    values = data.draw(st.lists(st.floats(), min_size=len(steps), max_size=len(steps)))
    [series] = read_series(io.BytesIO(file_of(steps, values)))
    assert (series.name, series.over, series.config) == ("loss", "step", {"seed": 1})
    assert [*series.steps] == steps
    assert [*map(str, series.values)] == [*map(str, values)]


@given(st.integers(0, 200), st.binary(max_size=40))
def test_a_damaged_file_is_read_without_an_error(place: int, other: bytes) -> None:
    for series in read_series(io.BytesIO(file_of([1.0, 2.0], [3.0, 4.0])[:place] + other)):
        assert len(series.steps) == len(series.values)


def test_a_picture_shows_every_peak() -> None:
    values = array("d", [0.0] * 100_000)
    values[77_777], values[5], values[50_000] = 9.0, -9.0, math.nan
    places = [*thinned(values, 2_000)]
    assert len(places) <= 2_000
    assert places == sorted(places)
    assert {0, 5, 50_000, 77_777, 99_999} <= {*places}
    assert [*thinned(values[:10], 2_000)] == [*range(10)]


@given(st.lists(st.integers(0, 20).map(float)))
def test_the_points_that_stand_have_growing_steps(steps: list[float]) -> None:
    found, values = standing(array("d", steps), array("d", range(len(steps))))
    assert [*found] == sorted({*found})
    if steps:
        assert (found[-1], values[-1]) == (steps[-1], len(steps) - 1)
