"""The data of a recipe put together: what it extends, its scales, and values that were set; plain data in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logbook_agent.campaign.recipes.problems import RecipeProblem, suggestion, unknown
from logbook_agent.model.codec import CodecError
from logbook_agent.model.values import Scalar, Spelt, is_number, parse_pair, parse_scalar, spelt
from logbook_agent.text.lists import parse_list

# Parts that are put together by key; of the others the later one holds.
_BY_KEY = ("fixed", "axes", "env", "scale")
# What a scale does not change: what the recipe is.
_IDENTITY = ("name", "extends", "question", "method", "scale")
# Parts of the recipe itself that can be set like a key, unless a key has that name; each with such a value.
SETTABLE: Mapping[str, Scalar] = {
    "repeats": 1,
    "order": "interleaved",
    "confirm": 20,
    "timeout_s": 60.0,
    "stall_s": 60.0,
    "read": "hyperfine",
}


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
    return [*names, *(name for name in data.get("scale") or () if "," in str(name) and {*name.split(",")} <= {*names})]


def at_scale(data: Any, scale: str | None) -> Any:
    """A recipe's data with what the scale says in place, and without keys that have no value."""
    if not isinstance(data, dict):
        return data
    found = data = {key: value for key, value in data.items() if value is not None}
    scales = data.get("scale", {})
    if not isinstance(scales, dict) or not all(isinstance(part, dict) for part in scales.values()):
        raise CodecError("expected a mapping of names to keys, such as {tiny: {fixed: {tokens: 64}}}", ".scale")
    for name, part in scales.items():
        for key in part:
            if key in _IDENTITY:
                raise CodecError("a scale cannot change it", ".scale", f".{name}", f".{key}")
    for name in scales_asked(data, scale):
        if name not in scales:
            raise unknown("scale", name, scales, place="scale")
        found = merged(found, scales[name])
    return found


def config_keys(data: Mapping[str, Any]) -> set[str]:
    """The keys that a file states under `fixed`, at any scale."""
    scales = data.get("scale")
    parts = [data, *(scales.values() if isinstance(scales, dict) else ())]
    found = [part.get("fixed") for part in parts if isinstance(part, dict)]
    return {key for fixed in found if isinstance(fixed, dict) for key in fixed}


# -- values that were set ----------------------------------------------------------------------------


def with_values(data: Any, sets: Sequence[str]) -> Any:
    """The data with every `K=V` in place. An axis takes several values, `topk=2,4` (in quotation marks those that have
    a comma), or names of its points. RecipeProblem for a key that the recipe does not have, or a value of another type
    than it had."""
    for text in sets:
        key, value = pair_of(text)
        data = _with_value(data, key, value)
    return data


def pair_of(text: str) -> tuple[str, str]:
    """Key and value of a `--set K=V`. Raises UsageError."""
    return parse_pair(text, "--set")


def _with_value(data: dict[str, Any], key: str, text: str) -> dict[str, Any]:
    axes, fixed, cases = data.get("axes", {}), data.get("fixed", {}), data.get("cases", [])
    if key in axes:
        return {**data, "axes": {**axes, key: _axis(key, axes[key], text)}}
    inside = [name for name, axis in axes.items() if key in _point_keys(axis)]
    if key not in (*fixed, *_point_keys(cases)) and not inside:
        if key in SETTABLE:
            return {**data, key: _typed(key, text, SETTABLE[key])}
        raise _unknown_key(key, text, [*axes, *fixed, *map(str, _point_keys([*axes.values(), cases])), *SETTABLE])
    if key in fixed:
        data = {**data, "fixed": {**fixed, key: _typed(key, text, fixed[key])}}
    if inside:
        data = {**data, "axes": {**axes, **{name: _in_points(axes[name], key, text) for name in inside}}}
    return {**data, "cases": _in_points(cases, key, text)} if cases else data


def _unknown_key(key: str, text: str, names: Sequence[str]) -> RecipeProblem:
    found, near = unknown("key", key, names), suggestion(key, names)
    found.hint = f"{near[:-1]}={text}?".replace("mean ", "mean --set ") if near else found.hint
    return found


def _point_keys(axis: Any) -> list[str]:
    """The config keys inside an axis of shapes, or inside several."""
    points = axis if isinstance(axis, list) else []
    return [
        key for point in points for key in (point if isinstance(point, dict) else _point_keys(point)) if key != "name"
    ]


def _in_points(axis: list[Any], key: str, text: str) -> list[Any]:
    """The axis with another value of a key inside."""
    return [{**p, key: _typed(key, text, p[key])} if isinstance(p, dict) and key in p else p for p in axis]


def _axis(key: str, axis: Any, text: str) -> list[Any]:
    """Other values for an axis: scalars of the type it had, or some of its named points."""
    try:
        words = parse_list(text)
    except ValueError as error:
        raise RecipeProblem(
            f"--set {key}={text} cannot be read",
            cause=str(error),
            hint=f"""quote each value that has a comma: --set '{key}="16,4","8,4"'""",
        ) from None
    values = axis if isinstance(axis, list) else [axis.get("step"), axis.get("from")] if isinstance(axis, dict) else []
    named = {str(point["name"]): point for point in values if isinstance(point, dict) and "name" in point}
    if not named:
        old = next((value for value in values if isinstance(value, float)), values[-1] if values else None)
        return [_typed(key, word, old) for word in words]
    for word in words:
        if word not in named:
            raise unknown(f"point of axis {key}", word, named)
    return [named[word] for word in words]


def _typed(key: str, text: str, old: Any) -> Scalar:
    """The value that `text` is, of the type that the key had; a key that was null takes any."""
    if isinstance(old, str):
        return text
    value = parse_scalar(text)
    if isinstance(value, float) or (isinstance(old, float) and is_number(value)):
        value = Spelt(text)
    kind = next((kind for kind in (bool, int, float) if isinstance(old, kind)), object)
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    names = {bool: "true or false", int: "a whole number", float: "a number"}
    several = ", and only an axis takes several values" if "," in text else ""
    raise RecipeProblem(
        f"--set {key}={text}: {key} takes {names[kind]}",
        cause=f"{key} is {spelt(old)} in the recipe{several}",
        hint=f"--set {key}={spelt(old)}",
    )
