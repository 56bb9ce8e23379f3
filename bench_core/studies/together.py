"""Time several cases together: one call of each in turn, so that whatever the machine does meets all of them alike."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bench_core.harness.case import Case
from bench_core.harness.record import Environment, Row
from bench_core.harness.row import measured_row
from bench_core.harness.run import CASE_ERRORS, Extras, Progress, Ready, make_ready, row_of_error, run_case
from bench_core.studies.rounds import time_in_turn, with_others

CROWDED = "alone: there was no memory for it beside the others"
"""The label `timed` of a row whose case was not called in turn with the others."""


def run_together(
    cases: Mapping[str, Case], environment: Environment, progress: Sequence[Progress], whole: Progress
) -> list[Row]:
    """Check all cases, then time them in turn; a row for each, in their order, with the key `in_turn` in its config.

    All programs and their arguments are on the devices at the same time. A case that finds no memory beside the others
    is timed after them, alone, and its row says so. A case that fails leaves the others running.

    Args:
        cases: by name, with the same numbers of calls.
        environment: facts of this process.
        progress: of each case.
        whole: of all of them.

    Raises:
        UsageError: the compiler does not take one of the flags.
    """
    tells = dict(zip(cases, progress, strict=True))
    rows, crowded = _in_turn(cases, environment, tells, whole)
    for name in crowded:
        tells[name]("no memory beside the others: once more, alone")
        row = run_case(cases[name], environment, tells[name])
        rows[name] = with_others(replace(row, labels={**row.labels, "timed": CROWDED}), [name])
    return [rows[name] for name in cases]


def _in_turn(
    cases: Mapping[str, Case], environment: Environment, tells: Mapping[str, Progress], whole: Progress
) -> tuple[dict[str, Row], list[str]]:
    """The rows, and which of them failed for the memory that the others had."""
    rows: dict[str, Row] = {}
    ready: dict[str, Ready] = {}
    crowded: list[str] = []

    def failed(name: str, error: Exception, others: int) -> None:
        row = rows[name] = row_of_error(cases[name], environment, error)
        if others and row.failed is not None and row.failed.reason == "out_of_memory":
            crowded.append(name)

    for name, case in cases.items():
        try:
            ready[name] = make_ready(case, tells[name], Extras())
        except CASE_ERRORS as error:
            failed(name, error, len(ready))
    first = next(iter(cases.values()))
    whole(f"timing {first.warmup} + {first.iters} rounds of {len(ready)} programs in turn")
    programs = {name: one.program for name, one in ready.items()}
    timed = time_in_turn(programs, warmup=first.warmup, rounds=first.iters)
    for name, late in timed.failed.items():
        failed(name, late, len(ready) - 1)
    for name, samples in timed.samples.items():
        row = measured_row(cases[name], environment, ready[name].measured(samples))
        rows[name] = with_others(row, list(ready))
    return rows, [name for name in cases if name in crowded]
