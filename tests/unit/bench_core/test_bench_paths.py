"""`bench-core overlap` and `compare`: the published command lines, and what a path is."""

from bench_core.cli.rows import with_suggestion
from bench_core.errors import MAKING_INPUTS
from bench_core.harness.case import Case
from bench_core.harness.record import Environment, Row
from bench_core.harness.run import row_of_error
from bench_core.routing.distribution import RoutingRequest
from bench_core.shapes import BenchPass, MoeShape


def test_a_program_that_runs_out_of_memory_names_a_flag_to_try() -> None:
    case = Case(shape=MoeShape(), routing=RoutingRequest(), bench_pass=BenchPass.FORWARD_BACKWARD)
    environment = Environment(devices=(), software={}, host="here")

    def refused(*steps: str) -> Row:
        error = MemoryError("Out of memory allocating 153980098584 bytes.")
        for step in steps:
            error.add_note(step)
        return with_suggestion(row_of_error(case, environment, error), case)

    assert refused().labels == {"try": "--remat-mode expert_mlp"}
    assert refused(MAKING_INPUTS).labels == {"failed_while": MAKING_INPUTS}
