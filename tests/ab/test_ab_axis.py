"""The order of runs, and the benchmark's name in a command."""

from __future__ import annotations

import pytest

from logbook_agent.entries.run import RunRequest
from logbook_agent.findings.evidence.compared import Turns, turns_of
from logbook_agent.sweeps.ab_axis import in_turns
from logbook_agent.sweeps.ab_prepare import with_bench


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_value_alternates_with_the_first(count: int) -> None:
    # Also with a last round that was cut off.
    for made in range(4 * count, 5 * count + 1):
        runs = [("", "MOE-000", n) for n in range(made)]
        sides = [[r for n, r in enumerate(runs) if in_turns(count, n)[1] == value] for value in range(count)]
        assert {turns_of(sides[0], side) for side in sides[1:]} == {Turns.BASE_FIRST}
        assert {turns_of(side, sides[0]) for side in sides[1:]} == {Turns.OTHER_FIRST}


def test_the_benchmark_is_this_pythons_own() -> None:
    for words in (["bench-core"], ["logbook", "bench", "--"], ["logbook", "bench"]):
        found = with_bench(RunRequest(argv=[*words, "hillclimb", "--quant-mode", "{axis}"]))
        assert list(found.argv) == ["bench-core", "hillclimb", "--quant-mode", "{axis}"]
        assert found.search_first is not None
    assert with_bench(RunRequest(argv=["sh", "x"])).search_first is None
