"""`bench-core check` and the table behind it."""

import itertools
from collections.abc import Callable

import pytest

from bench_core.cli import main
from bench_core.gmm.registry import BACKENDS
from bench_core.harness.case import Case
from bench_core.harness.run import Outcome, check_case
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


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Case], Outcome]], None]:
    def install(answer: Callable[[Case], Outcome]) -> None:
        monkeypatch.setattr("bench_core.harness.run.check_case", answer)

    return install


@pytest.mark.parametrize(("failing", "code"), [(None, 0), ("fused_w13", 1)])
def test_exit_code_and_table(
    answers: Callable[..., None], capsys: pytest.CaptureFixture[str], failing: str | None, code: int
) -> None:
    def answer(case: Case) -> Outcome:
        return (
            Outcome(word="failed", text="failed (x): y")
            if case.impl == failing
            else Outcome(word="passed", text="passed, 0.10 of the bound")
        )

    answers(answer)
    with pytest.raises(SystemExit) as exit_:
        main(["check", "--backend", "ragged_dot"])
    assert int(exit_.value.code or 0) == code
    head, *rows, total = capsys.readouterr().out.splitlines()
    assert head == "backend | impl | pass | quant | null | capacity | remat | dtype | shape | result"
    assert len(rows) == len(choices(full=False))
    assert ("failed (x): y" in "".join(rows)) == bool(failing)
    assert total.endswith("0 unsupported")


def test_unknown_backend(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["check", "--backend", "cuda"])
    assert exit_.value.code == 2
    assert capsys.readouterr().err.startswith("error: --backend cuda is not known\n")
