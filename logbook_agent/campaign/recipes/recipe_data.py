"""Plain data of a recipe file to a `Recipe`, strictly: an unknown key, a wrong type and parts that do
not fit together are refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from logbook_agent.campaign.recipes.overrides import at_scale, with_values
from logbook_agent.campaign.recipes.placed import Placed, RecipeProblem, check_known, misplaced, suggestion, unknown
from logbook_agent.campaign.recipes.recipe import (
    Compare,
    Control,
    Cost,
    Flags,
    Order,
    Recipe,
    Template,
    Text,
    key_places,
    parse_text,
)
from logbook_agent.campaign.recipes.recipe_axes import CASES, parse_axis
from logbook_agent.findings.criteria.predicate import checked_predicate
from logbook_agent.model.comparison import BUDGET_PAIRS
from logbook_agent.model.entry import PLOT_KINDS, PlannedCommand, parse_plot
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import parse_gate
from logbook_agent.model.header import Criterion, Metric
from logbook_agent.model.units import DIRECTIONS, known
from logbook_agent.model.values import as_written, canonical

_WORDS = """
name question method criteria gates constraints after cost setup command shell teardown fixed axes cases
controls compare implied repeats order seed timeout_s stall_s read env metrics confirm plots scale
"""
TOP_KEYS = _WORDS.split()


def parse_recipe(data: Any, *, scale: str | None = None, sets: Sequence[str] = ()) -> Recipe:
    """The recipe of a file's data, at a scale, with single values changed. Raises RecipeProblem."""
    if not isinstance(data, dict):
        raise RecipeProblem("the recipe holds no keys", cause="a recipe is a mapping", hint="start with: name: int8-ab")
    check_known("key", data, TOP_KEYS, place="")
    scales = data.get("scale") or ()
    top = Placed(with_values(at_scale(data, scale, TOP_KEYS), sets))
    fixed = top.get("fixed").scalars()
    cases = [(CASES, top.get(CASES))] if top.get(CASES).value is not None else []
    recipe = Recipe(
        name=top.get("name").text(),
        question=top.get("question", "Which case is best?").text(),
        method=top.get("method").given(Placed.text),
        criteria=tuple(map(_criterion, top.get("criteria").list())),
        gates=tuple(map(_gate, top.get("gates").list())),
        constraints=top.get("constraints").texts(),
        metrics=tuple(map(_metric, top.get("metrics").list())),
        after=top.get("after").texts(),
        cost=top.get("cost").given(_cost),
        setup=tuple(map(_command, top.get("setup").list())),
        teardown=tuple(map(_command, top.get("teardown").list())),
        command=_template(top),
        fixed=fixed,
        axes=tuple(parse_axis(str(name), axis, fixed) for name, axis in (*cases, *top.get("axes").items())),
        controls=tuple(map(_control, top.get("controls").list())),
        compare=top.get("compare").given(_compare),
        implied=top.get("implied").texts(),
        repeats=top.count("repeats", 1, least=1),
        order=_order(top.get("order", Order.AS_LISTED.value)),
        seed=top.count("seed", 0, least=0) if top.get("seed").value is not None else None,
        timeout_s=top.get("timeout_s").given(Placed.number),
        stall_s=top.get("stall_s").given(Placed.number),
        read=top.get("read").given(Placed.text),
        env={name: parse_text(as_written(text.value), text.place) for name, text in top.get("env").items()},
        confirm=top.count("confirm", BUDGET_PAIRS, least=0),
        plots=tuple(map(_plot, top.get("plots").list())),
        scales=tuple(scales),
    )
    check_keys(recipe)
    return recipe


def _criterion(part: Placed) -> Criterion:
    if isinstance(part.value, str):
        return Criterion(text=part.value)
    predicate = part.only(("text", "predicate")).get("predicate")
    return Criterion(text=part.get("text").text(), predicate=predicate.given(_predicate))


def _predicate(part: Placed) -> dict[str, object]:
    """A typo in a predicate is met when the recipe is read, not when its sweep is done."""
    try:
        return checked_predicate(part.value)
    except UsageError as error:
        raise misplaced(error, part.place) from error


def _gate(part: Placed) -> str:
    try:
        return str(parse_gate(part.text()))
    except ValueError as error:
        raise part.wrong("a gate", "write: 'ok == 1', or 'same checksum'") from error


def _metric(part: Placed) -> Metric:
    """A name, or a mapping; what is left out comes from the table of known metrics."""
    if isinstance(part.value, str):
        part = Placed({"name": part.value}, part.place)
    name = part.only(("name", "direction", "unit")).get("name").text()
    direction = part.get("direction", known(name).direction)
    if direction.value is not None and direction.value not in DIRECTIONS:
        raise unknown("direction", direction.value, DIRECTIONS, place=direction.place)
    return Metric(name=name, direction=direction.value, unit=part.get("unit", known(name).unit).value)


def _control(part: Placed) -> Control:
    """`{quant_mode: none}`, or the same with a label: `{label: None, set: {quant_mode: none}}`."""
    if isinstance(part.value, dict) and "set" in part.value:
        part.only(("label", "set"))
        return Control(label=part.get("label").value, values=part.get("set").scalars())
    values = part.scalars()
    if not values:
        raise RecipeProblem(
            f"{part.place} changes nothing", place=part.place, cause="it sets no key", hint="- {quant_mode: none}"
        )
    return Control(values=values)


def _compare(part: Placed) -> Compare:
    if "base" not in part.only(("axis", "base")).value:
        raise RecipeProblem(
            "compare.base is missing",
            place="compare",
            cause="the other values are compared with the base",
            hint="base: none",
        )
    return Compare(axis=part.get("axis").text(), base=part.get("base").scalar())


def _cost(part: Placed) -> Cost:
    part.only(("seconds_per_run", "source"))
    return Cost(seconds_per_run=part.get("seconds_per_run").number(), source=part.get("source").given(Placed.text))


def _plot(part: Placed) -> str:
    name = part.text()
    try:
        parse_plot(name)
    except ValueError:
        raise unknown("kind of plot", name.split(" ")[0], PLOT_KINDS, place=part.place) from None
    return name


def _order(part: Placed) -> Order:
    if part.value not in list(Order):
        raise unknown("order", part.value, list(Order), place=part.place)
    return Order(part.value)


def _template(top: Placed) -> Template:
    shell, command = top.get("shell", False), top.get("command")
    if not isinstance(shell.value, bool):
        raise shell.wrong("true or false", "shell: true")
    if shell.value and isinstance(command.value, str):
        return Template(words=(parse_text(command.value, command.place),), shell=shell.value)
    if shell.value or not isinstance(command.value, list) or not command.value:
        raise RecipeProblem(
            "command must be text for the shell" if shell.value else "command must be a list of words",
            place="command",
            cause="without `shell: true` a command is a list of words, which no shell reads",
            hint="write: command: [bench-core, hillclimb, {flags: [tokens, topk]}]",
        )
    return Template(words=tuple(map(_item, command.list())))


def _item(part: Placed) -> Text | Flags:
    if not isinstance(part.value, dict):
        return parse_text(as_written(part.value), part.place)
    return Flags(keys=part.only(("flags",)).get("flags").texts())


def _command(part: Placed) -> PlannedCommand:
    """`[word, ...]`, or `{label: ..., argv: [...]}`, or `{label: ..., shell: TEXT}`; of setup with `until: REGEX`."""
    if isinstance(part.value, list):
        part = Placed({"argv": part.value}, part.place)
    part.only(("label", "argv", "shell", *(("until",) if part.place.startswith("setup") else ())))
    argv, shell = part.get("argv").value, part.get("shell").value
    if (argv is None) == (shell is None) or (argv is not None and (not isinstance(argv, list) or not argv)):
        raise RecipeProblem(
            f"{part.place} is not a command",
            place=part.place,
            cause="a command is a list of words, or text for the shell",
            hint="- {label: Allocate, argv: [tool, allocate]}",
        )
    words = (str(shell),) if argv is None else tuple(map(as_written, argv))
    until = part.get("until").given(_pattern)
    return PlannedCommand(label=part.get("label").value, argv=words, shell=argv is None, until=until)


def _pattern(part: Placed) -> str:
    """A regular expression."""
    try:
        return re.compile(part.text(), re.MULTILINE).pattern
    except re.error as error:
        raise part.wrong("a regular expression", str(error)) from None


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
