"""A recipe of stages: a question that takes several recipes, one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.campaign.recipes.overrides import at_scale, pair_of, unknown_key
from logbook_agent.campaign.recipes.parse import description_of
from logbook_agent.campaign.recipes.placed import Placed
from logbook_agent.campaign.recipes.problem import RecipeProblem, unknown
from logbook_agent.campaign.recipes.recipe import Described
from logbook_agent.campaign.recipes.template import written
from logbook_agent.model.values import Scalar

TOP_KEYS = ["name", "question", "method", "criteria", "prerequisites", "constraints", "metrics", "stages", "scale"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A recipe of its own. `sets` are values changed in it, as `--set` takes them; `baseline` names the case that
    becomes the logbook's baseline once it is measured (None: no case does)."""

    recipe: str
    sets: tuple[str, ...] = ()
    baseline: Mapping[str, Scalar] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRecipe(Described):
    """A question, and the recipes that answer it together. `scales` are those that change something here; any other
    scale is that of each stage alone."""

    stages: tuple[Stage, ...]


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
    scales = Placed(data).get("scale").mapping()
    top = Placed(at_scale(data, scale if scale in scales else None, TOP_KEYS))
    stages = tuple(map(_stage, top.get("stages").list()))
    if not stages:
        raise RecipeProblem(
            "at least one stage is needed", place="stages", cause="stages is empty", hint="stages: [{recipe: int8-ab}]"
        )
    return StagedRecipe(**description_of(top), stages=stages, scales=tuple(scales))


def _stage(part: Placed) -> Stage:
    """`int8-ab`, or `{recipe: int8-ab, set: {repeats: 6}, baseline: {quant_mode: none}}`."""
    if isinstance(part.value, str):
        part = Placed({"recipe": part.value}, part.place)
    recipe = part.only(("recipe", "set", "baseline")).get("recipe")
    if not isinstance(recipe.value, str):
        raise RecipeProblem(
            f"{part.place} names no recipe", place=part.place, cause="a stage is a recipe", hint="- {recipe: int8-ab}"
        )
    baseline = part.get("baseline").given(Placed.scalars)
    sets = tuple(f"{key}={_value(value)}" for key, value in part.get("set").items("set: {repeats: 6}"))
    return Stage(recipe=recipe.text(), sets=sets, baseline=baseline)


def _value(part: Placed) -> str:
    """The text of a value, or of several values of an axis, as `--set` takes it."""
    values = part.value if isinstance(part.value, list) else [part.value]
    if not values or not all(v is None or isinstance(v, str | int | float) for v in values):
        raise RecipeProblem(
            f"{part.place} is not a value",
            place=part.place,
            cause=f"it is {part.value!r}",
            hint=f"{part.name}: 2, or {part.name}: [2, 4] of an axis",
        )
    return ",".join("null" if v is None else written(v, part.name) for v in values)


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
