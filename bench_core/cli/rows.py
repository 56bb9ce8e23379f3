"""Run cases one after another, and print the row of each when it is there."""

import os
from pathlib import Path

import typer

from bench_core.harness.case import Case
from bench_core.harness.record import Row, result_file, write_rows


def run_cases(cases: list[Case], *, stage_timing: bool, profile: Path | None) -> bool:
    """Run every case, print each row when it is there; True when none failed.

    With `profile`, the trace of case N is below its folder `case-N`.
    """
    path = result_file(os.environ)
    # Late, so that help and refusals do not wait for JAX.
    from bench_core.harness.environment import describe_environment
    from bench_core.harness.run import Extras, numbered, run_case

    environment = describe_environment()
    rows: list[Row] = []
    for index, case in enumerate(cases, start=1):
        progress = numbered(_report, case, index, len(cases))
        folder = None if profile is None else profile / f"case-{index}"
        row = run_case(case, environment, progress, Extras(stage_timing=stage_timing, profile=folder))
        rows.append(row)
        for line in row.lines():
            print(line, flush=True)
        if row.failed is not None:
            progress(f"failed ({row.failed.reason}): {row.failed.message}")
        if path is not None:
            write_rows(path, rows)
    return all(row.failed is None for row in rows)


def _report(text: str) -> None:
    typer.echo(text, err=True)
