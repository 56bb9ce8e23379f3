"""A case on a slice of TPUs with its roofline, and with a time that somebody measured there."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import jax

from bench_core.accounting import count_flops
from bench_core.accounting.communication import Communication, size
from bench_core.accounting.roofline import Resource, Term
from bench_core.accounting.throughput import throughput
from bench_core.aot.program import drawn_plan
from bench_core.aot.roofline import Roofline, case_roofline, sourced
from bench_core.aot.targets import AotTarget
from bench_core.harness.case import Case
from bench_core.harness.environment import describe_environment
from bench_core.harness.record import Environment, Number
from bench_core.harness.row import computed_rows
from bench_core.parallel.communication import model_ring_bytes, sendings

# JAX leaves this function without types.
_update: Callable[[str, str], None] = jax.config.update


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """`model` has the keys of `parallel.communication`, `compiled` what the compiled program sends (None: it was not
    compiled), `flops` are the model's of a call on all devices. `time_s` is a measured time of one call."""

    case: Case
    target: AotTarget
    roofline: Roofline
    flops: int
    model: Mapping[str, float]
    compiled: Communication | None
    time_s: float | None

    @property
    def devices(self) -> int:
        return self.case.parallel.spread.devices

    @property
    def ring_bytes(self) -> float | None:
        """That each device sends, as the roofline has it."""
        return next((term.amount for term in self.roofline.terms if term.resource is Resource.ICI), None)

    def observations(self) -> dict[str, Number]:
        seen: dict[str, Number] = {"flops": self.flops, **self.roofline.observations(), **self.model}
        if self.compiled is not None:
            seen |= self.compiled.observations()
        return seen | ({} if self.time_s is None else self._of_time(self.time_s))

    def labels(self) -> dict[str, str]:
        return self.roofline.labels() | ({} if self.compiled is None else self.compiled.labels())

    def lines(self) -> Iterator[str]:
        """For a reader."""
        spread = self.case.parallel.spread
        mesh = f"{spread.dp} x {spread.ep} devices (data x expert)" if self.devices > 1 else "one device"
        yield f"{self.target.name}, {mesh}; nothing here is measured"
        yield "resource | each device, at the least | peak | time"
        for term in self.roofline.terms:
            time = term.peak.unknown if term.time_s is None else _ms(term.time_s)
            yield f"{term.resource} | {self._amount(term)} | {term.peak.words or 'unknown'} | {time}"
        least = self.roofline.bound
        if least is not None and least.time_s is not None:
            yield f"bound: {least.resource}, {_ms(least.time_s)}; no call is faster"
        if self.time_s is not None:
            yield from self._rates(self.time_s)
        if self.compiled is not None:
            for name, text in self.compiled.labels().items():
                yield f"{name.replace('_', ' ')}: {text}"
        for term in self.roofline.known:
            yield f"{term.resource} peak: {sourced(term.peak)}"

    def _amount(self, term: Term) -> str:
        if term.amount is None:
            return "unknown"
        if term.resource is Resource.MXU:
            return f"{term.amount / 1e12:.4g} TFLOP of the model"
        if term.resource is Resource.HBM:
            return f"{size(term.amount)} of the model"
        model = size(self.model["model_ring_bytes"])
        if self.roofline.sent == "compiled":
            return f"{size(term.amount)} sent by the compiled program (the form: {model})"
        return f"{model} that the form sends"

    def _of_time(self, time_s: float) -> dict[str, Number]:
        tflops = throughput(flops=self.flops, tokens=self.case.shape.tokens, time_s=time_s).tflops
        least, mxu = self.roofline.bound, self._peak(Resource.MXU)
        sent = self.ring_bytes
        return {
            "given_time_s": time_s,
            "given_tflops": tflops,
            "given_tflops_per_device": tflops / self.devices,
            "given_mfu": None if mxu is None else tflops * 1e12 / self.devices / mxu,
            "roofline_fraction": None if least is None or least.time_s is None else least.time_s / time_s,
            **({} if sent is None else {"ring_gb_per_s_of_whole_step": sent / time_s / 1e9}),
        }

    def _peak(self, resource: Resource) -> float | None:
        return next((term.peak.per_s for term in self.roofline.terms if term.resource is resource), None)

    def _rates(self, time_s: float) -> Iterator[str]:
        seen = self._of_time(time_s)
        mfu = "no MFU" if seen["given_mfu"] is None else f"MFU {100 * seen['given_mfu']:.3g}%"
        each = f", {seen['given_tflops_per_device']:.4g} on each" if self.devices > 1 else ""
        yield f"a call of {_ms(time_s)}: {seen['given_tflops']:.4g} TF/s in all{each}, {mfu}"
        fraction = seen["roofline_fraction"]
        if fraction is not None:
            below = "; no such call exists: the time, the case or a peak is not the right one" if fraction > 1 else ""
            yield f"the bound is {100 * fraction:.3g}% of it{below}"
        rate, peak = seen.get("ring_gb_per_s_of_whole_step"), self._peak(Resource.ICI)
        if rate is not None:
            links = f" of {peak / 1e9:g} GB/s" if peak is not None else ""
            yield f"sent bytes over the whole step: {rate:.2f} GB/s{links} on each device"
            yield "this divides by the whole step: it says how busy the links were, not how fast they are"


def compute_on_cpu() -> Environment:
    """Let JAX draw routings on the CPU, whatever devices there are; the facts of this process without any device."""
    _update("jax_platforms", "cpu")
    return replace(describe_environment(), devices=())


def bounded(case: Case, target: AotTarget, compiled: Communication | None, time_s: float | None) -> Bounded:
    """`compiled`: None where the program was not compiled; what the form has to send is taken then, and where nobody
    knows what the program sends."""
    plan = drawn_plan(case)
    model = model_ring_bytes(sendings(case.shape, case.dtype, case.bench_pass, plan))
    sent = None if compiled is None else compiled.ring_bytes
    rows = computed_rows(case, plan)
    return Bounded(
        case=case,
        target=target,
        roofline=case_roofline(
            case,
            plan,
            target,
            ring_bytes=model["model_ring_bytes"] if sent is None else sent,
            sent="model" if sent is None else "compiled",
        ),
        flops=count_flops(case.shape, case.bench_pass, assignments=rows).total,
        model=model if case.parallel.spread.devices > 1 else {},
        compiled=compiled,
        time_s=time_s,
    )


def _ms(time_s: float) -> str:
    return f"{1e3 * time_s:.4g} ms"
