"""`bench-core roofline`: the least time of a call on TPUs that need not be there."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench_core.accounting.communication import read_communication
from bench_core.aot.targets import AotTarget, aot_config, choose_target
from bench_core.cli import hillclimb
from bench_core.cli.flags import with_flags
from bench_core.cli.rows import Printed
from bench_core.errors import UsageError
from bench_core.flag import Declared, Flag, build, declared
from bench_core.harness.case import Case
from bench_core.harness.record import Row, result_file

if TYPE_CHECKING:
    from bench_core.aot.bounded import Made


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for besides cases."""

    time_s: Annotated[
        float | None, Flag(help="Seconds that one call took there: its rates, too.", metavar="SECONDS")
    ] = None
    analytic: Annotated[bool, Flag(help="Compile nothing: only what follows from the model and the form.")] = False


def roofline(given: Mapping[str, Any]) -> None:
    """Bound the time of a call of a gated MoE block by the published peaks of TPUs that need not be there.

    Of what any call has to compute, move and send by the model, and of what the program does that the compiler
    schedules for the slice that --aot names. Prints a table and a RESULT_JSON line per case on stdout; nothing of it is
    measured. Exit code: 0 done, 1 a case does not compile, 2 the request is wrong.
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
    from bench_core.aot.bounded import bounded, compute_on_cpu

    environment = compute_on_cpu()
    report, good = Printed(result_file(os.environ)), True
    programs = _programs([chosen.case for chosen in cases], target, analytic=asked.analytic)
    for chosen, program in zip(cases, programs, strict=True):
        found = bounded(chosen.case, target, program.made, refused=program.refused, time_s=asked.time_s)
        row = Row(
            config=aot_config(chosen.case, target),
            environment=replace(environment, software={**environment.software, **program.software}),
            observations=found.observations(),
            labels={**chosen.labels(), **found.labels()},
        )
        print("\n".join(found.lines()), flush=True)
        # No RESULT line: there is no result to read from it.
        report.lines(row.lines()[-1:], row.as_json())
        good &= program.refused is None
    if not good:
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Program:
    """A case as compiled, if it was."""

    made: "Made | None" = None
    refused: str | None = None
    software: Mapping[str, str] = field(default_factory=dict)


def _programs(cases: Sequence[Case], target: AotTarget, *, analytic: bool) -> Iterator[_Program]:
    if analytic:
        yield from (_Program() for _ in cases)
        return
    from bench_core.aot.bounded import Made
    from bench_core.predict.predicting import case_terms
    from bench_core.predict.scheduled import Scheduled, schedule

    for case, found in zip(cases, schedule(cases, target), strict=True):
        software = {"libtpu": found.libtpu}
        if not isinstance(found, Scheduled):
            yield _Program(refused=f"{found.reason}: {' '.join(found.message.split())}", software=software)
            continue
        terms, sent = case_terms(case, found), read_communication(found.hlo)
        made = Made(flops=terms.flops, hbm_bytes=terms.hbm_bytes, sent=sent, uncounted=terms.unknown)
        yield _Program(made=made, software=software)


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


command = with_flags(roofline, _flags())
