"""Run cases one after another, and print the row of each when it is there."""

import os
from collections.abc import Callable
from pathlib import Path

import typer

from bench_core.aot.targets import AotTarget
from bench_core.harness.case import Case
from bench_core.harness.record import Row, result_file, write_rows

Progress = Callable[[str], None]


def run_cases(cases: list[Case], *, choose_backend: bool, stage_timing: bool, profile: Path | None) -> bool:
    """Check and time every case; True when none failed.

    With `choose_backend` the cases get the platform's default in the place of theirs. With `profile`, the trace of
    case N is below its folder `case-N`.
    """
    path = result_file(os.environ)
    # Late, so that help and refusals do not wait for JAX.
    from bench_core.harness.environment import describe_environment, make_cpu_devices
    from bench_core.harness.run import Extras, run_case, with_default_backend, with_spread

    # All cases of a command have one mesh.
    devices = cases[0].parallel.devices
    if devices is not None:
        make_cpu_devices(devices, os.environ)
    environment = describe_environment()
    cases = [with_spread(case, environment.available) for case in cases]
    if choose_backend:
        cases = [with_default_backend(case, platform=environment.devices[0].platform) for case in cases]

    def measure(case: Case, index: int, progress: Progress) -> Row:
        folder = None if profile is None else profile / f"case-{index}"
        return run_case(case, environment, progress, Extras(stage_timing=stage_timing, profile=folder))

    return _report_rows(cases, measure, path)


def compile_cases(cases: list[Case], target: AotTarget, *, choose_backend: bool) -> bool:
    """Compile every case for `target`, running none; True when none failed.

    With `choose_backend` the cases get the default of `target`'s platform in the place of theirs.
    """
    path = result_file(os.environ)
    from bench_core.aot.run import aot_row, start_compiler
    from bench_core.harness.run import with_default_backend, with_spread

    compiler = start_compiler(target)
    cases = [with_spread(case, len(compiler.devices)) for case in cases]
    if choose_backend:
        cases = [with_default_backend(case, platform=compiler.devices[0].platform) for case in cases]
    return _report_rows(cases, lambda case, index, progress: aot_row(case, compiler, progress), path)


def _report_rows(cases: list[Case], make: Callable[[Case, int, Progress], Row], path: Path | None) -> bool:
    from bench_core.harness.run import numbered

    rows: list[Row] = []
    for index, case in enumerate(cases, start=1):
        progress = numbered(_report, case, index, len(cases))
        row = make(case, index, progress)
        rows.append(row)
        for line in row.lines():
            print(line, flush=True)
        if row.failed is not None:
            progress(f"failed ({row.failed.reason}): {row.failed.message}")
            if "helps" in row.labels:
                progress(f"compiles with {row.labels['helps']}")
        if path is not None:
            write_rows(path, rows)
    return all(row.failed is None for row in rows)


def _report(text: str) -> None:
    typer.echo(text, err=True)
