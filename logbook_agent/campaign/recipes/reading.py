"""The data of a recipe's file to a `Recipe`: decoded, its axes complete, and every key of use to the command."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from logbook_agent.campaign.recipes.axes import Axis, Value
from logbook_agent.campaign.recipes.overrides import at_scale, pair_of, with_values
from logbook_agent.campaign.recipes.problems import RecipeProblem, misfit, suggestion, unknown
from logbook_agent.campaign.recipes.recipe import CASES, Recipe
from logbook_agent.findings.criteria.predicate import checked_predicate
from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Criterion, metric_named
from logbook_agent.model.values import canonical


def parse_recipe(
    data: object, *, scale: str | None = None, sets: Sequence[str] = (), inherited: Collection[str] = ()
) -> Recipe:
    """The recipe of a file's data, at a scale, with single values changed. Raises RecipeProblem. Fixed config that it
    `inherited` is left out where the command does not use it."""
    try:
        recipe = decode(Recipe, scaled := at_scale(data, scale))
        if sets:
            recipe = decode(Recipe, with_values(scaled, sets))
        asked = {*recipe.places(), *(pair_of(text)[0] for text in sets)}
        fixed = {key: value for key, value in recipe.fixed.items() if key in asked or key not in inherited}
        axes = {name: _filled(name, axis, place, fixed) for name, axis, place in _axes(recipe)}
    except CodecError as error:
        raise misfit(error) from None
    metrics = tuple(metric_named(metric.name, recipe.metrics) for metric in recipe.metrics)
    recipe = dataclasses.replace(recipe, fixed=fixed, axes=axes, cases=None, metrics=metrics)
    for number, criterion in enumerate(recipe.criteria):
        _check_predicate(criterion, f"criteria[{number}].predicate")
    _check_keys(recipe)
    _check_compare(recipe)
    return recipe


def _axes(recipe: Recipe) -> list[tuple[str, Axis, str]]:
    """The axes with their places; explicit cases are the first one."""
    cases = [(CASES, Axis(points=recipe.cases), CASES)] if recipe.cases is not None else []
    return [*cases, *((name, axis, f"axes.{name}") for name, axis in recipe.axes.items())]


def _filled(name: str, axis: Axis, place: str, fixed: Mapping[str, Value]) -> Axis:
    try:
        return axis.filled(name, fixed)
    except CodecError as error:
        raise error.under(f".{place}") from None


def _check_predicate(criterion: Criterion, place: str) -> None:
    """A typo in a predicate is met when the recipe is read, not when its sweep is done."""
    if criterion.predicate is not None:
        try:
            checked_predicate(criterion.predicate)
        except UsageError as error:
            raise RecipeProblem(error.message, place=place, cause=error.cause, hint=error.hint) from error


def _check_keys(recipe: Recipe) -> None:
    """Every key stands in the command, and every placeholder has a value."""
    asked, owners = recipe.places(), _owners(recipe)
    for key, place in owners.items():
        if not key.isidentifier():
            raise RecipeProblem(
                f"{key!r} is not a valid config key",
                place=place,
                cause="a key is letters, digits and _, so that {key} can stand for it",
                hint="write flags with underscores: mlp_dim for --mlp-dim",
            )
        if key not in asked:
            raise RecipeProblem(
                f"the command does not use {key}, so it would change nothing",
                place=place,
                cause=f"the command takes: {', '.join(asked) or 'no key'}",
                hint=suggestion(key, asked) or f"add {{flags: [{key}]}} to the command, or remove {key}",
            )
    for key, place in asked.items():
        if key not in owners:
            raise RecipeProblem(
                f"the command asks for {key}, which has no value",
                place=place,
                cause=f"the recipe sets: {', '.join(owners) or 'nothing'}",
                hint=suggestion(key, owners) or f"give it one under fixed or axes: {key}: ...",
            )
    for number, control in enumerate(recipe.controls):
        for key in control.values:
            if key not in owners:
                raise unknown("key", key, owners, place=f"controls[{number}].{key}")


def _owners(recipe: Recipe) -> dict[str, str]:
    """Every config key with the place that sets it; an axis may change a fixed key, not that of another axis."""
    owners = {key: f"fixed.{key}" for key in recipe.fixed}
    by_axis: dict[str, str] = {}
    for name, axis in recipe.axes.items():
        place = name if name == CASES else f"axes.{name}"
        for key in axis.keys:
            if key in by_axis:
                raise RecipeProblem(
                    f"{by_axis[key]} and {name} both set {key}",
                    place=place,
                    cause="a case has one value of a key",
                    hint=f"leave {key} out of one of them",
                )
            by_axis[key], owners[key] = name, place
    return owners


def _check_compare(recipe: Recipe) -> None:
    compare = recipe.compare
    if compare is None:
        return
    key, base = compare.axis, canonical(compare.base)
    points = [point.extra for axis in recipe.axes.values() for point in axis.points if key in point.extra]
    configs = points or [recipe.fixed]
    spelt = dict.fromkeys(
        canonical(config[key]) for config in (*configs, *(c.values for c in recipe.controls)) if key in config
    )
    if not spelt:
        raise unknown("key", key, _owners(recipe), place="compare.axis")
    if base not in spelt or len(spelt) < 2:
        raise RecipeProblem(
            f"{key}={base} has nothing to be compared with",
            place="compare.base",
            cause=f"{key} is {', '.join(spelt)} in the cases",
            hint="make base one of several values that an axis or a control sets",
        )
