"""Run cases one after another, and print the row of each when it is there."""

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

from bench_core.aot.targets import AotTarget
from bench_core.errors import MAKING_INPUTS, UsageError
from bench_core.harness.case import Case
from bench_core.harness.record import FAILED_WHILE, Environment, Row, result_file, write_rows
from bench_core.job.flags import JobFlags, refuse_idle_devices
from bench_core.parallel.spread import Parallel

if TYPE_CHECKING:
    from bench_core.harness.chosen import Chosen

Progress = Callable[[str], None]


class Report(Protocol):
    """Who is told what becomes of the cases, which are counted from 1."""

    def progress(self, text: str) -> None: ...

    def begun(self, index: int, row: Row) -> None: ...

    def ended(self, index: int, row: Row) -> None: ...


@dataclass(slots=True)
class Printed:
    """Rows go to stdout and into the file, progress to stderr."""

    path: Path | None
    documents: list[Mapping[str, object]] = field(default_factory=list)

    def progress(self, text: str) -> None:
        typer.echo(text, err=True)

    def begun(self, index: int, row: Row) -> None:
        pass

    def ended(self, index: int, row: Row) -> None:
        self.lines(row.lines(), row.as_json())

    def lines(self, lines: list[str], document: Mapping[str, object]) -> None:
        """A row that is text already."""
        for line in lines:
            print(line, flush=True)
        self.documents.append(document)
        if self.path is not None:
            write_rows(self.path, self.documents)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Cases, which have one mesh, and what is done with each.

    With `choose_backend` they get the platform's default in the place of theirs. With `profile`, the trace of case N
    is below its folder `case-N`. With `tuned` they get the tiles that are kept in that file.
    """

    cases: list[Case]
    choose_backend: bool
    stage_timing: bool = False
    profile: Path | None = None
    tuned: Path | None = None


def run_cases(request: Request) -> bool:
    """Check and time every case; True when none failed."""
    report = Printed(result_file(os.environ))
    parallel = request.cases[0].parallel
    refuse_processes(parallel)
    for case in request.cases:
        case.require_fit()
    # Late, so that help and refusals do not wait for JAX.
    from bench_core.harness.environment import make_cpu_devices

    if parallel.devices is not None:
        make_cpu_devices(parallel.devices, os.environ)
    return measure_cases(request, report)


def refuse_processes(parallel: Parallel) -> None:
    """Refuse several processes where one has to run the case.

    Raises:
        UsageError: they are asked for.
    """
    if parallel.is_shared:
        raise UsageError(
            f"--processes {parallel.processes} is not served by this command",
            cause="its cases are run by one process, which has all devices",
            hint="leave --processes out, or use bench-core hillclimb",
        )


def lead_cases(command: str, given: Mapping[str, Any], request: Request, flags: JobFlags) -> bool:
    """The same by several processes, each of which is given the command and its flags."""
    from bench_core.job.lead import Job, lead

    parallel = request.cases[0].parallel
    environment = Environment(devices=(), software={}, host=platform.node())
    cases = request.cases
    if parallel.devices is not None:
        cases = [refuse_idle_devices(case.over(parallel.devices), parallel.devices) for case in cases]
    job = Job(
        command=command,
        given=given,
        flags=flags,
        processes=parallel.processes or 1,
        devices=parallel.devices,
        # Which backend a case gets that names none, only a process with devices knows.
        blank=[
            Row(
                config={k: v for k, v in case.config().items() if k != "backend" or not request.choose_backend},
                environment=environment,
            )
            for case in cases
        ],
    )
    return lead(job, Printed(result_file(os.environ)))


def measure_cases(
    request: Request,
    report: Report,
    *,
    first: int = 1,
    require: Callable[[Environment], None] = lambda environment: None,
) -> bool:
    """The same on JAX's devices as they are, from the case with the index `first` on, once `require` has seen them."""
    from bench_core.aot.roofline import with_roofline
    from bench_core.harness.environment import describe_environment
    from bench_core.harness.run import Extras, run_case

    environment = describe_environment()
    require(environment)
    cases = [case.over(environment.available) for case in request.cases]
    used = environment.devices[0]
    chosen = chosen_cases(request, cases, platform=used.platform, device_kind=used.kind)

    def measure(case: Case, index: int, progress: Progress) -> Row:
        report.begun(index, Row(config=case.config(), environment=environment.using(case.parallel.spread.devices)))
        folder = None if request.profile is None else request.profile / f"case-{index}"
        row = run_case(case, environment, progress, Extras(stage_timing=request.stage_timing, profile=folder))
        return with_roofline(with_suggestion(row, case), case)

    return report_rows(chosen, measure, report, first)


def compile_cases(request: Request, target: AotTarget) -> bool:
    """Compile every case for `target`, running none; True when none failed."""
    report = Printed(result_file(os.environ))
    from bench_core.aot.run import aot_row, start_compiler

    compiler = start_compiler(target)
    cases = [case.over(len(compiler.devices)) for case in request.cases]
    first = compiler.devices[0]
    chosen = chosen_cases(request, cases, platform=first.platform, device_kind=first.device_kind)
    return report_rows(chosen, lambda case, index, progress: aot_row(case, compiler, progress), report)


def chosen_cases(request: Request, cases: list[Case], *, platform: str, device_kind: str) -> "list[Chosen]":
    """The cases of a request with the backends and tiles that they get on this device."""
    from bench_core.harness.chosen import choose_backends
    from bench_core.tune.chosen import with_tuned_tiles

    chosen = choose_backends(cases, named=not request.choose_backend, platform=platform, device_kind=device_kind)
    if request.tuned is None:
        return chosen
    return with_tuned_tiles(chosen, request.tuned, platform=platform, device_kind=device_kind)


def report_rows(
    cases: "Sequence[Chosen]", make: Callable[[Case, int, Progress], Row], report: Report, first: int = 1
) -> bool:
    """Make and report the row of every case, from that with the index `first` on; True when none failed."""
    from bench_core.harness.run import numbered

    good = True
    for index, chosen in enumerate(cases[first - 1 :], start=first):
        progress = numbered(report.progress, chosen.case, index, len(cases))
        row = make(chosen.case, index, progress)
        row = labelled(row, chosen)
        report.ended(index, row)
        good &= row.failed is None
        tell_failure(row, progress)
    return good


def labelled(row: Row, chosen: "Chosen") -> Row:
    """The row, which says why the case has its backend and its tile."""
    return replace(row, labels={**row.labels, **chosen.labels()})


def tell_failure(row: Row, progress: Progress) -> None:
    """Say why a row failed; nothing of one that did not."""
    if row.failed is not None:
        step = f" while {row.labels[FAILED_WHILE]}" if FAILED_WHILE in row.labels else ""
        progress(f"failed ({row.failed.reason}){step}: {row.failed.message}")
        if "helps" in row.labels:
            progress(f"compiles with {row.labels['helps']}")
        if "try" in row.labels:
            progress(f"try {row.labels['try']}")


def with_suggestion(row: Row, case: Case) -> Row:
    """The row, which names a flag to try where the program of the case ran out of memory. No flag makes its inputs
    smaller."""
    if row.failed is None or row.failed.reason != "out_of_memory" or row.labels.get(FAILED_WHILE) == MAKING_INPUTS:
        return row
    from bench_core.aot.remedy import suggestion

    kind = next((group.kind for group in row.environment.devices if group.used), "")
    flag = suggestion(case, row.failed.message, kind)
    return row if flag is None else replace(row, labels={**row.labels, "try": flag})
