"""Rooflines, against numbers by hand and those of the published logbooks."""

from dataclasses import replace

import pytest

from bench_core.accounting import count_bytes
from bench_core.accounting.chips import Arithmetic
from bench_core.accounting.roofline import Resource, peaks
from bench_core.accounting.roofline import roofline as roofline_of
from bench_core.aot.roofline import case_work, with_roofline
from bench_core.aot.targets import TARGETS
from bench_core.harness.case import Case
from bench_core.harness.record import DeviceGroup, Environment, Measurement, Row
from bench_core.parallel.spread import EpImpl, Parallel, ParallelMode
from bench_core.routing.request import RoutingRequest
from bench_core.shapes import BenchPass, DType, MoeShape, QuantMode

SHAPE = MoeShape(tokens=32768, hidden=2048, mlp_dim=1408, experts=60, topk=2)
PSUM = Parallel(mode=ParallelMode.EP, ep_impl=EpImpl.PSUM, ep_size=4, dp_size=1, devices=4)
CASE = Case(shape=SHAPE, routing=RoutingRequest(), bench_pass=BenchPass.FORWARD_BACKWARD, parallel=PSUM)
RING = 384 * 2**20


def test_the_three_times_by_hand() -> None:
    work, sent = case_work(CASE)
    found = roofline_of(work, "TPU v5", TARGETS["v5p-8"].slice)
    times = found.observations()
    # Three matmuls forwards and six backwards of 65,536 rows, on four chips of 459 TF/s.
    assert times["roofline_mxu_s"] == pytest.approx(9 * 2 * 65536 * 2048 * 1408 / 4 / 459e12)
    # Weights of 15 experts are read, and their gradients written; so are a device's tokens, and outputs. 2765 GB/s.
    weights = 2 * 15 * 3 * 2048 * 1408 * 2
    tokens = 3 * 32768 / 4 * 2048 * 2
    assert times["roofline_hbm_s"] == pytest.approx((weights + tokens) / 2765e9)
    # Two links of 90 GB/s.
    assert sent["model_ring_bytes"] == RING
    assert times["roofline_ici_s"] == pytest.approx(RING / 180e9)
    assert times["roofline_bound_s"] == max(times.values())
    labels = found.labels()
    assert labels["roofline_bound"] == "ici"
    assert "roofline_unknown" not in labels


def test_what_must_be_sent_is_what_leaves_a_device() -> None:
    """Rows of a ragged all-to-all that stay where they are send nothing: of experts drawn evenly, a quarter."""
    ragged = replace(CASE, parallel=replace(PSUM, ep_impl=EpImpl.RAGGED_ALL_TO_ALL))
    _, sent = case_work(ragged)
    rows = 65536 / 4 * 3 / 4
    assert sent["model_ring_bytes_tokens"] == pytest.approx(rows * 2048 * 2, rel=0.01)


def test_what_is_not_published_has_no_time() -> None:
    assert peaks("TPU v5", Arithmetic.FLOAT32, None)[Resource.MXU].unknown == "no peak of float32 is published"
    assert peaks("TPU v5", None, None)[Resource.MXU].per_s is None
    assert "nobody knows how" in peaks("TPU v5", Arithmetic.INT8, None)[Resource.ICI].unknown
    assert "share its links" in peaks("TPU7x", Arithmetic.BFLOAT16, TARGETS["tpu7x-8"].slice)[Resource.ICI].unknown
    assert peaks("NVIDIA H200", Arithmetic.BFLOAT16, None)[Resource.HBM].per_s is None
    work, _ = case_work(replace(CASE, dtype=DType.FLOAT32))
    found = roofline_of(work, "TPU v5", TARGETS["v5p-8"].slice)
    assert found.observations().keys() == {"roofline_hbm_s", "roofline_ici_s", "roofline_bound_s"}
    assert found.labels()["roofline_unknown"] == "mxu: no peak of float32 is published"


def test_a_device_reads_its_own_weights() -> None:
    shape = MoeShape(tokens=8, hidden=4, mlp_dim=2, experts=4, topk=1, shared_expert_dim=3)
    terms = count_bytes(shape, DType.BFLOAT16, BenchPass.FORWARD)
    rows = 2 * 8 * ((4 + 2 * 2) + (2 + 4)) + 2 * 8 * ((4 + 2 * 3) + (3 + 4))
    assert terms.per_device(ep=4, devices=4) == 2 * 3 * 4 * 2 + 2 * 3 * 4 * 3 + rows / 4
    # Of data parallelism every device has all experts.
    assert terms.per_device(ep=1, devices=4) == 2 * 3 * 4 * 2 * 4 + 2 * 3 * 4 * 3 + rows / 4
    assert terms.per_device(ep=1, devices=1) == terms.total


@pytest.mark.parametrize("bench_pass", [BenchPass.FORWARD_BACKWARD, BenchPass.TRAIN])
def test_a_shared_expert_is_summed_where_tokens_are_apart(bench_pass: BenchPass) -> None:
    """The published programs of psum sum no gradients of it: each device computes all of them."""
    shared = replace(SHAPE, tokens=512, shared_expert_dim=5632)
    case = replace(CASE, shape=shared, bench_pass=bench_pass)
    sums = 2 * 1.5 * 512 * 2048 * 2
    work, sent = case_work(case)
    assert work.ring_bytes == sums < sent["model_ring_bytes"]
    apart, sent = case_work(replace(case, parallel=replace(PSUM, ep_impl=EpImpl.ALL_TO_ALL)))
    assert apart.ring_bytes == sent["model_ring_bytes"] > 1.5 * 3 * 2048 * 5632 * 2


def test_tokens_without_an_expert_are_not_read() -> None:
    case = Case(shape=SHAPE, routing=RoutingRequest(null_frac=0.9))
    row = 2048 * 2
    less = case_work(replace(case, routing=RoutingRequest()))[0].hbm_bytes - case_work(case)[0].hbm_bytes
    assert less / row == pytest.approx(0.9**2 * 32768, rel=0.02)
    shared = replace(case, shape=replace(SHAPE, shared_expert_dim=8))
    assert case_work(shared)[0].hbm_bytes == case_work(replace(shared, routing=RoutingRequest()))[0].hbm_bytes


def row(kind: str, count: int = 4, **observations: float | None) -> Row:
    group = DeviceGroup(platform="tpu", kind=kind, count=count, used=4)
    return Row(
        config={},
        environment=Environment(devices=(group,), software={}, host="h"),
        metrics={"time_s": Measurement(samples=(0.5,), unit="s", direction="min")},
        summary={"time_s": 0.5},
        observations={"model_ring_bytes": RING, **observations},
    )


def test_timed_rows_of_several_devices() -> None:
    """They have the roofline of the case, and what the links were used for."""
    seen = with_roofline(row("TPU v5", compiled_ring_bytes=2 * RING), CASE)
    bound = roofline_of(case_work(CASE)[0], "TPU v5", TARGETS["v5p-8"].slice)
    assert seen.labels["roofline_bound"] == "ici"
    assert seen.observations == pytest.approx(
        {
            "model_ring_bytes": RING,
            "compiled_ring_bytes": 2 * RING,
            **bound.observations(),
            "roofline_hbm_bytes": case_work(CASE)[0].hbm_bytes,
            "compiled_ici_s": 2 * RING / 180e9,
            "model_ring_gb_per_s_of_whole_step": 2 * RING / 1e9,
            "compiled_ring_gb_per_s_of_whole_step": 4 * RING / 1e9,
        }
    )
    unread = with_roofline(row("TPU v5", compiled_ring_bytes=None), CASE).observations
    assert not {"compiled_ici_s", "compiled_ring_gb_per_s_of_whole_step"} & unread.keys()
    # How three chips are linked nobody knows.
    three = with_roofline(row("TPU v5", count=3), CASE)
    assert "roofline_ici_s" not in three.observations
    assert three.labels["roofline_unknown"] == "ici: nobody knows how these chips are linked"


def test_devices_without_published_peaks_say_so() -> None:
    cpu = with_roofline(row("cpu"), CASE)
    assert cpu.observations == row("cpu").observations
    assert cpu.labels == {"roofline_unknown": "nothing is published about 'cpu' here"}
    both = with_roofline(row("TPU v5"), replace(CASE, quant_mode=QuantMode.INT8_REAL))
    assert both.labels["roofline_unknown"].startswith("mxu: int8_real multiplies in int8 forwards")
