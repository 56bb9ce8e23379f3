"""A case on a slice of TPUs with its roofline, and with a time that somebody measured there."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import jax

from bench_core.accounting import count_flops
from bench_core.accounting.communication import Communication, size
from bench_core.accounting.roofline import Resource, Term
from bench_core.accounting.throughput import throughput
from bench_core.aot.program import drawn_plan
from bench_core.aot.roofline import COMPILED, MODEL, Roofline, case_roofline, roofline_on, sourced, whole_step
from bench_core.aot.targets import AotTarget
from bench_core.harness.case import Case
from bench_core.harness.environment import describe_environment
from bench_core.harness.record import Environment, Number
from bench_core.harness.row import computed_rows
from bench_core.parallel.communication import model_ring_bytes, sendings

# JAX leaves this function without types.
_update: Callable[[str, str], None] = jax.config.update


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What the compiled program of a case has each device do: FLOPs of matmuls, bytes in HBM, collectives. `uncounted`
    are operations whose cost is not known, and not in these."""

    flops: int
    hbm_bytes: int
    sent: Communication
    uncounted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """`flops` are the model's of a call on all devices, `ring_bytes` has the keys of `parallel.communication`. `made`:
    None where it was not compiled, and `refused` may say why. `time_s` is a measured time of one call."""

    case: Case
    target: AotTarget
    flops: int
    ring_bytes: Mapping[str, float]
    model: Roofline
    made: Made | None
    refused: str | None
    time_s: float | None

    @property
    def devices(self) -> int:
        return self.case.parallel.spread.devices

    @property
    def compiled(self) -> Roofline | None:
        """The roofline of the compiled program."""
        if self.made is None:
            return None
        return roofline_on(
            self.target,
            self.case,
            flops=self.made.flops,
            hbm_bytes=self.made.hbm_bytes,
            ring_bytes=self.made.sent.ring_bytes,
            sends=self.devices > 1,
        )

    def observations(self) -> dict[str, Number]:
        seen: dict[str, Number] = {"flops": self.flops, **self.model.observations(MODEL)}
        if self.compiled is not None:
            seen |= self.compiled.observations(COMPILED)
        if self.devices > 1:
            seen |= self.ring_bytes
            seen |= {} if self.made is None else self.made.sent.observations()
        return seen | ({} if self.time_s is None else self._of_time(self.time_s))

    def labels(self) -> dict[str, str]:
        labels = self.model.labels()
        if self.compiled is not None and self.compiled.bound is not None:
            labels["compiled_bound"] = self.compiled.bound.resource.value
        return labels | self._said()

    def _said(self) -> dict[str, str]:
        """What the compiler's program, or its refusal, has to be told."""
        if self.made is None:
            return {} if self.refused is None else {"refused": self.refused}
        uncounted = {"uncounted": "; ".join(self.made.uncounted)} if self.made.uncounted else {}
        return uncounted | (self.made.sent.labels() if self.devices > 1 else {})

    def lines(self) -> Iterator[str]:
        """For a reader."""
        spread, compiled = self.case.parallel.spread, self.compiled
        mesh = f"{spread.dp} x {spread.ep} devices (data x expert)" if self.devices > 1 else "one device"
        yield f"{self.target.name}, {mesh}; nothing here is measured"
        yield "each device | peak | the model | at the least" + (" | as compiled | at the least" if compiled else "")
        for term in self.model.terms:
            cells = [term.resource, term.peak.words or f"unknown: {term.peak.unknown}", *_cells(term)]
            made = None if compiled is None else compiled.of(term.resource)
            yield " | ".join(cells + ([] if made is None else _cells(made)))
        yield _bound("bound by the model", self.model)
        if compiled is not None:
            yield _bound("bound of the compiled program", compiled)
        if self.time_s is not None:
            yield from self._rates(self.time_s)
        for name, text in self._said().items():
            yield f"{name.replace('_', ' ')}: {text}"
        for term in self.model.known:
            yield f"{term.resource} peak: {sourced(term.peak)}"

    def _of_time(self, time_s: float) -> dict[str, Number]:
        tflops = throughput(flops=self.flops, tokens=self.case.shape.tokens, time_s=time_s).tflops
        least, mxu = self.model.bound, self.model.of(Resource.MXU)
        peak = None if mxu is None else mxu.peak.per_s
        seen: dict[str, Number] = {
            "given_time_s": time_s,
            "given_tflops": tflops,
            "given_tflops_per_device": tflops / self.devices,
            "given_mfu": None if peak is None else tflops * 1e12 / self.devices / peak,
            "roofline_fraction": None if least is None or least.time_s is None else least.time_s / time_s,
        }
        if self.devices > 1:
            seen |= whole_step("model", self.ring_bytes["model_ring_bytes"], time_s)
            seen |= {} if self.made is None else whole_step(COMPILED, self.made.sent.ring_bytes, time_s)
        return seen

    def _rates(self, time_s: float) -> Iterator[str]:
        seen = self._of_time(time_s)
        mfu = "no MFU" if seen["given_mfu"] is None else f"MFU {100 * seen['given_mfu']:.3g}%"
        each = f", {seen['given_tflops_per_device']:.4g} on each" if self.devices > 1 else ""
        yield f"a call of {_ms(time_s)}: {seen['given_tflops']:.4g} TF/s in all{each}, {mfu}"
        fraction = seen["roofline_fraction"]
        if fraction is not None:
            wrong = ": the time, the case or a peak is not the right one" if fraction > 1 else ""
            yield f"the bound by the model is {100 * fraction:.3g}% of it{wrong}"
        rates = {prefix: seen.get(f"{prefix}_ring_gb_per_s_of_whole_step") for prefix in (COMPILED, "model")}
        prefix, rate = next(((name, rate) for name, rate in rates.items() if rate is not None), ("", None))
        if rate is not None:
            yield f"sent bytes ({prefix}) over the whole step: {rate:.2f} GB/s on each device"
            yield "this divides by the whole step: it says how busy the links were, not how fast they are"


def compute_on_cpu() -> Environment:
    """Let JAX draw routings on the CPU, whatever devices there are; the facts of this process without any device."""
    _update("jax_platforms", "cpu")
    return replace(describe_environment(), devices=())


def bounded(case: Case, target: AotTarget, made: Made | None, *, refused: str | None, time_s: float | None) -> Bounded:
    """`made`: None where the program was not compiled; `refused`: why, where the compiler did not."""
    plan = drawn_plan(case)
    ring_bytes = model_ring_bytes(sendings(case.shape, case.dtype, case.bench_pass, plan))
    rows = computed_rows(case, plan)
    return Bounded(
        case=case,
        target=target,
        flops=count_flops(case.shape, case.bench_pass, assignments=rows).total,
        ring_bytes=ring_bytes,
        model=case_roofline(case, plan, target, ring_bytes=ring_bytes["model_ring_bytes"]),
        made=made,
        refused=refused,
        time_s=time_s,
    )


def _bound(what: str, roofline: Roofline) -> str:
    least = roofline.bound
    if least is None or least.time_s is None:
        return f"{what}: unknown"
    return f"{what}: {least.resource}, {_ms(least.time_s)}"


def _cells(term: Term) -> list[str]:
    if term.amount is None:
        return ["unknown", "unknown"]
    amount = f"{term.amount / 1e12:.4g} TFLOP" if term.resource is Resource.MXU else size(term.amount)
    return [amount, "unknown" if term.time_s is None else _ms(term.time_s)]


def _ms(time_s: float) -> str:
    return f"{1e3 * time_s:.4g} ms"
