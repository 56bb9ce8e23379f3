"""Each form against the oracle, where its arrays lie, and what it leaves unwritten."""

import json
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench_core.harness.build import build_case, plan_case
from bench_core.harness.case import Case
from bench_core.harness.run import load_backend
from bench_core.routing.topk import Routing
from bench_core.shapes import MoeShape
from tests.seams import bench_core as main

SMALL = MoeShape(tokens=6, hidden=8, mlp_dim=6, experts=4, topk=2, shared_expert_dim=2)
pytestmark = pytest.mark.slow


def test_the_row_says_what_ran_and_where(capsys: pytest.CaptureFixture[str]) -> None:
    words = "--tokens 6 --hidden 8 --mlp-dim 6 --experts 4 --topk 2 --dtype float32 --iters 2 --null-route-frac 0.25"
    spread = "--parallel-mode ep --ep-impl all_to_all --dp-size 2 --devices 4 --capacity-policy drop"
    with pytest.raises(SystemExit) as exit_:
        main(["hillclimb", *words.split(), *spread.split(), "--capacity-factor", "1"])
    out, err = capsys.readouterr()
    assert not exit_.value.code, err
    line, row_line = out.splitlines()
    row = json.loads(row_line.removeprefix("RESULT_JSON "))
    wanted = {"parallel_mode": "ep", "ep_impl": "all_to_all", "ep_size": 2, "dp_size": 2, "devices": 4}
    assert wanted.items() <= row["config"].items()
    assert "devices=4" in line.split()
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
    assert seen["tokens_per_s_per_device"] * 4 == pytest.approx(np.median(row["metrics"]["tokens_per_s"]["samples"]))


@pytest.fixture
def collectives() -> Callable[[Case], set[str]]:
    """The collective operations of a case's forward pass."""

    def found(case: Case) -> set[str]:
        chosen = np.tile(np.arange(SMALL.topk, dtype=np.int32), (8, 1))
        built = build_case(
            case, SMALL, load_backend(case, platform="cpu"), plan_case(case, SMALL, chosen), jax.devices()
        )
        x = jnp.zeros((8, SMALL.hidden))
        weights = {
            name: jnp.zeros((SMALL.experts, *size)) for name, size in {"w1": (8, 6), "w3": (8, 6), "w2": (6, 8)}.items()
        }
        routing = Routing(experts=jnp.asarray(chosen), weights=jnp.zeros(chosen.shape))
        text = str(jax.make_jaxpr(built.function)(x, weights, routing))
        return {name for name in ("psum_invariant", "all_gather", "reduce_scatter", "all_to_all") if f"{name}[" in text}

    return found
