"""Whether the parts of a recipe fit together."""

from __future__ import annotations

from collections.abc import Mapping

from logbook_agent.model.values import canonical
from logbook_agent.sweeps.recipes.axes import CASES
from logbook_agent.sweeps.recipes.problem import RecipeProblem, check_known, suggestion, unknown
from logbook_agent.sweeps.recipes.recipe import Recipe
from logbook_agent.sweeps.recipes.template import key_places


def check_keys(recipe: Recipe) -> None:
    """Every key stands in the command, every placeholder has a value, controls and comparison name keys."""
    asked = key_places(recipe.command.words, recipe.env)
    owner = _owners(recipe)
    for key, place in owner.items():
        if key not in asked:
            raise RecipeProblem(
                f"the command does not use {key}, so it would change nothing",
                place=place,
                cause=f"the command takes: {', '.join(asked) or 'no key'}",
                hint=suggestion(key, asked) or f"add {{flags: [{key}]}} to the command, or remove {key}",
            )
    for key, place in asked.items():
        if key not in owner:
            raise RecipeProblem(
                f"the command asks for {key}, which has no value",
                place=place,
                cause=f"the recipe sets: {', '.join(owner) or 'nothing'}",
                hint=suggestion(key, owner) or f"give it one under fixed or axes: {key}: ...",
            )
    for i, control in enumerate(recipe.controls):
        check_known("key", control.values, owner, place=f"controls[{i}]")
    _check_compare(recipe, owner)


def _owners(recipe: Recipe) -> dict[str, str]:
    """Every config key with the place that sets it; an axis may change a fixed key, not that of another axis."""
    owner = {key: f"fixed.{key}" for key in recipe.fixed}
    by_axis: dict[str, str] = {}
    for axis in recipe.axes:
        place = axis.name if axis.name == CASES else f"axes.{axis.name}"
        for key in axis.keys:
            if key in by_axis:
                raise RecipeProblem(
                    f"{by_axis[key]} and {axis.name} both set {key}",
                    place=place,
                    cause="a case has one value of a key",
                    hint=f"leave {key} out of one of them",
                )
            by_axis[key] = axis.name
            owner[key] = place
    return owner


def _check_compare(recipe: Recipe, keys: Mapping[str, str]) -> None:
    compare = recipe.compare
    if compare is None:
        return
    if compare.axis not in keys:
        raise unknown("key", compare.axis, keys, place="compare.axis")
    values = [p.values[compare.axis] for a in recipe.axes for p in a.points if compare.axis in p.values]
    values += [c.values[compare.axis] for c in recipe.controls if compare.axis in c.values]
    if compare.axis in recipe.fixed and not any(compare.axis in a.keys for a in recipe.axes):
        values.append(recipe.fixed[compare.axis])
    spelt = list(dict.fromkeys(canonical(v) for v in values))
    if canonical(compare.base) not in spelt or len(spelt) < 2:
        raise RecipeProblem(
            f"{compare.axis}={canonical(compare.base)} has nothing to be compared with",
            place="compare.base",
            cause=f"{compare.axis} is {', '.join(spelt)} in the cases",
            hint="make base one of several values that an axis or a control sets",
        )
