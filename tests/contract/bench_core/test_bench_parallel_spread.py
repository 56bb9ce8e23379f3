"""How a case is spread: what is refused."""

from collections.abc import Callable

from tests.contract.bench_core.cli_support import Outcome

SIZES = ["--tokens", "16", "--hidden", "8", "--mlp-dim", "8", "--experts", "4", "--topk", "2"]


def test_a_platform_without_the_operation_refuses_the_form(bench: Callable[..., Outcome]) -> None:
    """It is a recorded failure of that form on those devices, and no other one has run."""
    words = ["--parallel-mode", "ep", "--ep-impl", "ragged_all_to_all", "--devices", "4"]
    outcome = bench("hillclimb", *SIZES, *words)
    (row,) = outcome.rows
    assert (outcome.code, row["failed"]["reason"]) == (1, "unsupported")
    assert (row["config"]["ep_impl"], row["devices"][0]["used"]) == ("ragged_all_to_all", 4)
    assert "ran" not in row["labels"]
