"""Deltas that are no larger than the noise of repeats."""

from __future__ import annotations

import pytest

from logbook_agent.findings.tables.spec import TableSpec
from tests.tables.tables_support import case, names, table


def test_a_delta_within_the_noise_of_repeats_is_marked() -> None:
    """Runs of one cell scatter by about 2%: 0.5% is within that, 50% is not. It serves cells with one run, too."""
    cases = [
        case({"k": k, "mode": mode}, run=10 * k + 2 * i + (mode == "b"), t=value)
        for k, mode, values in [
            (1, "a", [1.00, 1.03, 0.99]),
            (1, "b", [1.005, 1.02, 0.98]),
            (2, "a", [1.0]),
            (2, "b", [1.5]),
            (3, "a", [1.0]),
            (3, "b", [1.01]),
        ]
        for i, value in enumerate(values)
    ]
    found = table(*cases, spec=TableSpec(pivot="mode", delta=True, ratio=True))
    at = names(found).index("delta t")
    assert [row[at] for row in found.rows] == ["+0.50% ~", "+50.00%", "+1.00% ~"]
    assert [row[at + 1] for row in found.rows] == ["1.00x ~", "1.50x", "1.01x ~"]
    assert [row[at] for row in found.values] == pytest.approx([0.005, 0.5, 0.01])
    assert "~ within the noise: runs of one cell scatter by 2.04% in t" in found.notes


def test_without_repeats_no_noise_is_known() -> None:
    found = table(
        case({"mode": "a"}, t=1.0), case({"mode": "b"}, run=2, t=1.0), spec=TableSpec(pivot="mode", delta=True)
    )
    assert found.rows[0][-1] == "+0.00%"
    assert not any("noise" in note for note in found.notes)


def test_more_runs_of_a_cell_see_smaller_deltas() -> None:
    noise = [0.98, 0.99, 1.0, 1.01, 1.02]
    pairs = [(1, noise, [v * 1.03 for v in noise]), (2, [1.0], [1.03])]
    cases = [
        case({"k": k, "mode": mode}, run=20 * k + 2 * i + (mode == "b"), t=value)
        for k, a, b in pairs
        for mode, values in (("a", a), ("b", b))
        for i, value in enumerate(values)
    ]
    found = table(*cases, spec=TableSpec(pivot="mode", delta=True))
    assert [row[-1] for row in found.rows] == ["+3.00%", "+3.00% ~"]
