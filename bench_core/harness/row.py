"""From what was measured to the row that reports it, with what a case sends."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from bench_core.accounting import count_bytes, count_flops, throughput
from bench_core.accounting.chips import Arithmetic, peak_flops
from bench_core.accounting.inflation import Inflation, weigh
from bench_core.arrays import Int32
from bench_core.harness.build import Built, stage_observations
from bench_core.harness.case import Case
from bench_core.harness.check import CheckReport
from bench_core.harness.record import VIRTUAL, Environment, Measurement, Number, Row
from bench_core.parallel.communication import Communication, model_ring_bytes, read_communication, sendings
from bench_core.parallel.plan import SpreadPlan
from bench_core.parallel.spread import Spread
from bench_core.routing.layout import load_statistics, run_statistics
from bench_core.shapes import QuantMode
from bench_core.timing.compiling import ProgramCost, program_cost, program_memory
from bench_core.timing.measure import Program, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Everything that one case yielded."""

    check: CheckReport
    built: Built
    program: Program
    first_call_s: float
    samples: Samples
    chosen: Int32[np.ndarray, "tokens topk"]
    stages: dict[str, tuple[float, ...]]
    device_peak_bytes: int | None

    @property
    def plan(self) -> SpreadPlan:
        return self.built.plan


def measured_row(case: Case, environment: Environment, measured: Measured) -> Row:
    """The row of a case that passed its check and was timed.

    Every timed call is one sample of time and of each rate, which is a total over the devices used. The metrics
    carry the samples; the RESULT line and the shares per device are made of the median of each, so that they
    agree with whoever takes the median of the samples. (Of an even number of calls, the rate of the median time
    is another number.)
    """
    rows = computed_rows(case, measured.plan)
    flops = count_flops(case.shape, case.bench_pass, assignments=rows)
    moved = count_bytes(case.shape, case.dtype, case.bench_pass, assignments=rows)
    spread = measured.plan.spread
    used = spread.devices
    environment = environment.using(used)
    metrics = _metrics(measured.samples.time_s, flops=flops, tokens=case.shape.tokens)
    typical = {name: statistics.median(metric.samples) for name, metric in metrics.items()}
    cost = None if measured.program.executable is None else program_cost(measured.program.executable)
    inflation = case_inflation(cost, flops, spread)
    sent, sent_labels = case_sends(
        case, measured.plan, None if cost is None else cost.text, several_programs=cost is None
    )
    took = {name: value for name, value in asdict(measured.program.took).items() if value is not None}
    return Row(
        config=case.config(),
        environment=environment,
        metrics=metrics,
        summary={
            **typical,
            **took,
            "devices_used": used,
            "check": measured.check.labels()["check"],
        },
        observations={
            **_observations(measured),
            **stage_observations(measured.stages),
            "flops": flops,
            "model_bytes": moved.total,
            **({"model_bytes_per_device": moved.per_device(ep=spread.ep, devices=used)} if used > 1 else {}),
            "tflops_per_device": typical["tflops"] / used,
            "tokens_per_s_per_device": typical["tokens_per_s"] / used,
            "mfu": _utilisation(case, environment, tflops=typical["tflops"], used=used),
            **inflation.observations(),
            **sent,
        },
        labels=_labels(case, environment, measured) | inflation.labels() | sent_labels,
    )


def _metrics(time_s: Sequence[float], *, flops: int, tokens: int) -> dict[str, Measurement]:
    rates = [throughput(flops=flops, tokens=tokens, time_s=sample_s) for sample_s in time_s]
    tflops, tokens_per_s = (tuple(getattr(rate, name) for rate in rates) for name in ("tflops", "tokens_per_s"))
    return {
        "tflops": Measurement(samples=tflops, unit="TF/s", direction="max"),
        "tokens_per_s": Measurement(samples=tokens_per_s, unit="tokens/s", direction="max"),
        "time_s": Measurement(samples=tuple(time_s), unit="s", direction="min"),
    }


def case_inflation(cost: ProgramCost | None, model_flops: int, spread: Spread) -> Inflation:
    """The compiled program's FLOPs against the model's, of one device. `cost`: None of several programs."""
    if cost is None:
        return Inflation(unknown="the case is several programs, and the compiler counts each alone")
    return weigh(compiled_flops=cost.flops, text=cost.text, model_flops=round(model_flops / spread.devices))


def _utilisation(case: Case, environment: Environment, *, tflops: float, used: int) -> float | None:
    """Model FLOPs utilisation: the share of the peak of the devices used. None where no peak is known."""
    kinds = {device.kind for device in environment.devices if device.used}
    arithmetic = arithmetic_of(case)
    if arithmetic is None or len(kinds) != 1:
        return None
    peak = peak_flops(kinds.pop(), arithmetic)
    return None if peak is None else tflops * 1e12 / (used * peak)


def arithmetic_of(case: Case) -> Arithmetic | None:
    """What multiplies in its matmuls; None for int8_real with a backward pass, which has two."""
    if case.quant_mode is not QuantMode.INT8_REAL:
        return Arithmetic(case.dtype.value)
    return None if case.bench_pass.backward else Arithmetic.INT8


def computed_rows(case: Case, plan: SpreadPlan) -> int:
    """Rows that the experts compute, on all devices: experts * capacity when padded, else the real assignments."""
    layout = plan.assignments.layout
    if layout is None:
        return case.shape.assignments
    return plan.assignments.real if layout.filled else layout.rows * len(plan.rows)


def _labels(case: Case, environment: Environment, measured: Measured) -> dict[str, str]:
    labels = measured.check.labels() | {
        "ran": measured.built.ran(staged=bool(measured.stages)),
        "program": measured.program.took.label,
    }
    if any(device.used > 1 and device.platform == "cpu" for device in environment.devices):
        labels["caution"] = VIRTUAL
    idle = case.no_effect()
    buckets = measured.plan.buckets
    if buckets is not None and measured.plan.spread.devices > 1:
        labels["capacity_per"] = f"{buckets.per}, {buckets.capacity} slots"
    return labels | {"no_effect": ", ".join(idle)} if idle else labels


def _observations(measured: Measured) -> dict[str, Number]:
    assignments = measured.plan.assignments
    slots = assignments.real + assignments.null + assignments.dropped
    experts = measured.built.shape.experts
    runs, load = run_statistics(measured.chosen, experts), load_statistics(measured.chosen, experts)
    memory = None if measured.program.executable is None else program_memory(measured.program.executable)
    return {
        "lower_s": measured.program.lower_s,
        **asdict(measured.program.took),
        "first_call_s": measured.first_call_s,
        "warmup_s": sum(measured.samples.warmup_s),
        **measured.check.observations(),
        "real_assignments": assignments.real,
        "null_assignments": assignments.null,
        "null_realized": assignments.null / slots,
        "dropped_assignments": assignments.dropped,
        "dropped_fraction": assignments.dropped / slots,
        **{"runs" if name == "count" else f"run_{name}": value for name, value in asdict(runs).items()},
        **{f"load_{name}": value for name, value in asdict(load).items()},
        **_of_devices(measured.plan),
        "peak_memory_bytes": None if memory is None else memory.total,
        "temporary_bytes": None if memory is None else memory.temporaries,
        "device_peak_bytes": measured.device_peak_bytes,
    }


def _of_devices(plan: SpreadPlan) -> dict[str, Number]:
    """How evenly the rows fall on several devices, all of which wait for the one with the most; nothing where XLA's
    partitioner decides which device computes what."""
    if len(plan.rows) == 1:
        return {}
    return {
        "device_rows_min": min(plan.rows),
        "device_rows_max": max(plan.rows),
        "device_rows_mean": sum(plan.rows) / len(plan.rows),
    }


def case_sends(
    case: Case, plan: SpreadPlan, text: str | None, *, several_programs: bool = False
) -> tuple[dict[str, Number], dict[str, str]]:
    """Observations and labels of what devices send to each other; empty on one device.

    `text`: the optimised HLO; None where it cannot be read, and of `several_programs`.
    """
    if plan.spread.devices == 1:
        return {}, {}
    model = model_ring_bytes(sendings(case.shape, case.dtype, case.bench_pass, plan))
    several = Communication(unknown="the case is several programs")
    compiled = several if several_programs else read_communication(text)
    return {**model, **compiled.observations()}, compiled.labels()
