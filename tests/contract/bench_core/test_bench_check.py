"""`bench-core check` and the table behind it."""

from collections.abc import Callable

import pytest

from bench_core.harness.case import Case
from bench_core.harness.run import Outcome
from bench_core.harness.table import choices
from tests.seams import bench_core as main

"""Rows of the table for `gmm`, which takes two seconds per row in interpret mode. `bench-core check` runs all."""


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
