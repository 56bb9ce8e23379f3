"""Run cases one after another, and print the row of each when it is there."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bench_core.aot.targets import AotTarget
from bench_core.flag import ConfigValue
from bench_core.harness.case import Case
from bench_core.harness.record import Row, result_file, write_rows

if TYPE_CHECKING:
    from bench_core.harness.backend import Chosen

Progress = Callable[[str], None]


@dataclass(slots=True)
class Printed:
    """Rows go to stdout and into the file, progress to stderr."""

    path: Path | None
    documents: list[Mapping[str, object]] = field(default_factory=list)

    def progress(self, text: str) -> None:
        typer.echo(text, err=True)

    def ended(self, row: Row) -> None:
        print("\n".join(row.lines()), flush=True)
        self.documents.append(row.as_json())
        if self.path is not None:
            write_rows(self.path, self.documents)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Cases, which have one mesh, and what is done with each.

    With `choose_backend` they get the platform's default in the place of theirs. With `profile`, the trace of case N
    is below its folder `case-N`. `keys` are what the config of each row begins with, `labels` those of all rows.
    """

    cases: list[Case]
    choose_backend: bool
    stage_timing: bool = False
    profile: Path | None = None
    keys: tuple[Mapping[str, ConfigValue], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


def run_cases(request: Request) -> bool:
    """Check and time every case; True when none failed."""
    report = Printed(result_file(os.environ))
    parallel = request.cases[0].parallel
    for case in request.cases:
        case.require_fit()
    # Late, so that help and refusals do not wait for JAX.
    from bench_core.aot.roofline import with_roofline
    from bench_core.harness.environment import describe_environment, keep_programs, make_cpu_devices
    from bench_core.harness.run import Extras, run_case

    keep_programs(os.environ)
    if parallel.devices is not None:
        make_cpu_devices(parallel.devices, os.environ)
    environment = describe_environment()
    cases = [case.over(environment.available) for case in request.cases]
    used = environment.devices[0]
    chosen = chosen_cases(request, cases, platform=used.platform, device_kind=used.kind)

    def measure(case: Case, index: int, progress: Progress) -> Row:
        folder = None if request.profile is None else request.profile / f"case-{index}"
        row = run_case(case, environment, progress, Extras(stage_timing=request.stage_timing, profile=folder))
        return with_roofline(row, case)

    return report_rows(request, chosen, measure, report)


def compile_cases(request: Request, target: AotTarget) -> bool:
    """Compile every case for `target`, running none; True when none failed."""
    report = Printed(result_file(os.environ))
    from bench_core.aot.run import aot_row, start_compiler

    compiler = start_compiler(target)
    cases = [case.over(len(compiler.devices)) for case in request.cases]
    first = compiler.devices[0]
    chosen = chosen_cases(request, cases, platform=first.platform, device_kind=first.device_kind)
    return report_rows(request, chosen, lambda case, index, progress: aot_row(case, compiler, progress), report)


def chosen_cases(request: Request, cases: list[Case], *, platform: str, device_kind: str) -> "list[Chosen]":
    """The cases of a request with the backends that they get on this device: their own, or its default."""
    from bench_core.harness.backend import Chosen, with_default_backend

    if not request.choose_backend:
        return [Chosen(case=case) for case in cases]
    return [with_default_backend(case, platform=platform, device_kind=device_kind) for case in cases]


def report_rows(
    request: Request, cases: "Sequence[Chosen]", make: Callable[[Case, int, Progress], Row], report: Printed
) -> bool:
    """Make and report the row of every case; True when none failed."""
    good = True
    for index, chosen in enumerate(cases, start=1):
        progress = _numbered(report.progress, chosen.case, index, len(cases))
        row = make(chosen.case, index, progress)
        keys = request.keys[index - 1] if request.keys else {}
        labels = {**row.labels, **chosen.labels(), **request.labels}
        row = replace(row, config={**keys, **row.config}, labels=labels)
        report.ended(row)
        good &= row.failed is None
        tell_failure(row, progress)
    return good


def _numbered(progress: Progress, case: Case, index: int, count: int) -> Progress:
    """Progress that says which of how many cases it is about."""
    prefix = f"[{index}/{count}] {case.shape} {case.bench_pass} {case.quant_mode}"
    return lambda text: progress(f"{prefix}: {text}")


def tell_failure(row: Row, progress: Progress) -> None:
    """Say why a row failed; nothing of one that did not."""
    if row.failed is not None:
        progress(f"failed ({row.failed.reason}): {row.failed.message}")
        if "helps" in row.labels:
            progress(f"compiles with {row.labels['helps']}")
