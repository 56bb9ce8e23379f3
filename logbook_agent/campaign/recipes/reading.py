"""The data of a recipe's file to a `Recipe`: decoded, its axes complete, and every key of use to the command."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from logbook_agent.campaign.recipes.axes import Axis
from logbook_agent.campaign.recipes.overrides import at_scale, pair_of, with_values
from logbook_agent.campaign.recipes.recipe import CASES, Recipe
from logbook_agent.findings.criteria.predicate import checked_predicate
from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import metric_named
from logbook_agent.model.values import canonical


def parse_recipe(
    data: Mapping[str, Any], *, scale: str | None = None, sets: Sequence[str] = (), inherited: Collection[str] = ()
) -> Recipe:
    """The recipe of a file's data, at a scale, with single values changed. Fixed config that it `inherited` is left out
    where the command does not use it. Raises CodecError."""
    recipe = decode(Recipe, data)
    if scale or sets:
        recipe = decode(Recipe, with_values(at_scale(data, scale), sets))
    asked = {*recipe.places(), *(pair_of(text)[0] for text in sets)}
    fixed = {key: value for key, value in recipe.fixed.items() if key in asked or key not in inherited}
    recipe = dataclasses.replace(
        recipe,
        fixed=fixed,
        axes={name: axis.filled(name, fixed, path) for name, axis, path in _axes(recipe)},
        cases=None,
        metrics=tuple(metric_named(metric.name, recipe.metrics) for metric in recipe.metrics),
    )
    _check_keys(recipe)
    _check_compare(recipe)
    _check_predicates(recipe)
    return recipe


def _axes(recipe: Recipe) -> list[tuple[str, Axis, tuple[str, ...]]]:
    """The axes with their paths; explicit cases are the first one."""
    cases = [(CASES, Axis(points=recipe.cases), (f".{CASES}",))] if recipe.cases is not None else []
    return [*cases, *((name, axis, (".axes", f".{name}")) for name, axis in recipe.axes.items())]


def _check_keys(recipe: Recipe) -> None:
    """Every key is set once and stands in the command, and every placeholder has a value."""
    asked = recipe.places()
    owners: dict[str, tuple[str, ...]] = {key: (".fixed", f".{key}") for key in recipe.fixed}
    for name, axis in recipe.axes.items():
        of_axis = (f".{name}",) if name == CASES else (".axes", f".{name}")
        for key in axis.keys:
            if key in owners and owners[key][0] != ".fixed":
                raise CodecError(f"{key} is set by another axis, too", *of_axis)
            owners[key] = of_axis
    for key, path in owners.items():
        if not key.isidentifier():
            raise CodecError(f"{key!r} is not a valid config key: write mlp_dim for --mlp-dim", *path)
        if key not in asked:
            raise CodecError(
                f"the command does not use {key}, so it would change nothing", *path, given=key, choices=asked
            )
    for key, path in asked.items():
        if key not in owners:
            raise CodecError(f"no value for {key}: set it under fixed or axes", *path, given=key, choices=owners)
    for number, control in enumerate(recipe.controls):
        for key in control.values:
            if key not in owners:
                raise CodecError("unknown key", ".controls", f"[{number}]", f".{key}", given=key, choices=owners)


def _check_compare(recipe: Recipe) -> None:
    if recipe.compare is None:
        return
    key, base = recipe.compare.axis, canonical(recipe.compare.base)
    points = [point.extra for axis in recipe.axes.values() for point in axis.points if key in point.extra]
    configs = [*(points or [recipe.fixed]), *(control.values for control in recipe.controls)]
    values = dict.fromkeys(canonical(config[key]) for config in configs if key in config)
    if not values:
        raise CodecError("unknown key", ".compare", ".axis", given=key, choices=recipe.places())
    if base not in values or len(values) < 2:
        raise CodecError(f"{key}={base} has nothing to be compared with", ".compare", ".base", choices=values)


def _check_predicates(recipe: Recipe) -> None:
    """A typo in a predicate is met when the recipe is read, not when its sweep is done."""
    for number, criterion in enumerate(recipe.criteria):
        try:
            if criterion.predicate is not None:
                checked_predicate(criterion.predicate)
        except UsageError as error:
            raise CodecError(error.message, ".criteria", f"[{number}]", ".predicate") from error
