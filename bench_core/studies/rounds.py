"""Time several compiled programs in turn, so that a drift of the machine meets all of them alike."""

import hashlib
import random
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from bench_core.harness.record import Row
from bench_core.harness.run import CASE_ERRORS
from bench_core.timing.measure import Clock, OutputMemory, Sampler, Samples, Startable

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds(Generic[Name]):
    """`samples`: of every program that was called in all rounds. `failed`: why another one was not."""

    samples: Mapping[Name, Samples]
    failed: Mapping[Name, Exception]


IN_TURN = "in_turn"
"""The key of a config that says with which programs a case was called in turn, its own among them. What one leaves in
caches and memory the next one meets, so rows that had other programs beside them are not alike. `alone`: none."""
_MOST_CHARACTERS = 120


def with_others(row: Row, names: Sequence[str]) -> Row:
    """The row of one of these programs, which were called in turn."""
    return replace(row, config={**row.config, IN_TURN: _named(names)})


def _named(names: Sequence[str]) -> str:
    text = " + ".join(names) if len(names) > 1 else "alone"
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{len(names)} programs, {hashlib.sha256(text.encode()).hexdigest()[:8]}"


def orders(count: int, *, rounds: int, seed: int | None) -> list[list[int]]:
    """An order of the programs for each round, drawn from the seed; None: always their own."""
    if seed is None:
        return [list(range(count)) for _ in range(rounds)]
    drawn = random.Random(seed)  # noqa: S311  an order, no secret
    return [drawn.sample(range(count), count) for _ in range(rounds)]


def time_in_turn(
    programs: Mapping[Name, Startable],
    *,
    warmup: int,
    rounds: int,
    seed: int | None = None,
    alike: bool = False,
    clock: Clock = time.perf_counter,
) -> Rounds[Name]:
    """Call every program once in each round, after `warmup` calls of each.

    What a program may leave unwritten is found as in `timing.measure`.

    Args:
        programs: by name.
        warmup: rounds before the timed ones, in the order of `programs`.
        rounds: timed ones.
        seed: see `orders`.
        alike: the outputs of all have the same shapes and places, so that all share the memory of one set.
        clock: gives seconds.
    """
    names = list(programs)
    memory = OutputMemory() if alike else None
    samplers = {name: Sampler(program, clock, memory) for name, program in programs.items()}
    failed: dict[Name, Exception] = {}
    turns = [*orders(len(names), rounds=warmup, seed=None), *orders(len(names), rounds=rounds, seed=seed)]
    for name in (names[index] for order in turns for index in order):
        if name in failed:
            continue
        try:
            samplers[name].take()
        except CASE_ERRORS as error:
            failed[name] = error
            del samplers[name]
    samples = {name: replace(one.samples(warmup=warmup), outputs=None) for name, one in samplers.items()}
    return Rounds(samples=samples, failed=failed)
