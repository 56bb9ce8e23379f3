"""How a case is spread: what is refused."""

from collections.abc import Callable

import pytest

from tests.contract.bench_core.cli_support import Outcome

SIZES = ["--tokens", "16", "--hidden", "8", "--mlp-dim", "8", "--experts", "4", "--topk", "2"]
BAD = {
    "--ep-impl ring": "--ep-impl",
    "--dp-size 2": "--dp-size",
    "--parallel-mode ep --dp-impl auto": "--dp-impl",
    "--parallel-mode dp --dp-impl pmap": "--dp-impl pmap",
    "--parallel-mode dp --dp-impl auto --queue-mode prequeue": "--queue-mode prequeue",
    "--parallel-mode dp --ep-size 2": "--ep-size",
    "--parallel-mode ep --ep-size 0": "--ep-size 0",
    "--parallel-mode ep --ep-impl star": "--ep-impl star",
    "--parallel-mode ep --ep-size 3": "4 experts",
    "--parallel-mode dp --devices 9": "--devices 9",
    "--parallel-mode ep --ep-impl ring --queue-mode prequeue": "--queue-mode prequeue",
    "--parallel-mode ep --ep-impl all_to_all --capacity-policy pad --capacity-factor 1": "--capacity-policy pad",
}


@pytest.mark.parametrize("words", BAD)
@pytest.mark.sample(5)
def test_bad_requests_run_nothing(words: str, bench: Callable[..., Outcome]) -> None:
    outcome = bench("hillclimb", *SIZES, *words.split())
    assert (outcome.code, outcome.out) == (2, "")
    error, cause, hint = outcome.err.splitlines()
    assert error.startswith(f"error: {BAD[words]} ")
    assert (cause[:9], hint[:8]) == ("  cause: ", "  next: ")


def test_a_platform_without_the_operation_refuses_the_form(bench: Callable[..., Outcome]) -> None:
    """It is a recorded failure of that form on those devices, and no other one has run."""
    words = ["--parallel-mode", "ep", "--ep-impl", "ragged_all_to_all", "--devices", "4"]
    outcome = bench("hillclimb", *SIZES, *words)
    (row,) = outcome.rows
    assert (outcome.code, row["failed"]["reason"]) == (1, "unsupported")
    assert (row["config"]["ep_impl"], row["devices"][0]["used"]) == ("ragged_all_to_all", 4)
    assert "ran" not in row["labels"]
