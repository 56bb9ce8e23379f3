"""From a recipe to its plan: cases with their controls, and the runs in order; and what they are
expected to take. Nothing is run.

A case is told by what varies: its key is `topk=2 quant_mode=int8` with canonical values, so 0.1 and 0.10 are one
case. Commands are put together one at a time, when they are asked for.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, structs

from logbook_agent.campaign.recipes.recipe import MOST_CASES, Recipe
from logbook_agent.model.codec import CodecError
from logbook_agent.model.comparison import FEWEST_PAIRS, Design, Part, drawn
from logbook_agent.model.stats import median
from logbook_agent.model.values import Scalar, canonical, spelt

# A plan asks for the same few values again and again (typed: 1 is not True).
_canonical = functools.lru_cache(maxsize=16_384, typed=True)(canonical)


class PlannedCase(Struct, frozen=True, kw_only=True):
    """One configuration. `values` is its whole config, `controls` the keys of the cases that are run beside it;
    `is_control`: it is here for another's sake alone. `label` names its shapes, else None. It is compared with the
    other cases of its `group`, as one `side`."""

    key: str
    label: str | None
    values: Mapping[str, Scalar]
    controls: tuple[str, ...] = ()
    is_control: bool = False
    side: str = ""
    group: str = ""


class PlannedRun(Struct, frozen=True, kw_only=True):
    """One run of a case: `repeat` counts from 1, `place` is where it stands in the plan, from 1."""

    place: int
    case: PlannedCase
    repeat: int
    config: Mapping[str, Scalar]
    argv: tuple[str, ...]
    env: Mapping[str, str]


class SweepPlan(Struct, frozen=True, kw_only=True, dict=True):
    """The runs of a recipe in order. Iterating puts each command together again. `varied` are the keys that an axis or
    a control sets. `seed` draws the order, where one is drawn. `file` has the recipe, which is the project's `own` or
    comes with the tool; it was asked for at a `scale`, with values `sets`."""

    recipe: Recipe
    varied: tuple[str, ...]
    cases: tuple[PlannedCase, ...]
    seed: int = 0
    file: str = ""
    own: bool = False
    scale: str | None = None
    sets: tuple[str, ...] = ()

    @property
    def is_drawn(self) -> bool:
        """Whether chance orders the runs."""
        order = self.recipe.order
        return order == "shuffled" or (order == "interleaved" and self.recipe.repeats > 1)

    @cached_property
    def is_comparison(self) -> bool:
        """Whether the runs answer what the recipe compares: in pairs that chance orders, enough to settle a question,
        with one case for each value. A plan with fewer explores."""
        parts, base = {(case.side, case.group) for case in self.cases}, self.values[0]
        is_whole = self.recipe.compare is not None and len(parts) == len(self.cases)
        has_base = any(side == base for side, _ in parts)
        return self.is_drawn and self.recipe.repeats >= FEWEST_PAIRS and is_whole and has_base

    @property
    def confirm(self) -> int:
        """How many pairs of the best case and its base may follow; none where the plan is the comparison."""
        return 0 if self.is_comparison else self.recipe.confirm

    @property
    def values(self) -> tuple[str, ...]:
        """The sides of the comparison, the base first."""
        compare = self.recipe.compare
        base = canonical(compare.base) if compare is not None else ""
        return tuple(dict.fromkeys((base, *(case.side for case in self.cases))))

    @cached_property
    def groups(self) -> list[list[PlannedCase]]:
        """The cases that are compared with each other."""
        found: dict[str, list[PlannedCase]] = {}
        for case in self.cases:
            found.setdefault(case.group, []).append(case)
        return list(found.values())

    def part(self, case: PlannedCase, repeat: int) -> Part | None:
        """The part of a run in the comparison; None in a plan that explores."""
        group = case.group if len(self.groups) > 1 else ""
        return Part(pair=repeat, side=case.side, case=group) if self.is_comparison else None

    def __len__(self) -> int:
        return len(self.cases) * self.recipe.repeats

    def __iter__(self) -> Iterator[PlannedRun]:
        for place, (case, repeat) in enumerate(self._order, start=1):
            yield self.run(case, repeat=repeat, place=place)

    def ends(self, count: int) -> tuple[list[PlannedRun], list[PlannedRun]]:
        """The first and the last `count` runs; where these are all there are, the second list is empty."""
        runs = [*self]
        return (runs, []) if len(runs) <= 2 * count else (runs[:count], runs[-count:])

    def run(self, case: PlannedCase, *, repeat: int, place: int) -> PlannedRun:
        config, argv = case.values, self.recipe.argv(case.values)
        env = {name: word.fill(config) for name, word in self.recipe.env.items()}
        plain = {key: float(value) if isinstance(value, float) else value for key, value in config.items()}
        return PlannedRun(place=place, case=case, repeat=repeat, config=plain, argv=argv, env=env)

    @cached_property
    def shaped(self) -> set[str]:
        """The keys that shapes with a name set, and no control changes."""
        axes = [axis for axis in self.recipe.axes.values() if any(point.name is not None for point in axis.points)]
        named = {key for axis in axes for key in axis.keys}
        return named - {key for control in self.recipe.controls for key in control.values}

    @cached_property
    def by_key(self) -> dict[str, PlannedCase]:
        return {case.key: case for case in self.cases}

    @cached_property
    def digest(self) -> str:
        """What two plans share that run the same: every command with its variables, and how their order is drawn."""
        import hashlib

        recipe = self.recipe
        stated = (recipe.shell, recipe.timeout_s, recipe.order, recipe.seed)
        later = [part for part in (recipe.read, recipe.stall_s) if part is not None]
        found = hashlib.sha256(repr((*stated, *later)).encode())
        for case in self.cases:
            for repeat in range(1, recipe.repeats + 1):
                run = self.run(case, repeat=repeat, place=0)
                found.update(repr((run.argv, sorted(run.env.items()), repeat, case.label)).encode())
        return found.hexdigest()[:32]

    @cached_property
    def _order(self) -> Sequence[tuple[PlannedCase, int]]:
        """Case and number of the repeat, for every run."""
        repeats = range(1, self.recipe.repeats + 1)
        if self.recipe.order == "interleaved":
            return [(case, r) for group in self.groups for r in repeats for case in self._in_pair(group, r)]
        listed = [(case, r) for case in self.cases for r in repeats]
        if self.recipe.order == "as-listed":
            return listed
        # Depends on the seed and the cases alone, whatever Python it is.
        return sorted(listed, key=lambda place: drawn(f"{self.seed} {place[1]} {place[0].key}"))

    def _in_pair(self, group: Sequence[PlannedCase], repeat: int) -> list[PlannedCase]:
        """The cases of a group in the order of a pair."""
        design = Design(seed=self.seed, budget_pairs=self.recipe.repeats, fixed=True)
        return [group[at] for at in design.order_of(repeat, len(group), group[0].key)]


def expand(recipe: Recipe) -> SweepPlan:
    """The plan of a recipe. CodecError when there are too many cases, two that are the same, or one without a value
    that a word of its command needs."""
    count = math.prod(len(axis.points) for axis in recipe.axes.values())
    if count > MOST_CASES:
        sizes = " x ".join(f"{name} {len(axis.points):,}" for name, axis in recipe.axes.items())
        raise CodecError(f"{sizes} are {count:,} cases, over the limit of {MOST_CASES:,}", ".axes")
    parts = (*(axis.keys for axis in recipe.axes.values()), *(control.values for control in recipe.controls))
    varied = tuple(dict.fromkeys(key for keys in parts for key in keys))
    found: dict[str, PlannedCase] = {}
    for number, points in enumerate(itertools.product(*(axis.points for axis in recipe.axes.values())), start=1):
        values = {**recipe.fixed, **{key: value for point in points for key, value in point.extra.items()}}
        label = " ".join(point.name for point in points if point.name is not None) or None
        key = case_key(values, varied)
        if key in found:
            raise CodecError(f"cases {[*found].index(key) + 1} and {number} are the same: {key}", ".axes")
        found[key] = PlannedCase(key=key, label=label, values=values)
    cases = tuple(_compared(recipe, varied, case) for case in _with_controls(recipe, varied, found).values())
    plan = SweepPlan(recipe=recipe, varied=varied, cases=cases, seed=recipe.seed or 0)
    _check_values(plan)
    return plan


def _check_values(plan: SweepPlan) -> None:
    needed = {key for word in (*plan.recipe.command, *plan.recipe.env.values()) for key in word.placeholders}
    for case in plan.cases if needed else ():
        for key in needed:
            if case.values[key] is None:
                text = f"{key} is null, and only {{flags: [{key}]}} can leave out a key without a value"
                raise CodecError(text, *plan.recipe.places()[key])


def case_key(config: Mapping[str, Scalar], varied: Iterable[str]) -> str:
    """`topk=2 quant_mode=int8`; `one case` where nothing varies."""
    return " ".join(f"{key}={_canonical(config[key])}" for key in varied) or "one case"


def _with_controls(
    recipe: Recipe, varied: Sequence[str], found: Mapping[str, PlannedCase]
) -> Mapping[str, PlannedCase]:
    """Every case after its controls, each of which is there once."""
    cases: dict[str, PlannedCase] = {}
    for case in found.values():
        controls = []
        for control in recipe.controls:
            values = {**case.values, **control.values}
            label = " ".join(filter(None, (case.label, control.label))) or None
            made = PlannedCase(key=case_key(values, varied), label=label, values=values, is_control=True)
            controls += [made] if made.key != case.key else []
        cases |= {made.key: made for made in controls if made.key not in found and made.key not in cases}
        cases[case.key] = structs.replace(case, controls=tuple(made.key for made in controls))
    return cases


def _compared(recipe: Recipe, varied: Sequence[str], case: PlannedCase) -> PlannedCase:
    """The case with the value of the compared key, and with what it shares with those that it is compared with: every
    key but that one and those that it implies; without one, its control; without those, all are compared."""
    compare = recipe.compare
    if compare is None:
        return structs.replace(case, group=(*case.controls, case.key)[0] if recipe.controls else "")
    shared = [key for key in varied if key not in (compare.axis, *recipe.implied)]
    return structs.replace(case, side=canonical(case.values.get(compare.axis)), group=case_key(case.values, shared))


def describe(plan: SweepPlan, case: PlannedCase) -> str:
    """A case for people: the names of its shapes, and the varied keys that those do not set."""
    pairs = [f"{key}={spelt(case.values[key])}" for key in plan.varied if key not in plan.shaped]
    return " ".join([*([case.label] if case.label else []), *pairs]) or "one case"


def describe_run(plan: SweepPlan, run: PlannedRun) -> str:
    """A run for people: its case, and which one of several repeats it is."""
    return describe(plan, run.case) + (f" repeat {run.repeat}" if plan.recipe.repeats > 1 else "")


class Estimate(Struct, frozen=True, kw_only=True):
    """Expected seconds; None: nobody knows. `basis` says where the number comes from."""

    runs: int
    seconds_per_run: float | None
    basis: str

    @property
    def seconds(self) -> float | None:
        return None if self.seconds_per_run is None else self.seconds_per_run * self.runs


def estimate(plan: SweepPlan, measured_s: Sequence[float] = ()) -> Estimate:
    """From the durations of earlier runs of this plan where there are any, else from what the recipe states."""
    recipe = plan.recipe
    runs = len(plan) + 2 * plan.confirm
    seconds, basis = None, "the recipe does not say how long a run takes"
    if measured_s:
        seconds, basis = median(measured_s), f"median of {len(measured_s)} earlier runs"
    elif recipe.cost is not None:
        seconds = recipe.cost.seconds_per_run
        basis = "the recipe" + (f": {recipe.cost.source}" if recipe.cost.source else "")
    return Estimate(runs=runs, seconds_per_run=seconds, basis=basis)
