"""`bench-core check`: what it refuses. Its tables take minutes: see `make check-devices`."""

from collections.abc import Callable

import pytest

from tests.contract.bench_core.cli_support import Outcome


@pytest.mark.parametrize(
    ("words", "named"),
    [("--backend cuda", "--backend cuda"), ("--devices 1", "--devices 1 "), ("--devices 64", "--devices 64 ")],
)
def test_a_table_that_is_not_possible(bench: Callable[..., Outcome], words: str, named: str) -> None:
    outcome = bench("check", *words.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {named}")
