"""The order of runs, and the benchmark's name in a command."""

from __future__ import annotations

import pytest

from logbook_agent.entries.run import RunRequest
from logbook_agent.findings.evidence.layout import Lay, PlacedRun, layout
from logbook_agent.sweeps.ab_axis import in_turns
from logbook_agent.sweeps.ab_prepare import with_bench


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_value_alternates_with_the_first(count: int) -> None:
    """The order of older A/Bs, which state no design."""
    # Also with a last round that was cut off.
    for made in range(4 * count, 5 * count + 1):
        order = [value for number in range(5) for value in in_turns(number, count)][:made]
        sides = [
            [PlacedRun(("", "MOE-000", run)) for run, v in enumerate(order) if v == value] for value in range(count)
        ]
        for side in sides[1:]:
            one, turned = layout(sides[0], side), layout(side, sides[0])
            assert one.lay is turned.lay is Lay.FIXED
            assert one.other_first == tuple(bool(n % 2) for n in range(len(one.pairs)))
            assert turned.other_first == tuple(not first for first in one.other_first)


def test_the_benchmark_is_this_pythons_own() -> None:
    for words in (["bench-core"], ["logbook", "bench", "--"], ["logbook", "bench"]):
        found = with_bench(RunRequest(argv=[*words, "hillclimb", "--quant-mode", "{axis}"]))
        assert list(found.argv) == ["bench-core", "hillclimb", "--quant-mode", "{axis}"]
        assert found.search_first is not None
    assert with_bench(RunRequest(argv=["sh", "x"])).search_first is None
