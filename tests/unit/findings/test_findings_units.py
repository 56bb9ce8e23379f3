"""Values in several units have no common scale: the declared one counts, and without one nothing is ranked."""

from __future__ import annotations

import pytest

from logbook_agent.model.units import common


@pytest.mark.parametrize(
    ("units", "wanted", "kept"),
    [
        ({"s"}, None, {"s"}),
        ({"s", None}, None, {"s", None}),
        ({"s", "ms"}, None, set()),
        ({"s", "ms"}, "s", {"s", None}),
        ({"s", "ms"}, "us", set()),
        ({"ms", None}, "s", {"s", None}),
        ({"ms"}, "s", {"ms"}),
        (set(), "s", set()),
    ],
)
def test_which_units_are_one_scale(units: set[str | None], wanted: str | None, kept: set[str | None]) -> None:
    assert common(units, wanted) == kept
