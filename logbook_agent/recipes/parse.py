"""Plain data of a recipe file to a `Recipe`, strictly: an unknown key, a wrong type and a misfit are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logbook_agent.model.entry import PlannedCommand
from logbook_agent.model.header import Criterion, Metric
from logbook_agent.recipes.axes import CASES, parse_axis, scalar, scalars
from logbook_agent.recipes.checks import check_keys
from logbook_agent.recipes.overrides import at_scale, with_values
from logbook_agent.recipes.problem import RecipeProblem, unknown
from logbook_agent.recipes.recipe import Compare, Control, Cost, Limits, Order, Recipe
from logbook_agent.recipes.template import Flags, Template, Text, parse_text
from logbook_agent.units import DIRECTIONS, known

_WORDS = """
name question method criteria prerequisites after cost setup command shell teardown fixed axes cases controls compare
implied repeats order seed timeout_s env metrics confirm limits scale
"""
TOP_KEYS = _WORDS.split()


def parse_recipe(data: Any, *, scale: str | None = None, sets: Sequence[str] = ()) -> Recipe:
    """The recipe of a file's data, at a scale, with single values changed. Raises RecipeProblem."""
    if not isinstance(data, dict):
        raise RecipeProblem("the recipe holds no keys", cause="a recipe is a mapping", hint="start with: name: int8-ab")
    for key in data:
        if key not in TOP_KEYS:
            raise unknown("key", key, TOP_KEYS, place=str(key))
    scales = tuple(data.get("scale") or ())
    data = with_values(at_scale(data, scale, TOP_KEYS), sets)
    fixed = scalars(data.get("fixed") or {}, "fixed")
    axes = _mapping(data, "axes")
    explicit = [parse_axis(CASES, data["cases"], fixed)] if data.get("cases") is not None else []
    recipe = Recipe(
        name=_text(data, "name"),
        question=_text(data, "question"),
        method=_text(data, "method") if data.get("method") is not None else None,
        criteria=tuple(_criterion(item, f"criteria[{i}]") for i, item in enumerate(_list(data, "criteria"))),
        prerequisites=_texts(data, "prerequisites"),
        after=_texts(data, "after"),
        cost=_cost(data.get("cost")),
        setup=_commands(data, "setup"),
        teardown=_commands(data, "teardown"),
        command=_template(data),
        fixed=fixed,
        axes=(*explicit, *(parse_axis(str(name), value, fixed) for name, value in axes.items())),
        controls=tuple(_control(item, f"controls[{i}]") for i, item in enumerate(_list(data, "controls"))),
        compare=_compare(data.get("compare")),
        implied=_texts(data, "implied"),
        repeats=_count(data, "repeats", 1, least=1),
        order=_order(data.get("order", Order.AS_LISTED.value)),
        seed=_count(data, "seed", 0, least=0),
        timeout_s=_number(data["timeout_s"], "timeout_s") if data.get("timeout_s") is not None else None,
        env={name: parse_text(_word(text), f"env.{name}") for name, text in _mapping(data, "env").items()},
        metrics=tuple(_metric(item, f"metrics[{i}]") for i, item in enumerate(_list(data, "metrics"))),
        confirm=_count(data, "confirm", 1, least=0),
        limits=_limits(_mapping(data, "limits")),
        scales=scales,
    )
    check_keys(recipe)
    return recipe


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise RecipeProblem(
            f"{key} is missing" if value is None else f"{key} must be text",
            place=key,
            cause="a recipe says what it is called and what it is to find out",
            hint=f"add: {key}: ...",
        )
    return value.strip()


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise RecipeProblem(f"{key} must be a list", place=key, cause=f"it is {value!r}", hint=f"write: {key}: [...]")
    return value


def _mapping(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RecipeProblem(
            f"{key} must be keys with values", place=key, cause=f"it is {value!r}", hint=f"{key}: {{...}}"
        )
    return value


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = _list(data, key)
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise RecipeProblem(
                f"{key}[{i}] must be text", place=f"{key}[{i}]", cause=f"it is {value!r}", hint="quote it"
            )
    return tuple(values)


def _keys_of(value: Any, allowed: Sequence[str], place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RecipeProblem(
            f"{place} must be keys with values",
            place=place,
            cause=f"it is {value!r}",
            hint=f"keys: {', '.join(allowed)}",
        )
    for key in value:
        if key not in allowed:
            raise unknown("key", key, allowed, place=f"{place}.{key}")
    return value


def _criterion(value: Any, place: str) -> Criterion:
    if isinstance(value, str):
        return Criterion(text=value)
    parts = _keys_of(value, ("text", "predicate"), place)
    predicate = parts.get("predicate")
    if predicate is not None and not isinstance(predicate, dict):
        raise RecipeProblem(
            f"{place}.predicate must be keys with values",
            place=f"{place}.predicate",
            cause=f"it is {predicate!r}",
            hint="see docs/reference/recipes.md",
        )
    return Criterion(text=_text(parts, "text"), predicate=predicate)


def _metric(value: Any, place: str) -> Metric:
    """A name, or a mapping; what is left out comes from the table of known metrics."""
    parts = {"name": value} if isinstance(value, str) else _keys_of(value, ("name", "direction", "unit"), place)
    name = _text(parts, "name")
    direction, unit = parts.get("direction", known(name).direction), parts.get("unit", known(name).unit)
    if direction is not None and direction not in DIRECTIONS:
        raise unknown("direction", direction, DIRECTIONS, place=f"{place}.direction")
    return Metric(name=name, direction=direction, unit=unit)


def _control(value: Any, place: str) -> Control:
    """`{quant_mode: none}`, or the same with a label: `{label: None, set: {quant_mode: none}}`."""
    if isinstance(value, dict) and "set" in value:
        parts = _keys_of(value, ("label", "set"), place)
        return Control(label=parts.get("label"), values=scalars(parts["set"], f"{place}.set"))
    values = scalars(value, place)
    if not values:
        raise RecipeProblem(
            f"{place} changes nothing", place=place, cause="it sets no key", hint="- {quant_mode: none}"
        )
    return Control(values=values)


def _compare(value: Any) -> Compare | None:
    if value is None:
        return None
    parts = _keys_of(value, ("axis", "base"), "compare")
    if "base" not in parts:
        raise RecipeProblem(
            "compare.base is missing",
            place="compare",
            cause="one value is what the others are against",
            hint="base: none",
        )
    return Compare(axis=_text(parts, "axis"), base=scalar(parts["base"], "compare.base"))


def _cost(value: Any) -> Cost | None:
    if value is None:
        return None
    parts = _keys_of(value, ("seconds_per_run", "source"), "cost")
    return Cost(
        seconds_per_run=_number(parts.get("seconds_per_run"), "cost.seconds_per_run"),
        source=_text(parts, "source") if parts.get("source") is not None else None,
    )


def _limits(value: Mapping[str, Any]) -> Limits:
    parts = _keys_of(value, ("cases", "hours"), "limits")
    return Limits(
        cases=_count(parts, "cases", Limits().cases, least=1, place="limits."),
        hours=_number(parts["hours"], "limits.hours") if parts.get("hours") is not None else None,
    )


def _count(data: Mapping[str, Any], key: str, default: int, *, least: int, place: str = "") -> int:
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise RecipeProblem(
            f"{place}{key} must be a whole number from {least}",
            place=f"{place}{key}",
            cause=f"it is {value!r}",
            hint=f"write: {key}: {default}",
        )
    return value


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise RecipeProblem(
            f"{place} must be a number above zero", place=place, cause=f"it is {value!r}", hint="write: 60"
        )
    return float(value)


def _order(value: Any) -> Order:
    if value not in list(Order):
        raise unknown("order", value, list(Order), place="order")
    return Order(value)


def _template(data: Mapping[str, Any]) -> Template:
    shell = data.get("shell", False)
    value = data.get("command")
    if not isinstance(shell, bool):
        raise RecipeProblem("shell must be true or false", place="shell", cause=f"it is {shell!r}", hint="shell: true")
    if shell and isinstance(value, str):
        return Template(words=(parse_text(value, "command"),), shell=shell)
    if shell or not isinstance(value, list) or not value:
        raise RecipeProblem(
            "command must be text for the shell" if shell else "command must be a list of words",
            place="command",
            cause="without `shell: true` a command is its words, so that no shell reads them",
            hint="write: command: [bench-core, hillclimb, {flags: [tokens, topk]}]",
        )
    return Template(words=tuple(_item(item, f"command[{i}]") for i, item in enumerate(value)))


def _item(item: Any, place: str) -> Text | Flags:
    if not isinstance(item, dict):
        return parse_text(_word(item), place)
    parts = _keys_of(item, ("flags",), place)
    return Flags(keys=_texts(parts, "flags"))


def _word(value: Any) -> str:
    """A word that YAML may have read as a number or switch."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _commands(data: Mapping[str, Any], key: str) -> tuple[PlannedCommand, ...]:
    return tuple(_command(item, f"{key}[{i}]") for i, item in enumerate(_list(data, key)))


def _command(item: Any, place: str) -> PlannedCommand:
    """`[word, ...]`, or `{label: ..., argv: [...]}`, or `{label: ..., shell: TEXT}`."""
    if isinstance(item, list):
        item = {"argv": item}
    parts = _keys_of(item, ("label", "argv", "shell"), place)
    argv, shell = parts.get("argv"), parts.get("shell")
    if (argv is None) == (shell is None) or (argv is not None and (not isinstance(argv, list) or not argv)):
        raise RecipeProblem(
            f"{place} is no command",
            place=place,
            cause="it has words, or text for the shell",
            hint="- {label: Allocate, argv: [tool, allocate]}",
        )
    words = (str(shell),) if argv is None else tuple(_word(word) for word in argv)
    return PlannedCommand(label=parts.get("label"), argv=words, shell=argv is None)
