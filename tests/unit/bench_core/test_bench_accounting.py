import csv
from pathlib import Path

import pytest

from bench_core.accounting import count_bytes, count_flops, throughput
from bench_core.shapes import BenchPass, DType, MoeShape

DATA = Path(__file__).parents[2] / "contract/bench_core/data"


def _pairs(name: str = "seed_pairs.csv") -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _shape(pair: dict[str, str]) -> MoeShape:
    sizes = ("tokens", "hidden", "mlp_dim", "experts", "topk")
    return MoeShape(**{size: int(pair[size]) for size in sizes}, shared_expert_dim=int(pair["shared_dim"]))


@pytest.mark.parametrize("pair", _pairs(), ids=lambda pair: pair["source"].rpartition(":")[2])
def test_published_rates_belong_together(pair: dict[str, str]) -> None:
    # TF/s over tokens/s is FLOPs per token, whatever the time was.
    shape = _shape(pair)
    flops = count_flops(shape, BenchPass.FORWARD_BACKWARD)
    time_s = shape.tokens / float(pair["tokens_per_s"])
    rates = throughput(flops=flops, tokens=shape.tokens, time_s=time_s)
    assert rates.tflops == pytest.approx(float(pair["tflops"]), rel=1e-5)


@pytest.mark.parametrize(
    "pair", _pairs("seed_null_pairs.csv"), ids=lambda pair: f"{pair['source'].rpartition(':')[2]}-{pair['null_target']}"
)
def test_published_null_rates_imply_the_fraction_that_was_asked_for(pair: dict[str, str]) -> None:
    # Only real assignments are counted, so TF/s over tokens/s says how many there were per token.
    shape = _shape(pair)
    per_token = float(pair["tflops"]) * 1e12 / float(pair["tokens_per_s"])
    per_assignment = count_flops(shape, BenchPass.FORWARD_BACKWARD, assignments=1)
    realised = 1 - per_token / per_assignment / shape.topk
    assert realised == pytest.approx(float(pair["null_target"]), abs=0.005)


def test_terms_of_a_case_counted_by_hand() -> None:
    shape = MoeShape(tokens=3, hidden=5, mlp_dim=7, experts=4, topk=2, shared_expert_dim=2)
    flops = count_flops(shape, BenchPass.FORWARD)
    # Six assignments; w1 and w3 are two matmuls of 2 * rows * 5 * 7, w2 is one; of a shared expert 5 * 2.
    assert flops == 3 * 2 * 6 * 35 + 3 * 2 * 3 * 10
    assert count_flops(shape, BenchPass.FORWARD_BACKWARD) == 3 * flops


def test_realised_assignments_replace_the_routed_rows_alone() -> None:
    shape = MoeShape(tokens=3, hidden=5, mlp_dim=7, experts=4, topk=2, shared_expert_dim=2)
    assert count_flops(shape, BenchPass.FORWARD, assignments=0) == 6 * 5 * 3 * 2


def test_bytes_of_a_case_counted_by_hand() -> None:
    shape = MoeShape(tokens=3, hidden=5, mlp_dim=7, experts=4, topk=2, shared_expert_dim=2)
    terms = count_bytes(shape, DType.BFLOAT16, BenchPass.FORWARD)
    assert terms.routed == 2 * 4 * 5 * 14 + 2 * 4 * 7 * 5
    assert terms.shared == 2 * 5 * 4 + 2 * 2 * 5
    assert terms.rows == 2 * 6 * (5 + 14) + 2 * 6 * (7 + 5) + 2 * 3 * (5 + 4) + 2 * 3 * (2 + 5)
    assert count_bytes(shape, DType.FLOAT32, BenchPass.FORWARD_BACKWARD).total == 6 * terms.total


def test_experts_without_rows_move_nothing() -> None:
    shape = MoeShape(tokens=3, hidden=5, mlp_dim=7, experts=4, topk=2)
    assert count_bytes(shape, DType.FLOAT32, BenchPass.FORWARD, assignments=0).total == 0
    one = count_bytes(shape, DType.FLOAT32, BenchPass.FORWARD, assignments=1)
    assert one.routed == 4 * 3 * 7 * 5


def test_a_clock_that_stood_still_has_no_throughput() -> None:
    with pytest.raises(ValueError, match="no throughput"):
        throughput(flops=1, tokens=1, time_s=0.0)
