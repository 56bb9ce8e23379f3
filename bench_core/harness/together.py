"""Time several cases together: one call of each in turn, so that whatever the machine does meets all of them alike."""

from collections.abc import Sequence

from bench_core.harness.case import Case
from bench_core.harness.record import Environment, Row
from bench_core.harness.rounds import time_in_turn
from bench_core.harness.row import measured_row
from bench_core.harness.run import CASE_ERRORS, Extras, Progress, Ready, make_ready, row_of_error


def run_together(
    cases: Sequence[Case], environment: Environment, progress: Sequence[Progress], whole: Progress
) -> list[Row]:
    """Check all cases, then time them in turn; a row for each, in their order.

    All programs and their arguments are on the devices at the same time. A case that fails leaves the others running.

    Args:
        cases: with the same numbers of calls.
        environment: facts of this process.
        progress: of each case.
        whole: of all of them.

    Raises:
        UsageError: the compiler does not take one of the flags.
    """
    rows: dict[int, Row] = {}
    ready: dict[int, Ready] = {}
    for number, case in enumerate(cases):
        try:
            ready[number] = make_ready(case, progress[number], Extras())
        except CASE_ERRORS as error:
            rows[number] = row_of_error(case, environment, error)
    warmup, iters = cases[0].warmup, cases[0].iters
    whole(f"timing {warmup} + {iters} rounds of {len(ready)} programs in turn")
    timed = time_in_turn({number: one.program for number, one in ready.items()}, warmup=warmup, rounds=iters)
    for number, failure in timed.failed.items():
        rows[number] = row_of_error(cases[number], environment, failure)
    for number, samples in timed.samples.items():
        rows[number] = measured_row(cases[number], environment, ready[number].measured(samples))
    return [rows[number] for number in range(len(cases))]
