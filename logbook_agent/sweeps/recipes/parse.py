"""Plain data of a recipe file to a `Recipe`, strictly: an unknown key, a wrong type and a misfit are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logbook_agent.model.entry import PlannedCommand
from logbook_agent.sweeps.recipes.axes import CASES, parse_axis, scalar, scalars
from logbook_agent.sweeps.recipes.checks import check_keys
from logbook_agent.sweeps.recipes.overrides import at_scale, with_values
from logbook_agent.sweeps.recipes.problem import RecipeProblem, unknown
from logbook_agent.sweeps.recipes.readers import (
    count,
    description_of,
    list_of,
    mapping_of,
    number,
    only_keys,
    text_of,
    texts_of,
)
from logbook_agent.sweeps.recipes.recipe import Compare, Control, Cost, Limits, Order, Recipe
from logbook_agent.sweeps.recipes.template import Flags, Template, Text, parse_text

_WORDS = """
name question method criteria prerequisites constraints after cost setup command shell teardown fixed axes cases
controls compare implied repeats order seed timeout_s env metrics confirm limits scale
"""
TOP_KEYS = _WORDS.split()
# What a recipe of another form has in place of a command.
STAGES = "stages"


def parse_recipe(data: Any, *, scale: str | None = None, sets: Sequence[str] = ()) -> Recipe:
    """The recipe of a file's data, at a scale, with single values changed. Raises RecipeProblem."""
    if not isinstance(data, dict):
        raise RecipeProblem("the recipe holds no keys", cause="a recipe is a mapping", hint="start with: name: int8-ab")
    for key in data:
        if key not in TOP_KEYS:
            raise unknown("key", key, [*TOP_KEYS, STAGES], place=str(key))
    scales = data.get("scale") or ()
    data = with_values(at_scale(data, scale, TOP_KEYS), sets)
    fixed = scalars(data.get("fixed") or {}, "fixed")
    axes = mapping_of(data, "axes")
    explicit = [parse_axis(CASES, data["cases"], fixed)] if data.get("cases") is not None else []
    recipe = Recipe(
        **description_of(data),
        after=texts_of(data, "after"),
        cost=_cost(data.get("cost")),
        setup=_commands(data, "setup"),
        teardown=_commands(data, "teardown"),
        command=_template(data),
        fixed=fixed,
        axes=(*explicit, *(parse_axis(str(name), value, fixed) for name, value in axes.items())),
        controls=tuple(_control(item, f"controls[{i}]") for i, item in enumerate(list_of(data, "controls"))),
        compare=_compare(data.get("compare")),
        implied=texts_of(data, "implied"),
        repeats=count(data, "repeats", 1, least=1),
        order=_order(data.get("order", Order.AS_LISTED.value)),
        seed=count(data, "seed", 0, least=0),
        timeout_s=number(data["timeout_s"], "timeout_s") if data.get("timeout_s") is not None else None,
        env={name: parse_text(_word(text), f"env.{name}") for name, text in mapping_of(data, "env").items()},
        confirm=count(data, "confirm", 1, least=0),
        limits=_limits(mapping_of(data, "limits")),
        scales=tuple(scales),
    )
    check_keys(recipe)
    return recipe


def _control(value: Any, place: str) -> Control:
    """`{quant_mode: none}`, or the same with a label: `{label: None, set: {quant_mode: none}}`."""
    if isinstance(value, dict) and "set" in value:
        parts = only_keys(value, ("label", "set"), place)
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
    parts = only_keys(value, ("axis", "base"), "compare")
    if "base" not in parts:
        raise RecipeProblem(
            "compare.base is missing",
            place="compare",
            cause="the other values are compared with the base",
            hint="base: none",
        )
    return Compare(axis=text_of(parts, "axis"), base=scalar(parts["base"], "compare.base"))


def _cost(value: Any) -> Cost | None:
    if value is None:
        return None
    parts = only_keys(value, ("seconds_per_run", "source"), "cost")
    return Cost(
        seconds_per_run=number(parts.get("seconds_per_run"), "cost.seconds_per_run"),
        source=text_of(parts, "source") if parts.get("source") is not None else None,
    )


def _limits(value: Mapping[str, Any]) -> Limits:
    parts = only_keys(value, ("cases", "hours"), "limits")
    return Limits(
        cases=count(parts, "cases", Limits().cases, least=1, place="limits."),
        hours=number(parts["hours"], "limits.hours") if parts.get("hours") is not None else None,
    )


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
            cause="without `shell: true` a command is a list of words, which no shell reads",
            hint="write: command: [bench-core, hillclimb, {flags: [tokens, topk]}]",
        )
    return Template(words=tuple(_item(item, f"command[{i}]") for i, item in enumerate(value)))


def _item(item: Any, place: str) -> Text | Flags:
    if not isinstance(item, dict):
        return parse_text(_word(item), place)
    parts = only_keys(item, ("flags",), place)
    return Flags(keys=texts_of(parts, "flags"))


def _word(value: Any) -> str:
    """A word that YAML may have read as a number or switch."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _commands(data: Mapping[str, Any], key: str) -> tuple[PlannedCommand, ...]:
    return tuple(_command(item, f"{key}[{i}]") for i, item in enumerate(list_of(data, key)))


def _command(item: Any, place: str) -> PlannedCommand:
    """`[word, ...]`, or `{label: ..., argv: [...]}`, or `{label: ..., shell: TEXT}`."""
    if isinstance(item, list):
        item = {"argv": item}
    parts = only_keys(item, ("label", "argv", "shell"), place)
    argv, shell = parts.get("argv"), parts.get("shell")
    if (argv is None) == (shell is None) or (argv is not None and (not isinstance(argv, list) or not argv)):
        raise RecipeProblem(
            f"{place} is not a command",
            place=place,
            cause="a command is a list of words, or text for the shell",
            hint="- {label: Allocate, argv: [tool, allocate]}",
        )
    words = (str(shell),) if argv is None else tuple(_word(word) for word in argv)
    return PlannedCommand(label=parts.get("label"), argv=words, shell=argv is None)
