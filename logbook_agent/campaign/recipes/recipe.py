"""What a recipe is: a question, a command template, and the cases to run it for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from logbook_agent.campaign.recipes.template import Template, Text
from logbook_agent.model.comparison import BUDGET_PAIRS
from logbook_agent.model.entry import PlannedCommand
from logbook_agent.model.header import Criterion, Metric
from logbook_agent.model.values import Scalar

# A plan with more is a slip: it is refused.
MOST_CASES = 10_000


class Order(StrEnum):
    """In which order the runs are made.

    `as-listed`: case by case, repeats together. `interleaved`: cases that are compared stand side by side, each repeat
    in an order of its own that is drawn by a seed, so that nothing the machine does meets one of them more often.
    `shuffled`: all runs mixed, by a seed.
    """

    AS_LISTED = "as-listed"
    INTERLEAVED = "interleaved"
    SHUFFLED = "shuffled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One place on an axis: the config it sets, and a name when it is a shape of several keys."""

    name: str | None = None
    values: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What is varied. `keys` are the config keys of all its points; each point has a value for each of them."""

    name: str
    keys: tuple[str, ...]
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A configuration that is run beside each case: the case with these values instead of its own."""

    label: str | None = None
    values: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """The key whose values are compared with each other, and the one that the others are against."""

    axis: str
    base: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run is expected to take, and where that number comes from."""

    seconds_per_run: float
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A recipe at one scale, with every value in place.

    name           as the file is called
    question       what it is to find out; `method`: how
    criteria       when the question is answered: prose, optionally a predicate
    constraints    what must hold wherever its results are compared, in words
    metrics        what is looked at, the first one decides which case is best
    scales         the names of the scales that change something
    after          recipes that are to be run before this one
    cost           of one run; None: unknown
    setup          commands before the first run, and `teardown` after the last, whatever happened
    command        argument vector with placeholders; with `shell` one text for /bin/sh
    fixed          config of every case, which axes, cases and controls may change
    axes           every combination of their points is a case; explicit cases are an axis called `cases`
    controls       run beside each case, once where cases share them
    compare        what the question compares
    implied        keys that may differ between compared cases because the axis implies them
    repeats        runs of each case, in `order`
    timeout_s      after which a run is ended; None: never
    env            variables of every run, which may hold placeholders
    confirm        how many pairs of the case that gains most and its base may follow a plan that explores; 0: none
    plots          what its entry shows, as `parse_plot` reads them
    """

    name: str
    question: str
    method: str | None = None
    criteria: tuple[Criterion, ...] = ()
    constraints: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    scales: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    cost: Cost | None = None
    setup: tuple[PlannedCommand, ...] = ()
    teardown: tuple[PlannedCommand, ...] = ()
    command: Template
    fixed: Mapping[str, Scalar] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()
    controls: tuple[Control, ...] = ()
    compare: Compare | None = None
    implied: tuple[str, ...] = ()
    repeats: int = 1
    order: Order = Order.AS_LISTED
    seed: int | None = None
    timeout_s: float | None = None
    env: Mapping[str, Text] = field(default_factory=dict)
    confirm: int = BUDGET_PAIRS
    plots: tuple[str, ...] = ()
