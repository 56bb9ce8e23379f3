"""`bench-core check` and the table behind it."""

import itertools

import pytest

from bench_core.gmm.registry import BACKENDS
from bench_core.harness.run import check_case
from bench_core.harness.table import AXES, choices, table_case
from tests.breadth import covering


def test_every_pair_of_values_meets() -> None:
    met = {pair for choice in choices(full=False) for pair in itertools.combinations(choice.items(), 2)}
    wanted = {
        ((one, value), (other, further))
        for one, other in itertools.combinations(AXES, 2)
        for value, further in itertools.product(AXES[one], AXES[other])
        # Null slots are drawn outside the program, and the router of train is inside.
        if (one, value) != ("pass", "train") or other != "null" or further == "none"
    }
    assert met == wanted
    assert len(choices(full=False)) < 40


@pytest.mark.slow
@pytest.mark.wide
def test_every_combination_is_a_legal_case() -> None:
    for choice in choices(full=True):
        table_case("ragged_dot", choice)


FOR_GMM = [row for row in choices(full=False) if row["quant"] != "int8_real" and row["dtype"] != "float64"][:9]
"""Rows of the table for `gmm`, which takes two seconds per row in interpret mode. `bench-core check` runs all."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "choice"),
    [
        case
        for backend in BACKENDS
        for case in covering(
            [(backend, choice) for choice in (FOR_GMM if backend == "gmm" else choices(full=False))],
            lambda case: case[1].items(),
        )
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value.values()),
)
@pytest.mark.sample(1)
def test_table_is_green(backend: str, choice: dict[str, str]) -> None:
    outcome = check_case(table_case(backend, choice))
    assert outcome.word in ("passed", "unsupported"), outcome.text
    if outcome.word == "unsupported":
        assert (backend, choice["quant"]) != ("ragged_dot", "int8_real")
