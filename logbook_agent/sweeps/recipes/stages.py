"""A recipe of stages: a question that takes several recipes, one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.model.header import Criterion, Metric
from logbook_agent.model.values import Scalar
from logbook_agent.sweeps.recipes.axes import scalars
from logbook_agent.sweeps.recipes.overrides import at_scale, pair_of, unknown_key
from logbook_agent.sweeps.recipes.problem import RecipeProblem, unknown
from logbook_agent.sweeps.recipes.readers import description_of, list_of, mapping_of, only_keys, text_of
from logbook_agent.sweeps.recipes.template import written

TOP_KEYS = ["name", "question", "method", "criteria", "prerequisites", "constraints", "metrics", "stages", "scale"]
_STAGE_KEYS = ("recipe", "set", "baseline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A recipe of its own. `sets` are values changed in it, as `--set` takes them; `baseline` names the case that
    becomes the logbook's baseline once it is measured (None: no case does)."""

    recipe: str
    sets: tuple[str, ...] = ()
    baseline: Mapping[str, Scalar] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRecipe:
    """A question, and the recipes that answer it together. `scales` are those that change something here; any other
    scale is that of each stage alone."""

    name: str
    question: str
    method: str | None = None
    criteria: tuple[Criterion, ...] = ()
    prerequisites: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    stages: tuple[Stage, ...]
    scales: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settable:
    """What `--set` can change in the recipe of a stage; of these the `axes` take several values."""

    keys: tuple[str, ...]
    axes: tuple[str, ...]


def is_staged(data: Any) -> bool:
    """Whether a file's data are those of a recipe of stages."""
    return isinstance(data, dict) and "stages" in data


def parse_staged(data: Mapping[str, Any], *, scale: str | None = None) -> StagedRecipe:
    """The recipe of a file's data, at a scale. Raises RecipeProblem."""
    for key in data:
        if key not in TOP_KEYS:
            problem = unknown("key", key, TOP_KEYS, place=str(key))
            problem.cause = f"a recipe of stages has: {', '.join(TOP_KEYS)}; the rest belongs in the recipes it names"
            raise problem
    scales = mapping_of(data, "scale")
    data = at_scale(data, scale if scale in scales else None, TOP_KEYS)
    stages = tuple(_stage(item, f"stages[{i}]") for i, item in enumerate(list_of(data, "stages")))
    if not stages:
        raise RecipeProblem(
            "at least one stage is needed", place="stages", cause="stages is empty", hint="stages: [{recipe: int8-ab}]"
        )
    return StagedRecipe(**description_of(data), stages=stages, scales=tuple(scales))


def _stage(item: Any, place: str) -> Stage:
    """`int8-ab`, or `{recipe: int8-ab, set: {repeats: 6}, baseline: {quant_mode: none}}`."""
    parts = only_keys({"recipe": item} if isinstance(item, str) else item, _STAGE_KEYS, place)
    if not isinstance(parts.get("recipe"), str):
        raise RecipeProblem(
            f"{place} names no recipe", place=place, cause="a stage is a recipe", hint="- {recipe: int8-ab}"
        )
    baseline = scalars(parts["baseline"], f"{place}.baseline") if parts.get("baseline") is not None else None
    changed = _changed(parts, place)
    sets = tuple(f"{key}={_value(value, str(key), f'{place}.set.{key}')}" for key, value in changed.items())
    return Stage(recipe=text_of(parts, "recipe"), sets=sets, baseline=baseline)


def _changed(parts: Mapping[str, Any], place: str) -> dict[str, Any]:
    value = parts.get("set")
    if value is not None and not isinstance(value, dict):
        raise RecipeProblem(
            f"{place}.set must be a mapping of keys to values",
            place=f"{place}.set",
            cause=f"it is {value!r}",
            hint="set: {repeats: 6}",
        )
    return value or {}


def _value(value: Any, key: str, place: str) -> str:
    """The text of a value, or of several values of an axis, as `--set` takes it."""
    values = value if isinstance(value, list) else [value]
    if not values or not all(v is None or isinstance(v, str | int | float) for v in values):
        raise RecipeProblem(
            f"{place} is not a value",
            place=place,
            cause=f"it is {value!r}",
            hint=f"{key}: 2, or {key}: [2, 4] of an axis",
        )
    return ",".join("null" if v is None else written(v, key) for v in values)


def stage_sets(stage: Stage, typed: Sequence[str]) -> tuple[str, ...]:
    """The values of a stage with those that were typed, which win."""
    keys = {pair_of(text)[0] for text in typed}
    return (*(text for text in stage.sets if pair_of(text)[0] not in keys), *typed)


def shared_out(typed: Iterable[str], known: Sequence[Settable]) -> list[tuple[str, ...]]:
    """By stage the typed values that it takes: those whose key it has. Several values of a key that is an axis
    somewhere go to these stages alone: the others take one. Raises RecipeProblem for a key that no stage has."""
    found: list[list[str]] = [[] for _ in known]
    for text in typed:
        key, value = pair_of(text)
        takers = [keys.axes for keys in known] if "," in value else []
        if not any(key in keys for keys in takers):
            takers = [keys.keys for keys in known]
        if not any(key in keys for keys in takers):
            raise unknown_key(key, value, [key for keys in known for key in keys.keys])
        for place, keys in enumerate(takers):
            found[place] += [text] if key in keys else []
    return [tuple(texts) for texts in found]
