"""Measure the candidates of `bench-core tune`: each checked, then all timed in turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Int32

from bench_core.blocks.inputs import make_routing
from bench_core.harness.case import Case
from bench_core.harness.record import Environment, Row
from bench_core.harness.row import measured_row
from bench_core.harness.run import CASE_ERRORS, Extras, Progress, Ready, make_ready, row_of_error
from bench_core.routing.capacity import CapacityPolicy
from bench_core.studies.rounds import time_in_turn, with_others
from bench_core.timing.measure import Program
from bench_core.timing.staged import StagedProgram
from bench_core.tune.candidates import Candidate

# JAX leaves this function without types.
_ready: Callable[[Any], Any] = jax.block_until_ready


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A candidate and its row, which is a failed one where it could not be measured."""

    candidate: Candidate
    row: Row

    @property
    def time_s(self) -> tuple[float, ...]:
        """Seconds of its calls; none of a failed one."""
        metric = self.row.metrics.get("time_s")
        return () if metric is None else metric.samples


def expert_rows(case: Case) -> list[int]:
    """Rows of each expert of the device with the most rows, with the routing of the case's seed. About so many where
    tokens are spread over several devices, or sent in chunks: then those of one chunk.

    Raises:
        MemoryError, jax.errors.JaxRuntimeError: there is no memory for the routing.
    """
    shape, spread = case.shape, case.parallel.spread
    # Waited for: NumPy may end the process where it reads an array for which there was no memory.
    chosen = np.asarray(_ready(make_routing(case.seed, shape=shape, request=case.routing)).experts)
    # The program that XLA's partitioner cuts has the rows of all devices.
    shards = 1 if spread.auto else spread.dp
    return device_rows(case, _loads(chosen, shape.experts), shards * (case.parallel.chunks or 1), spread.ep)


def _loads(chosen: Int32[np.ndarray, "tokens topk"], experts: int) -> list[int]:
    loads: list[int] = np.bincount(chosen.reshape(-1), minlength=experts + 1)[:experts].tolist()
    return loads


def device_rows(case: Case, loads: Sequence[int], dp: int, ep: int) -> list[int]:
    """The same, of experts with these loads, in each of `dp` parts of the tokens."""
    shape = case.shape
    shares = [-(-load // dp) for load in loads]
    limit = case.capacity.per_expert(assignments=-(-shape.tokens // dp) * shape.topk, experts=shape.experts)
    if limit is not None:
        padded = case.capacity.policy is CapacityPolicy.PAD
        shares = [limit if padded else min(share, limit) for share in shares]
    own = shape.experts // ep
    return max((shares[at : at + own] for at in range(0, shape.experts, own)), key=sum)


def measure(
    case: Case, candidates: Sequence[Candidate], environment: Environment, *, seed: int, progress: Progress
) -> list[Tried]:
    """Check and compile every candidate, then time those that passed in `case.iters` rounds, each in an order of its
    own, drawn from `seed`. What a candidate can do wrong becomes its failed row."""
    ready: dict[Candidate, Ready] = {}
    failed: dict[Candidate, Row] = {}
    for index, candidate in enumerate(candidates, start=1):
        own = candidate.on(case)

        def report(text: str, at: str = f"[{index}/{len(candidates)}] {candidate}") -> None:
            progress(f"{at}: {text}")

        try:
            ready[candidate] = _sharing_arguments(make_ready(own, report, Extras()), ready)
        except CASE_ERRORS as error:
            failed[candidate] = row_of_error(own, environment, error)
    progress(f"timing {len(ready)} candidates in {case.iters} rounds")
    programs = {candidate: one.program for candidate, one in ready.items()}
    timed = time_in_turn(programs, warmup=case.warmup, rounds=case.iters, seed=seed, alike=True)
    failed |= {one: row_of_error(one.on(case), environment, error) for one, error in timed.failed.items()}
    said = f"in turn with {len(ready) - 1} other candidates, {case.iters} rounds, order of seed {seed}"

    def row(candidate: Candidate) -> Row:
        if candidate in failed:
            return failed[candidate]
        one = ready[candidate]
        made = measured_row(one.case, environment, one.measured(timed.samples[candidate]))
        made = with_others(made, [str(name) for name in ready])
        return replace(made, labels={**made.labels, "timed": said})

    return [Tried(candidate=candidate, row=row(candidate)) for candidate in candidates]


def _sharing_arguments(ready: Ready, others: dict[Candidate, Ready]) -> Ready:
    """With the arrays of the first candidate: they hold the same numbers."""
    if not others:
        return ready
    own, first = ready.program, next(iter(others.values())).program
    if isinstance(own, StagedProgram) and isinstance(first, StagedProgram):
        return replace(ready, program=replace(own, values=first.values))
    if isinstance(own, Program) and isinstance(first, Program):
        return replace(ready, program=replace(own, arguments=first.arguments))
    raise TypeError("candidates of one case are all staged, or none is")
