"""From a scheduled program to a prediction: programs of a few lines, and sums by hand."""

from dataclasses import replace

import pytest

from bench_core.accounting.chips import Arithmetic
from bench_core.accounting.prediction import Prediction
from bench_core.accounting.roofline import Work
from bench_core.aot.targets import choose_target
from bench_core.gmm.tile import Tile
from bench_core.harness.case import Case
from bench_core.parallel.spread import Parallel, ParallelMode
from bench_core.predict.model import Accuracy, Calibration
from bench_core.predict.predicting import Predictor, costs_of
from bench_core.predict.scheduled import PUBLISHED_TILE, NotScheduled, Scheduled
from bench_core.predict.terms import Terms, terms_of
from bench_core.routing.distribution import RoutingRequest
from bench_core.shapes import MoeShape

LIBTPU = "0.0.42.1"
PROGRAM = """HloModule jit_into, num_partitions=4

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

ENTRY %main (x: bf16[4096,2048], w: bf16[2048,8192]) -> bf16[4096,8192] {
  %x = bf16[4096,2048]{1,0} parameter(0)
  %w = bf16[2048,8192]{1,0} parameter(1)
  %y = bf16[4096,8192]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %z = bf16[4096,8192]{1,0} negate(%y)
  ROOT %all = bf16[4096,8192]{1,0} all-reduce(%z), replica_groups={{0,1,2,3}}, to_apply=%add
}
"""
MIB = 2**20
FLOPS = 2 * 4096 * 2048 * 8192
X, W, Y = 16 * MIB, 32 * MIB, 64 * MIB
CASE = Case(
    shape=MoeShape(tokens=512, hidden=128, mlp_dim=128, experts=8, topk=2, shared_expert_dim=0),
    routing=RoutingRequest(),
    backend="gmm",
    parallel=Parallel(mode=ParallelMode.EP),
).over(4)
NOTHING = Accuracy(rows=7, rank_correlation=0.5, median_error=0.25, inside=0)
PLAIN = Calibration(
    name="test",
    model=2,
    libtpu=LIBTPU,
    device_kind="TPU v5",
    matmul_factor=2.0,
    routed_factor=3.0,
    low=0.5,
    high=1.5,
    shortest=0.0,
    most_sent=1.0,
    published=NOTHING,
    command=NOTHING,
    without_move=0.5,
)
WORK = Work(arithmetic=Arithmetic.BFLOAT16, flops=459e6, hbm_bytes=1.0, ring_bytes=360e3)


def scheduled(hlo: str = PROGRAM, *, libtpu: str = LIBTPU, buffer_bytes: int = 2**30, moved: int = 0) -> Scheduled:
    return Scheduled(
        hlo=hlo,
        buffer_bytes=buffer_bytes,
        vmem="not checked",
        ran="this",
        libtpu=libtpu,
        processor_s=1.0,
        work=WORK,
        moved_before=moved,
    )


def said(
    case: Case = CASE,
    found: Scheduled | NotScheduled | None = None,
    *,
    target: str = "v5p-8",
    fitted: Calibration = PLAIN,
    published: bool = False,
) -> Prediction:
    predictor = Predictor(target=choose_target(target), calibration=fitted, published=published)
    found = scheduled() if found is None else found
    return predictor.of(case, costs_of(case, found) if isinstance(found, Scheduled) else found)


def test_terms_of_a_program() -> None:
    terms = terms_of(PROGRAM, buffer_bytes=7, tile=Tile(m=128, k=128, n=128))
    assert terms == Terms(
        matmul_flops=FLOPS,
        matmul_bytes=X + W + Y,
        kernel_flops=0,
        padded_flops=0,
        kernel_bytes=0,
        other_bytes=2 * Y,
        moved_bytes=0,
        sent_bytes={4: 2 * 3 * Y / 4},
        buffer_bytes=7,
        program=terms.program,
    )


TILED = replace(CASE, tile=PUBLISHED_TILE)


def test_the_estimate_is_the_sum_of_its_terms() -> None:
    found = said(TILED, scheduled(moved=360), published=True)
    # Two links of a chip on a slice of 2 x 2.
    send = 1.5 * Y / (2 * 90e9)
    terms = {"matmul": 2 * FLOPS / 459e12, "grouped_matmul": 0, "memory": 3 * 2 * Y / 2765e9, "send": send}
    assert found.terms == pytest.approx({**terms, "move_arguments": 2e-9})
    assert found.estimate == pytest.approx(sum(found.terms.values()))
    assert (found.low, found.high) == pytest.approx((0.5 * found.estimate, 1.5 * found.estimate))
    # That of the work, whatever the program does: 360 kB over two links.
    assert found.bound == pytest.approx(2e-6)
    assert (found.fits, found.vmem, found.refused, found.published) == (True, "not checked", None, True)


def made(estimate: float, hidden: float = 0.0, *, devices: int = 4, published: bool = False) -> Prediction:
    return Prediction(
        target="v5p-8",
        device_kind="TPU v5",
        devices=devices,
        libtpu="1",
        model=2,
        estimate=estimate,
        hidden=hidden,
        published=published,
    )
