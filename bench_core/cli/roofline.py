"""`bench-core roofline`: the least time of a call on TPUs that need not be there."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import typer

from bench_core.accounting.communication import Communication, read_communication
from bench_core.aot.targets import AotTarget, aot_config, choose_target
from bench_core.cli import hillclimb
from bench_core.cli.flags import with_flags
from bench_core.cli.rows import Printed
from bench_core.errors import UsageError
from bench_core.flag import Declared, Flag, build, declared
from bench_core.harness.case import Case
from bench_core.harness.record import Row, result_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for besides cases."""

    time_s: Annotated[
        float | None, Flag(help="Seconds that one call took there: its rates, too.", metavar="SECONDS")
    ] = None
    analytic: Annotated[bool, Flag(help="Compile nothing: what devices send is what the form has to.")] = False


def roofline(given: Mapping[str, Any]) -> None:
    """Bound the time of a call of a gated MoE block by the published peaks of TPUs that need not be there.

    What it computes and moves is the model's. What several devices send is read off the program that the compiler
    schedules for the slice that --aot names, or with --analytic what the form has to send. Prints a table and a
    RESULT_JSON line per case on stdout; nothing of it is measured. Exit code: 0 done, 1 a case does not compile, 2 the
    request is wrong.
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
    sent = _sent([chosen.case for chosen in cases], target, analytic=asked.analytic)
    for chosen, program in zip(cases, sent, strict=True):
        found = bounded(chosen.case, target, program.communication, asked.time_s)
        row = Row(
            config=aot_config(chosen.case, target),
            environment=replace(environment, software={**environment.software, **program.software}),
            observations=found.observations(),
            labels={**chosen.labels(), **found.labels()},
        )
        print("\n".join(found.lines()), flush=True)
        # No RESULT line: there is no result to read from it.
        report.lines(row.lines()[-1:], row.as_json())
        good &= program.compiles
    if not good:
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Program:
    """What a case sends, as compiled; None where it was not compiled."""

    communication: Communication | None = None
    software: Mapping[str, str] = field(default_factory=dict)
    compiles: bool = True


def _sent(cases: Sequence[Case], target: AotTarget, *, analytic: bool) -> Iterator[_Program]:
    if analytic or cases[0].parallel.spread.devices == 1:
        yield from (_Program() for _ in cases)
        return
    from bench_core.predict.scheduled import Scheduled, schedule

    for found in schedule(cases, target):
        software = {"libtpu": found.libtpu}
        if isinstance(found, Scheduled):
            yield _Program(communication=read_communication(found.hlo), software=software)
        else:
            refused = Communication(unknown=f"it does not compile: {found.reason}: {' '.join(found.message.split())}")
            yield _Program(communication=refused, software=software, compiles=False)


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
