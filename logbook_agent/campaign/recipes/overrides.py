"""A recipe at another scale, or with single values changed: plain data in, plain data out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logbook_agent.campaign.recipes.placed import MOST, Placed, RecipeProblem, check_known, suggestion, unknown
from logbook_agent.model.values import Scalar, Spelt, finite, parse_pair, parse_scalar
from logbook_agent.text.lists import parse_list

# What a scale may not change: what the recipe is.
_IDENTITY = ("name", "question", "method", "scale")
_MERGED = ("fixed", "axes", "env")
# Parts of the recipe itself that can be set like a key, unless a key has that name.
SETTABLE = ("repeats", "order", "confirm", "timeout_s", "stall_s", "read")


def at_scale(data: Mapping[str, Any], scale: str | None, top_keys: Sequence[str]) -> dict[str, Any]:
    """The recipe's data with what `scale` says in place; fixed config, axes and variables are merged by key."""
    scales = data.get("scale") or {}
    if not isinstance(scales, dict) or not all(isinstance(part, dict) for part in scales.values()):
        raise Placed(scales, "scale").wrong("a mapping of names to values", "scale: {tiny: {...}}")
    changed = {key: value for key, value in data.items() if key != "scale"}
    for name, part in scales.items():
        check_known("key", part, [k for k in top_keys if k not in _IDENTITY], place=f"scale.{name}")
    if scale is None:
        return changed
    if scale not in scales:
        raise unknown("scale", scale, scales, place="scale")
    axes = data.get("axes")
    for key, value in scales[scale].items():
        if key == "axes" and isinstance(value, dict):
            check_known("axis", value, axes if isinstance(axes, dict) else {}, place=f"scale.{scale}.axes")
        merge = key in _MERGED and isinstance(value, dict) and isinstance(changed.get(key), dict)
        changed[key] = {**changed[key], **value} if merge else value
    return changed


def with_values(data: Mapping[str, Any], sets: Sequence[str]) -> dict[str, Any]:
    """The data with every `K=V` in place. An axis takes several values, `topk=2,4` (in quotation marks those that have
    a comma), or names of its points.

    RecipeProblem for a key that the recipe does not have, or a value of another type than it had.
    """
    changed = dict(data)
    for text in sets:
        key, value = pair_of(text)
        changed = _with_value(changed, key, value)
    return changed


def _with_value(data: dict[str, Any], key: str, text: str) -> dict[str, Any]:
    axes, fixed, cases = _parts(data)
    if key in axes:
        return {**data, "axes": {**axes, key: _axis(key, axes[key], text)}}
    inside = [name for name, axis in axes.items() if key in _point_keys(axis)]
    in_cases = key in _point_keys(cases)
    if key not in fixed and not inside and not in_cases:
        if key in SETTABLE:
            return {**data, key: parse_scalar(text)}
        raise unknown_key(key, text, settable_keys(data))
    if key in fixed:
        data = {**data, "fixed": {**fixed, key: _typed(key, text, fixed[key])}}
    for name in inside:
        data = {**data, "axes": {**data["axes"], name: _in_points(axes[name], key, text)}}
    if in_cases:
        data = {**data, "cases": _in_points(cases, key, text)}
    return data


def _parts(data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
    """Axes, fixed config and explicit cases."""
    top = Placed(data)
    top.get("cases").list()
    return top.get("axes").mapping(), top.get("fixed").mapping(), data.get("cases") or []


def settable_keys(data: Mapping[str, Any]) -> list[str]:
    """What `--set` can change in a recipe's data: axes, config keys wherever they stand, and parts of the recipe."""
    axes, fixed, cases = _parts(data)
    return [*axes, *fixed, *(key for axis in (*axes.values(), cases) for key in _point_keys(axis)), *SETTABLE]


def unknown_key(key: str, value: str, names: Sequence[str]) -> RecipeProblem:
    """The problem of a `--set` that nothing takes."""
    found = unknown("key", key, names)
    near = suggestion(key, names).removeprefix("did you mean ").rstrip("?")
    found.hint = f"did you mean --set {near}={value}?" if near else found.hint
    return found


def pair_of(text: str) -> tuple[str, str]:
    """Key and value of a `--set K=V`. Raises UsageError."""
    return parse_pair(text, "--set")


def _point_keys(axis: Any) -> list[str]:
    """The config keys inside an axis of shapes."""
    if isinstance(axis, list):
        return [key for point in axis if isinstance(point, dict) for key in point if key != "name"]
    return []


def _axis(key: str, axis: Any, text: str) -> list[Any]:
    """Other values for an axis: scalars of the type it had, or some of its named points."""
    words = _words(key, text)
    if isinstance(axis, list) and any(isinstance(point, dict) for point in axis):
        named = {str(point["name"]): point for point in axis if isinstance(point, dict) and "name" in point}
        for word in words:
            if word not in named:
                raise unknown(f"point of axis {key}", word, named)
        return [named[word] for word in words]
    old = axis[0] if isinstance(axis, list) and axis else axis.get("from") if isinstance(axis, dict) else None
    if isinstance(axis, dict) and isinstance(old, int) and isinstance(axis.get("step"), float):
        old = 0.0  # what counts is its type
    return [_typed(key, word, old) for word in words]


def _words(key: str, text: str) -> tuple[str, ...]:
    try:
        return parse_list(text)
    except ValueError as error:
        raise RecipeProblem(
            f"--set {key}={text} cannot be read",
            cause=str(error),
            hint=f"""quote each value that has a comma: --set '{key}="16,4","8,4"'""",
        ) from None


def _in_points(axis: Any, key: str, text: str) -> Any:
    """The axis with another value of a key inside; what is no axis is left to whoever reads it."""
    has = [isinstance(point, dict) and key in point for point in axis]
    return [{**p, key: _typed(key, text, p[key])} if own else p for p, own in zip(axis, has, strict=True)]


def _typed(key: str, text: str, old: Any) -> Scalar:
    """The value that `text` is, of the type that the key had; a key that was null takes any."""
    if isinstance(old, str):
        return text
    value = parse_scalar(text)
    if isinstance(old, float) and (number := finite(value)) is not None and abs(number) <= MOST:
        return Spelt(text)
    if old is None or type(value) is type(old):
        return Spelt(text) if isinstance(value, float) else value
    kinds = {bool: "true or false", int: "a whole number", float: "a number", Spelt: "a number"}
    if "," in text and not isinstance(parse_scalar(text.split(",")[0]), str):
        raise RecipeProblem(
            f"--set {key}={text}: {key} takes one value",
            cause="it is not an axis of the recipe, and only an axis takes several values",
            hint=f"--set {key}={text.split(',')[0]}",
        )
    raise RecipeProblem(
        f"--set {key}={text}: {key} takes {kinds.get(type(old), 'another type')}",
        cause=f"in the recipe it is {str(old).lower() if isinstance(old, bool) else old}",
        hint=f"--set {key}={str(old).lower() if isinstance(old, bool) else old}",
    )
