"""A case over several devices: what its row says."""

from collections.abc import Callable
from statistics import median

import pytest

from tests.contract.bench_core.cli_support import Outcome


@pytest.mark.slow
def test_the_row_says_what_ran_and_where(bench: Callable[..., Outcome]) -> None:
    words = "--tokens 6 --hidden 8 --mlp-dim 6 --experts 4 --topk 2 --dtype float32 --iters 2 --null-route-frac 0.25"
    spread = "--parallel-mode ep --ep-impl all_to_all --dp-size 2 --devices 4 --capacity-policy drop"
    outcome = bench("hillclimb", *words.split(), *spread.split(), "--capacity-factor", "1")
    assert outcome.code == 0, outcome.err
    (row,), (result,) = outcome.rows, outcome.results
    wanted = {"parallel_mode": "ep", "ep_impl": "all_to_all", "ep_size": 2, "dp_size": 2, "devices": 4}
    assert wanted.items() <= row["config"].items()
    assert result["devices"] == "4"
    assert row["labels"]["ran"].endswith("; all_to_all over 2 x 2 devices (data x expert), shard_map")
    assert row["labels"]["capacity_per"] == "pair of devices, 2 slots"
    assert row["labels"]["caution"].startswith("virtual devices share one CPU")
    assert [(group["count"], group["used"]) for group in row["devices"]] == [(8, 4)]
    seen = row["observations"]
    assert seen["real_assignments"] + seen["null_assignments"] + seen["dropped_assignments"] == 12
    assert seen["null_realized"] == 0.25
    assert seen["device_rows_mean"] * 4 == seen["real_assignments"]
    assert seen["compiled_ring_bytes"] >= seen["model_ring_bytes"] > 0
    assert row["labels"]["collectives"].startswith("2 all-to-all of 128 bytes among 2; ")
    assert seen["tokens_per_s_per_device"] * 4 == pytest.approx(median(row["metrics"]["tokens_per_s"]["samples"]))
