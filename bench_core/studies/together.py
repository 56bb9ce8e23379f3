"""Time several cases together: one call of each in turn, so that whatever the machine does meets all of them alike."""

from collections.abc import Sequence
from dataclasses import replace

from bench_core.harness.case import Case
from bench_core.harness.record import Environment, Row
from bench_core.harness.row import measured_row
from bench_core.harness.run import CASE_ERRORS, Extras, Progress, Ready, make_ready, row_of_error, run_case
from bench_core.studies.rounds import time_in_turn

ALONE = "alone: there was no memory for it beside the others"
"""The label `timed` of a row whose case was not called in turn with the others."""


def run_together(
    cases: Sequence[Case], environment: Environment, progress: Sequence[Progress], whole: Progress
) -> list[Row]:
    """Check all cases, then time them in turn; a row for each, in their order.

    All programs and their arguments are on the devices at the same time. A case that finds no memory beside the others
    is timed after them, alone, and its row says so. A case that fails leaves the others running.

    Args:
        cases: with the same numbers of calls.
        environment: facts of this process.
        progress: of each case.
        whole: of all of them.

    Raises:
        UsageError: the compiler does not take one of the flags.
    """
    rows, crowded = _in_turn(cases, environment, progress, whole)
    for number in crowded:
        progress[number]("no memory beside the others: once more, alone")
        row = run_case(cases[number], environment, progress[number])
        rows[number] = replace(row, labels={**row.labels, "timed": ALONE})
    return [rows[number] for number in range(len(cases))]


def _in_turn(
    cases: Sequence[Case], environment: Environment, progress: Sequence[Progress], whole: Progress
) -> tuple[dict[int, Row], list[int]]:
    """The rows, and which of them failed for the memory that the others had."""
    rows: dict[int, Row] = {}
    ready: dict[int, Ready] = {}
    crowded: list[int] = []

    def failed(number: int, error: Exception, others: int) -> None:
        row = rows[number] = row_of_error(cases[number], environment, error)
        if others and row.failed is not None and row.failed.reason == "out_of_memory":
            crowded.append(number)

    for number, case in enumerate(cases):
        try:
            ready[number] = make_ready(case, progress[number], Extras())
        except CASE_ERRORS as error:
            failed(number, error, len(ready))
    warmup, iters = cases[0].warmup, cases[0].iters
    whole(f"timing {warmup} + {iters} rounds of {len(ready)} programs in turn")
    timed = time_in_turn({number: one.program for number, one in ready.items()}, warmup=warmup, rounds=iters)
    for number, late in timed.failed.items():
        failed(number, late, len(ready) - 1)
    for number, samples in timed.samples.items():
        rows[number] = measured_row(cases[number], environment, ready[number].measured(samples))
    return rows, sorted(crowded)
