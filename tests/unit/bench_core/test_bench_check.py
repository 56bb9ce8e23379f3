"""`bench-core check` and the table behind it."""

import itertools
from collections.abc import Callable

import pytest

from bench_core.gmm.registry import BACKENDS
from bench_core.harness.case import Case
from bench_core.harness.run import Outcome, check_case
from bench_core.harness.table import axes, choices, table_case
from tests.breadth import covering

AXES = axes(None)


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
@pytest.mark.sample(4)
def test_table_is_green(backend: str, choice: dict[str, str]) -> None:
    outcome = check_case(table_case(backend, choice))
    assert outcome.word in ("passed", "unsupported"), outcome.text
    if outcome.word == "unsupported":
        assert (backend, choice["quant"]) != ("ragged_dot", "int8_real")


@pytest.mark.parametrize(("words", "failing"), [("", None), ("", "fused_w13"), ("--devices 4", None)])
@pytest.mark.slow
def test_exit_code_and_table(
    bench: Callable[..., object], monkeypatch: pytest.MonkeyPatch, words: str, failing: str | None
) -> None:
    def answer(case: Case) -> Outcome:
        word = "failed" if case.impl == failing else "passed"
        return Outcome(word=word, text=word)

    monkeypatch.setattr("bench_core.harness.run.check_case", answer)
    found = bench("check", "--backend", "tiled", *words.split())
    head, *rows, total = found.out.splitlines()  # type: ignore[attr-defined]
    assert found.code == (1 if failing else 0)  # type: ignore[attr-defined]
    assert head.split(" | ")[0] == "backend"
    assert words or len(rows) == len(choices(full=False))
    wrong = sum(row.endswith("failed") for row in rows)
    assert bool(wrong) == bool(failing)
    assert total == f"{len(rows) - wrong} passed, {wrong} failed, 0 unsupported"
