"""`bench-core roofline`: the least time of a call on TPUs that need not be there."""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from bench_core.accounting import throughput
from bench_core.accounting.roofline import Resource, Roofline, Term, roofline, sourced
from bench_core.accounting.work import size
from bench_core.aot.targets import AotTarget, aot_config, choose_target
from bench_core.cli import hillclimb
from bench_core.cli.flags import with_flags
from bench_core.cli.rows import Printed
from bench_core.errors import UsageError
from bench_core.flag import Declared, Flag, build, declared
from bench_core.harness.case import Case
from bench_core.harness.record import Number, Row, result_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for besides cases."""

    time_s: Annotated[
        float | None, Flag(help="Seconds that one call took there: its rates, too.", metavar="SECONDS")
    ] = None


def bound_cases(given: Mapping[str, Any]) -> None:
    """Bound the time of a call of a gated MoE block by the published peaks of TPUs that need not be there.

    Counts what any program of the case has to compute, to move (arguments and results, each once) and to send in its
    form. Nothing is compiled or measured. Prints a table and a RESULT_JSON line per case on stdout. Exit code:
    0 done, 2 the request is wrong.
    """
    asked = build(Asked, given)
    if given.get("aot") is None:
        raise UsageError(
            "roofline needs --aot, the slice of TPUs that it is of",
            cause="peaks and links belong to a kind of TPU",
            hint="use --aot v5p-8",
        )
    target = choose_target(given["aot"])
    cases = hillclimb.cases_on(given, target)
    _refuse_time(asked.time_s, len(cases))
    # Late, so that help and refusals do not wait for JAX.
    from bench_core.aot.libtpu import draw_on_cpu
    from bench_core.aot.roofline import case_work, whole_step
    from bench_core.harness.environment import describe_environment

    draw_on_cpu()
    environment = replace(describe_environment(), devices=())
    report = Printed(result_file(os.environ))
    for chosen in cases:
        case, devices = chosen.case, chosen.case.parallel.spread.devices
        work, sent = case_work(case)
        found = roofline(work, target.device_kind, target.slice)
        seen: dict[str, Number] = {"flops": work.flops * devices, **found.observations()}
        seen |= sent if devices > 1 else {}
        if asked.time_s is not None:
            seen |= _rates(found, case, asked.time_s) | (
                whole_step("model", sent["model_ring_bytes"], asked.time_s) if sent["model_ring_bytes"] else {}
            )
        row = Row(
            config=aot_config(case, target),
            environment=environment,
            observations=seen,
            labels={**chosen.labels(), **found.labels()},
        )
        print("\n".join(_lines(found, case, target, seen)), flush=True)
        report.ended(row)


def _rates(found: Roofline, case: Case, time_s: float) -> dict[str, Number]:
    """What a measured time makes of the model's work."""
    devices, mxu = case.parallel.spread.devices, found.terms[0]
    tflops = throughput(flops=round(mxu.amount * devices), tokens=case.shape.tokens, time_s=time_s).tflops
    return {
        "given_time_s": time_s,
        "given_tflops": tflops,
        "given_tflops_per_device": tflops / devices,
        "given_mfu": None if mxu.time_s is None else mxu.time_s / time_s,
        "roofline_fraction": None if found.bound_s is None else found.bound_s / time_s,
    }


def _lines(found: Roofline, case: Case, target: AotTarget, seen: Mapping[str, Number]) -> Iterator[str]:
    spread = case.parallel.spread
    mesh = f"{spread.dp} x {spread.ep} devices (data x expert)" if spread.devices > 1 else "one device"
    yield f"{target.name}, {mesh}; nothing here is compiled or measured"
    yield "each device | peak | at the least | in the time"
    for term in found.terms:
        yield " | ".join([term.resource, term.peak.words or f"unknown: {term.peak.unknown}", *_cells(term)])
    least = found.bound
    yield (
        "no call is faster: unknown" if least is None else f"no call is faster: {_ms(found.bound_s)}, {least.resource}"
    )
    if (time_s := seen.get("given_time_s")) is not None:
        mfu = "no MFU" if seen["given_mfu"] is None else f"MFU {100 * seen['given_mfu']:.3g}%"
        each = f", {seen['given_tflops_per_device']:.4g} on each" if spread.devices > 1 else ""
        yield f"a call of {_ms(time_s)}: {seen['given_tflops']:.4g} TF/s in all{each}, {mfu}"
        if (fraction := seen["roofline_fraction"]) is not None:
            wrong = ": the time, the case or a peak is not the right one" if fraction > 1 else ""
            yield f"the bound is {100 * fraction:.3g}% of it{wrong}"
        if (rate := seen.get("model_ring_gb_per_s_of_whole_step")) is not None:
            yield f"sent bytes over the whole step: {rate:.2f} GB/s on each device"
            yield "this divides by the whole step: it says how busy the links were, not how fast they are"
    for term in found.known:
        yield f"{term.resource} peak: {sourced(term.peak)}"


def _cells(term: Term) -> list[str]:
    amount = f"{term.amount / 1e12:.4g} TFLOP" if term.resource is Resource.MXU else size(term.amount)
    return [amount, "unknown" if term.time_s is None else _ms(term.time_s)]


def _ms(time_s: float | None) -> str:
    return "unknown" if time_s is None else f"{1e3 * time_s:.4g} ms"


def _refuse_time(time_s: float | None, cases: int) -> None:
    if time_s is None:
        return
    if not 0 < time_s < math.inf:
        raise UsageError(
            f"--time-s {time_s:g} is no duration", cause="a call takes time", hint="give the seconds of one call"
        )
    if cases > 1:
        raise UsageError(
            f"--time-s {time_s:g} is the time of one case",
            cause=f"the flags ask for {cases}",
            hint="run bench-core roofline once for each of them",
        )


def _flags() -> list[Declared]:
    return [*hillclimb.ON_SLICE, *declared(Asked)]


command = with_flags(bound_cases, _flags())
