"""`--bench-pass train`: the gradients of routing weights and router, beside those of `forward_backward`."""

from collections.abc import Callable

import pytest

from tests.breadth import wide
from tests.contract.bench_core.cli_support import Outcome


@pytest.mark.slow
@pytest.mark.parametrize("form", ["psum", wide("ring"), "all_to_all"])
def test_what_is_sent_is_what_the_model_counts(form: str, bench: Callable[..., Outcome]) -> None:
    words = "--tokens 64 --hidden 16 --mlp-dim 8 --experts 8 --dtype float32 --iters 1 --backend ragged_dot"
    outcome = bench(
        "hillclimb",
        *words.split(),
        "--bench-pass",
        "train",
        "--parallel-mode",
        "ep",
        "--ep-impl",
        form,
        "--devices",
        "4",
    )
    assert outcome.code == 0, outcome.err
    (row,) = outcome.rows
    assert row["labels"]["ran"].count("experts chosen inside the program") == 1
    assert "router" not in row["config"]
    seen = row["observations"]
    # The loss is sent, too.
    assert seen["compiled_ring_bytes"] == pytest.approx(seen["model_ring_bytes"], abs=64)


@pytest.mark.slow
def test_a_prepared_queue_runs_as_full_where_a_gradient_goes_through_it(bench: Callable[..., Outcome]) -> None:
    """As in the published runs (moe_ep_benchmark_logbook.md, 9 February 15:46)."""
    words = "--tokens 32 --hidden 8 --mlp-dim 8 --experts 4 --dtype float32 --iters 1 --queue-mode prequeue"
    outcome = bench("hillclimb", *words.split(), "--bench-pass", "forward_backward", "--backend", "ragged_dot")
    assert outcome.code == 0, outcome.err
    (row,) = outcome.rows
    assert row["config"]["queue_mode"] == "prequeue"
    assert row["labels"]["no_effect"] == "queue_mode"
    assert row["labels"]["ran"].rpartition("; ")[2].startswith("prequeue as full")
