"""The data of a recipe to a `Recipe`: what it extends, its scales and values that were set put together, then decoded,
its axes complete, and every key of use to the command."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import structs

from logbook_agent.campaign.recipes.recipe import CASES, Axis, Point, Recipe, Value
from logbook_agent.entries.stated import parse_metric
from logbook_agent.findings.criteria.predicate import checked_predicate
from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import metric_named
from logbook_agent.model.values import Scalar, Spelt, canonical, parse_pair, parse_scalar
from logbook_agent.text.commands.flags import parse_list

# Parts that are put together by key; of the others the later one holds.
_BY_KEY = ("fixed", "axes", "env", "scale")
# Parts of the recipe itself that can be set like a key, unless a key has that name.
SETTABLE = ("repeats", "order", "confirm", "timeout_s", "stall_s", "read")


def merged(base: Any, more: Any) -> Any:
    """`more` over `base`, as an extension lies over what it extends and a scale over a recipe."""
    if not (isinstance(base, dict) and isinstance(more, dict)):
        return more
    found = {**base, **more}
    for key in _BY_KEY:
        old, new = base.get(key), more.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            both = {name: merged(old[name], new[name]) for name in old if name in new} if key == "scale" else {}
            found[key] = {**old, **new, **both}
    return found


def scales_asked(data: Mapping[str, Any], scale: str | None) -> list[str]:
    """The scales that `tiny,ep` asks for, in order: `tiny`, `ep`, and after them what is stated for both together."""
    names = dict.fromkeys(scale.split(",")) if scale else {}
    return [*names, *(name for name in _scales(data) if "," in name and {*name.split(",")} <= {*names})]


def _scales(data: Mapping[str, Any]) -> dict[str, Any]:
    """What is stated for each scale, as far as it can be read."""
    stated = data.get("scale")
    return {name: part for name, part in stated.items() if isinstance(name, str)} if isinstance(stated, dict) else {}


def at_scale(data: Mapping[str, Any], scale: str | None) -> Any:
    """The data with what the scale says in place. Raises CodecError for one that the recipe does not have."""
    scales, found = _scales(data), data
    for name in scales_asked(data, scale):
        if name not in scales:
            raise CodecError(f"unknown scale {name!r}", ".scale", given=name, choices=scales)
        found = merged(found, scales[name])
    return found


def config_keys(data: Mapping[str, Any]) -> set[str]:
    """The keys that a file states under `fixed`, at any scale."""
    parts = [data, *_scales(data).values()]
    found = [part.get("fixed") for part in parts if isinstance(part, dict)]
    return {key for fixed in found if isinstance(fixed, dict) for key in fixed}


# -- values that were set ----------------------------------------------------------------------------


def pair_of(text: str) -> tuple[str, str]:
    """Key and value of a `--set K=V`. Raises UsageError."""
    return parse_pair(text, "--set")


def with_values(recipe: Recipe, pairs: Iterable[tuple[str, str]]) -> Recipe:
    """The recipe with each of these values: `topk=2,4` makes an axis of a key, or names points of one (in quotation
    marks those values that have a comma). Raises CodecError for a key that the recipe does not have, and for a value of
    another kind than it had."""
    for key, text in pairs:
        try:
            recipe = _with_value(recipe, key, text)
        except ValueError as error:
            given, choices = getattr(error, "given", ""), getattr(error, "choices", ())
            raise CodecError(f"--set {key}={text}: {error}", given=given, choices=choices) from None
    return recipe


def _with_value(recipe: Recipe, key: str, text: str) -> Recipe:
    axes, fixed, words = dict(recipe.axes), dict(recipe.fixed), parse_list(text)
    inside = [name for name, axis in axes.items() if key in axis.keys]
    if key in axes:
        axes[key] = _chosen(axes[key], words)
    elif key in fixed and len(words) > 1 and not inside:
        axes[key] = Axis(points=tuple(Point(extra={"": _value(word, fixed[key])}) for word in words))
    elif key in fixed or inside:
        fixed |= {key: _value(text, fixed[key])} if key in fixed else {}
        for name in inside:
            of_key = ({key: _value(text, p.extra[key])} if key in p.extra else {} for p in axes[name].points)
            points = zip(axes[name].points, of_key, strict=True)
            axes[name] = Axis(points=tuple(structs.replace(p, extra={**p.extra, **own}) for p, own in points))
    else:
        raise CodecError("unknown key", given=key, choices=[*_keys(recipe), *SETTABLE])
    return structs.replace(recipe, axes=axes, fixed=fixed)


def _keys(recipe: Recipe) -> dict[str, None]:
    """What can be set: the axes, and the keys of all cases."""
    inside = (key for axis in recipe.axes.values() for key in axis.keys if key)
    return dict.fromkeys([*recipe.axes, *recipe.fixed, *inside])


def _chosen(axis: Axis, words: Sequence[str]) -> Axis:
    """Other values for an axis, or some of its named points."""
    named = {point.name: point for point in axis.points if point.name is not None}
    for word in words if named else ():
        if word not in named:
            raise CodecError(f"unknown point {word!r}", given=word, choices=named)
    old = axis.points[0].extra.get("") if axis.points else None
    return Axis(points=tuple(named.get(word) or Point(extra={"": _value(word, old)}) for word in words))


def _value(text: str, old: Any) -> Scalar:
    """The value that `text` is, of the kind that the key had; a key that was null takes any."""
    if isinstance(old, str):
        return text
    value = parse_scalar(text)
    is_switch = isinstance(old, bool)
    if old is not None and (isinstance(value, str | None) or isinstance(value, bool) is not is_switch):
        raise CodecError(f"expected {'true or false' if is_switch else 'a number'}")
    return Spelt(text) if isinstance(value, float) else value


# -- decoded and checked -------------------------------------------------------------------------------


def parse_recipe(
    data: Mapping[str, Any], *, scale: str | None = None, sets: Sequence[str] = (), inherited: Collection[str] = ()
) -> Recipe:
    """The recipe of a file's data, at a scale, with single values changed. Fixed config that it `inherited` is left out
    where the command does not use it. Raises CodecError."""
    recipe = _read(data)
    if scale or sets:
        scaled, pairs = at_scale(data, scale), [pair_of(text) for text in sets]
        keys = _keys(_read(scaled))
        parts = {key: _value(text, None) for key, text in pairs if key in SETTABLE and key not in keys}
        recipe = with_values(_read({**scaled, **parts}), [pair for pair in pairs if pair[0] not in parts])
    asked = {*recipe.places(), *(pair_of(text)[0] for text in sets)}
    fixed = {key: value for key, value in recipe.fixed.items() if key in asked or key not in inherited}
    recipe = structs.replace(
        recipe,
        fixed=fixed,
        axes={name: _filled(axis, name, fixed) for name, axis in recipe.axes.items()},
        metrics=tuple(
            parse_metric(m.name) if ":" in m.name else metric_named(m.name, recipe.metrics) for m in recipe.metrics
        ),
    )
    _check_keys(recipe)
    _check_compare(recipe)
    _check_predicates(recipe)
    return recipe


def _read(data: object) -> Recipe:
    """The recipe of this data; explicit cases are the first axis."""
    recipe = decode(Recipe, data)
    axes = recipe.axes if recipe.cases is None else {CASES: Axis(points=recipe.cases), **recipe.axes}
    return structs.replace(recipe, axes=axes, cases=None)


def _path(axis: str) -> tuple[str, ...]:
    return (f".{CASES}",) if axis == CASES else (".axes", f".{axis}")


def _filled(axis: Axis, name: str, fixed: Mapping[str, Value]) -> Axis:
    """The axis with a value for every key in every point: its own, else the fixed one; a plain value is one of the key
    that the axis is named by. Raises CodecError."""
    if not axis.points:
        raise CodecError("no values, so there is no case to run", *_path(name))
    points = []
    keys = dict.fromkeys(key or name for key in axis.keys)
    for number, point in enumerate(axis.points):
        own = {key or name: value for key, value in point.extra.items()}
        lacking = [key for key in keys if key not in own and key not in fixed]
        if lacking:
            raise CodecError(f"no value for {lacking[0]}: add it here, or under fixed", *_path(name), f"[{number}]")
        values = {key: own[key] if key in own else fixed[key] for key in keys}
        points.append(structs.replace(point, extra=values))
    return Axis(points=tuple(points))


def _check_keys(recipe: Recipe) -> None:
    """Every key is set once and stands in the command, and every placeholder has a value."""
    asked = recipe.places()
    owners: dict[str, tuple[str, ...]] = {key: (".fixed", f".{key}") for key in recipe.fixed}
    for name, axis in recipe.axes.items():
        for key in axis.keys:
            if key in owners and owners[key][0] != ".fixed":
                raise CodecError(f"{key} is set by another axis, too", *_path(name))
            owners[key] = _path(name)
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
