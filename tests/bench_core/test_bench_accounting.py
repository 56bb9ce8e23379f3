import csv
from pathlib import Path

import pytest

from bench_core.accounting import count_flops, throughput
from bench_core.shapes import BenchPass, MoeShape

PAIRS = Path(__file__).parent / "data" / "seed_pairs.csv"


def _pairs() -> list[dict[str, str]]:
    with PAIRS.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_published_pair_is_there() -> None:
    assert len(_pairs()) == 36


@pytest.mark.parametrize("pair", _pairs(), ids=lambda pair: pair["source"].rpartition(":")[2])
def test_published_rates_belong_together(pair: dict[str, str]) -> None:
    # TF/s over tokens/s is FLOPs per token, whatever the time was.
    sizes = ("tokens", "hidden", "mlp_dim", "experts", "topk")
    shape = MoeShape(**{size: int(pair[size]) for size in sizes}, shared_expert_dim=int(pair["shared_dim"]))
    flops = count_flops(shape, BenchPass.FORWARD_BACKWARD).total
    time_s = shape.tokens / float(pair["tokens_per_s"])
    rates = throughput(flops=flops, tokens=shape.tokens, time_s=time_s)
    assert rates.tflops == pytest.approx(float(pair["tflops"]), rel=1e-5)


def test_terms_of_a_case_counted_by_hand() -> None:
    shape = MoeShape(tokens=3, hidden=5, mlp_dim=7, experts=4, topk=2, shared_expert_dim=2)
    terms = count_flops(shape, BenchPass.FORWARD)
    # Six assignments; w1 and w3 are two matmuls of 2 * rows * 5 * 7, w2 is one.
    assert (terms.routed_up, terms.routed_down) == (2 * 2 * 6 * 35, 2 * 6 * 35)
    assert (terms.shared_up, terms.shared_down) == (2 * 2 * 3 * 10, 2 * 3 * 10)
    assert terms.total == 6 * 5 * (6 * 7 + 3 * 2)
    assert count_flops(shape, BenchPass.FORWARD_BACKWARD).total == 3 * terms.total


def test_realised_assignments_replace_the_routed_rows_alone() -> None:
    shape = MoeShape(tokens=3, hidden=5, mlp_dim=7, experts=4, topk=2, shared_expert_dim=2)
    assert count_flops(shape, BenchPass.FORWARD, assignments=0).total == 6 * 5 * 3 * 2


def test_a_clock_that_stood_still_has_no_throughput() -> None:
    with pytest.raises(ValueError, match="no throughput"):
        throughput(flops=1, tokens=1, time_s=0.0)
