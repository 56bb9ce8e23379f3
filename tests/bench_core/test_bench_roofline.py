"""Rooflines, against numbers by hand and those of the published logbooks."""

import json
from dataclasses import replace

import pytest

from bench_core.accounting import count_bytes
from bench_core.accounting.chips import Arithmetic
from bench_core.accounting.roofline import Resource, device_bytes, peaks
from bench_core.aot.roofline import case_roofline, slice_of, slice_of_devices, with_roofline
from bench_core.aot.targets import TARGETS
from bench_core.cli import main
from bench_core.harness.case import Case
from bench_core.harness.record import DeviceGroup, Environment, Measurement, Row
from bench_core.parallel.plan import SpreadPlan
from bench_core.parallel.spread import Parallel, ParallelMode
from bench_core.predict.scheduled import NotScheduled, Scheduled
from bench_core.predict.terms import terms_of
from bench_core.quant.mode import QuantMode
from bench_core.routing.distribution import RoutingRequest
from bench_core.routing.layout import Assignments
from bench_core.shapes import BenchPass, DType, MoeShape
from tests.bench_core.test_bench_collectives_programs import program_text

SHAPE = MoeShape(tokens=32768, hidden=2048, mlp_dim=1408, experts=60, topk=2)
PSUM = Parallel(mode=ParallelMode.EP, ep_size=4, dp_size=1, devices=4)
CASE = Case(shape=SHAPE, routing=RoutingRequest(), bench_pass=BenchPass.FORWARD_BACKWARD, parallel=PSUM)
PLAN = SpreadPlan(
    spread=PSUM.spread, assignments=Assignments(real=65536, null=0, dropped=0, layout=None), rows=(16384,) * 4
)
RING = 384 * 2**20


def test_the_three_times_by_hand() -> None:
    found = case_roofline(CASE, PLAN, TARGETS["v5p-8"], ring_bytes=RING)
    times = found.observations("roofline")
    # Three matmuls forwards and six backwards of 65,536 rows, on four chips of 459 TF/s.
    assert times["roofline_mxu_s"] == pytest.approx(9 * 2 * 65536 * 2048 * 1408 / 4 / 459e12)
    # Weights of 15 experts, three times; the rows' part of a device; 2765 GB/s.
    weights = 3 * 15 * 3 * 2048 * 1408 * 2
    rows = 3 * 65536 / 4 * ((2048 + 2 * 1408) + (1408 + 2048)) * 2
    assert times["roofline_hbm_s"] == pytest.approx((weights + rows) / 2765e9)
    # Two links of 90 GB/s.
    assert times["roofline_ici_s"] == pytest.approx(RING / 180e9)
    assert times["roofline_bound_s"] == max(times.values())
    labels = found.labels()
    assert labels["roofline_bound"] == "ici"
    assert "roofline_unknown" not in labels


def test_sources_that_disagree_are_both_named() -> None:
    found = peaks("TPU v5", Arithmetic.BFLOAT16, slice_of(TARGETS["v5p-8"]))
    assert found[Resource.HBM].words == "2765 GB/s"
    assert found[Resource.HBM].other.startswith("2460 GB/s says jax/_src/pallas/mosaic/tpu_info.py")
    assert found[Resource.ICI].words == "2 links x 90 GB/s one way, the fewest of a chip of v5p-8"
    assert found[Resource.ICI].other.startswith("100 GB/s makes 1200 GB/s both ways of 6 links, https://")
    assert peaks("TPU v5 lite", Arithmetic.BFLOAT16, slice_of(TARGETS["v5e-8"]))[Resource.ICI].per_s == 90e9
    assert all(peak.source.startswith("https://") for peak in found.values())


def test_what_is_not_published_has_no_time() -> None:
    assert peaks("TPU v5", Arithmetic.FLOAT32, None)[Resource.MXU].unknown == "no peak of float32 is published"
    assert peaks("TPU v5", None, None)[Resource.MXU].per_s is None
    assert "nobody knows how" in peaks("TPU v5", Arithmetic.INT8, None)[Resource.ICI].unknown
    assert "share its links" in peaks("TPU7x", Arithmetic.BFLOAT16, slice_of(TARGETS["tpu7x-8"]))[Resource.ICI].unknown
    assert peaks("NVIDIA H200", Arithmetic.BFLOAT16, None)[Resource.HBM].per_s is None
    float32 = replace(CASE, dtype=DType.FLOAT32)
    found = case_roofline(float32, PLAN, TARGETS["v5p-8"], ring_bytes=0)
    assert found.observations("roofline").keys() == {"roofline_hbm_s", "roofline_ici_s", "roofline_bound_s"}
    assert found.labels()["roofline_unknown"] == "mxu: no peak of float32 is published"


def test_a_device_reads_its_own_weights() -> None:
    shape = MoeShape(tokens=8, hidden=4, mlp_dim=2, experts=4, topk=1, shared_expert_dim=3)
    terms = count_bytes(shape, DType.BFLOAT16, BenchPass.FORWARD)
    rows = 2 * 8 * ((4 + 2 * 2) + (2 + 4)) + 2 * 8 * ((4 + 2 * 3) + (3 + 4))
    assert device_bytes(terms, ep=4, devices=4) == 2 * 3 * 4 * 2 + 2 * 3 * 4 * 3 + rows / 4
    # Of data parallelism every device has all experts.
    assert device_bytes(terms, ep=1, devices=4) == 2 * 3 * 4 * 2 * 4 + 2 * 3 * 4 * 3 + rows / 4
    assert device_bytes(terms, ep=1, devices=1) == terms.total


def row(kind: str, count: int = 4, **observations: float | None) -> Row:
    group = DeviceGroup(platform="tpu", kind=kind, count=count, used=4)
    seen = {"flops": 4e12, "model_bytes_per_device": 2765e6, "model_ring_bytes": 180e6, **observations}
    return Row(
        config={},
        environment=Environment(devices=(group,), software={}, host="h"),
        metrics={"time_s": Measurement(samples=(0.5,), unit="s", direction="min")},
        summary={"time_s": 0.5},
        observations=seen,
    )


def test_timed_rows_of_several_devices() -> None:
    seen = with_roofline(row("TPU v5", compiled_ring_bytes=360e6), CASE)
    assert seen.labels["roofline_bound"] == "mxu"
    times = {name: value for name, value in seen.observations.items() if name.endswith(("_s", "_step"))}
    assert times == pytest.approx(
        {
            "roofline_mxu_s": 1e12 / 459e12,
            "roofline_hbm_s": 1e-3,
            "roofline_ici_s": 1e-3,
            "roofline_bound_s": 1e12 / 459e12,
            "compiled_ici_s": 2e-3,
            "model_ring_gb_per_s_of_whole_step": 0.36,
            "compiled_ring_gb_per_s_of_whole_step": 0.72,
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


def test_slices_by_their_devices() -> None:
    assert slice_of_devices("TPU v5", 64) == slice_of(TARGETS["v5p-128"])
    assert slice_of_devices("TPU7x", 8) == slice_of(TARGETS["tpu7x-8"])
    assert slice_of_devices("NVIDIA H200", 4) is None


SEEDS = "--tokens 32768 --hidden 2048 --mlp-dim 1408 --experts 60 --bench-pass forward_backward --parallel-mode ep"


def roofline(capsys: pytest.CaptureFixture[str], words: str) -> tuple[int, list[str], list[dict], str]:
    with pytest.raises(SystemExit) as exit_:
        main(["roofline", *words.split()])
    out, err = capsys.readouterr()
    lines = out.splitlines()
    rows = [json.loads(line.partition(" ")[2]) for line in lines if line.startswith("RESULT_JSON ")]
    return int(exit_.value.code or 0), [line for line in lines if not line.startswith("RESULT")], rows, err


@pytest.mark.parametrize(
    ("words", "time_s", "gb_per_s"),
    [
        ("--topk 2", 0.050523, 7.97),
        ("--topk 8", 0.154982, 2.60),
        ("--topk 2 --shared-expert-dim 5632", 0.070874, 5.68),
        ("--topk 8 --shared-expert-dim 5632", 0.175233, 2.30),
    ],
)
@pytest.mark.slow
def test_the_rates_of_the_seeds(words: str, time_s: float, gb_per_s: float, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the logbook on expert parallelism: 384 MiB over the time of a step. A shared expert that is on every device
    has a gradient to be summed, too, which the logbook did not count."""
    code, lines, (row,), err = roofline(capsys, f"{SEEDS} {words} --aot v5p-8 --analytic --time-s {time_s}")
    assert code == 0, err
    seen = row["observations"]
    tokens = seen["model_ring_bytes_outputs"] + seen["model_ring_bytes_token_gradients"]
    assert tokens == RING
    assert round(tokens / time_s / 1e9, 2) == gb_per_s
    assert seen["model_ring_gb_per_s_of_whole_step"] == pytest.approx(seen["model_ring_bytes"] / time_s / 1e9)
    assert seen["given_tflops"] / 4 == pytest.approx(seen["given_tflops_per_device"])
    assert seen["given_mfu"] == pytest.approx(seen["given_tflops_per_device"] / 459)
    assert seen["roofline_fraction"] == pytest.approx(seen["roofline_bound_s"] / time_s)
    assert "this divides by the whole step: it says how busy the links were, not how fast they are" in lines
    assert row["metrics"] == {}
    if "shared" not in words:
        assert f"sent bytes (model) over the whole step: {gb_per_s:.2f} GB/s on each device" in lines


SMALL = "--tokens 64 --hidden 8 --mlp-dim 8 --experts 8 --backend gmm --parallel-mode ep --aot v5p-8"


@pytest.mark.slow
@pytest.mark.wide
def test_the_compiled_program_stands_beside_the_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it does not compile, the model stands alone."""
    refused = NotScheduled(reason="hbm", message="too\nlarge", libtpu="1", processor_s=0.0)
    gathers = Scheduled(
        hlo=program_text("gathers_async"), buffer_bytes=0, vmem="not checked", ran="", libtpu="1", processor_s=0.0
    )
    monkeypatch.setattr("bench_core.predict.scheduled.schedule", lambda cases, target: iter((gathers, refused)))
    code, lines, (first, second), _ = roofline(capsys, f"{SMALL} --topk-list 1,2")
    assert code == 1
    seen = first["observations"]
    # Four layers forwards, and backwards two products for each but the first, which has no gradient of its input.
    assert seen["compiled_mxu_s"] == pytest.approx((4 + 4 + 3) * 2 * 8192 * 4096 * 4096 / 459e12)
    assert seen["compiled_ici_s"] == pytest.approx(210 * 2**20 / 180e9)
    assert seen["compiled_bound_s"] == max(seen[f"compiled_{name}_s"] for name in ("mxu", "hbm", "ici"))
    # The outputs, of 64 tokens in bfloat16, over four.
    assert seen["roofline_ici_s"] == pytest.approx(1.5 * 64 * 8 * 2 / 180e9)
    assert first["software"]["libtpu"] == "1"
    assert first["labels"]["compiled_bound"] == "mxu"
    assert any(line.startswith("collectives: 4 reduce-scatter of 35 MiB among 4; ") for line in lines)
    assert not {"compiled_mxu_s", "compiled_ring_bytes"} & second["observations"].keys()
    assert second["labels"]["refused"] == "hbm: too large"
    monkeypatch.setattr("bench_core.predict.scheduled.schedule", lambda cases, target: iter((gathers,)))
    code, lines, _, _ = roofline(capsys, f"{SMALL} --time-s 0.01")
    assert code == 0
    assert f"sent bytes (compiled) over the whole step: {210 * 2**20 / 1e7:.2f} GB/s on each device" in lines


def test_collectives_inside_of_fusions_are_sent_and_not_moved_again() -> None:
    """The same program with synchronous gathers, and with ones that go on inside of matmuls: copies alone differ."""
    apart, within = (terms_of(program_text(name), buffer_bytes=0, tile=None) for name in ("gathers", "gathers_async"))
    assert within.flops == apart.flops
    assert within.sent_bytes == apart.sent_bytes
    # Three gathered weights wait for their matmul in HBM instead of VMEM.
    assert apart.hbm_bytes <= within.hbm_bytes <= apart.hbm_bytes + 3 * 2 * 4096 * 4096 * 2


@pytest.mark.slow
def test_one_device_sends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, (row,), _ = roofline(capsys, "--tokens 64 --aot v5e --analytic --time-s 1e-9")
    assert code == 0
    assert not any(line.startswith("ici") for line in lines)
    assert any(line.endswith("% of it: the time, the case or a peak is not the right one") for line in lines)
    assert "model_ring_bytes" not in row["observations"]
    assert row["config"]["aot"] == "v5e-4"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "error: roofline needs --aot, the slice of TPUs that it is of"),
        ("--aot v5p-8 --time-s 0", "error: --time-s 0 is no duration"),
        ("--aot v5p-8 --time-s nan", "error: --time-s nan is no duration"),
        ("--aot v5p-8 --time-s 1 --topk-list 1,2", "error: --time-s 1 is the time of one case"),
    ],
)
def test_bad_requests(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, rows, err = roofline(capsys, words)
    assert (code, lines, rows) == (2, [], [])
    assert err.startswith(message)
