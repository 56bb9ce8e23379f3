"""What a recipe says for the header of a logbook: `start --recipe NAME`, and its criteria for `criteria --recipe`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from logbook_agent.campaign.chosen import Chosen, ChosenStages, choose_any
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import CommandTemplate, Criterion, MatrixAxis, Metric
from logbook_agent.model.values import canonical
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.words import sweep_command

# By what two items of a list in a header are the same one.
_NAMES: dict[str, Callable[[Any], object]] = {
    "metrics": lambda metric: metric.name,
    "constraints": lambda text: text,
    "stop_criteria": lambda criterion: criterion.text,
    "matrix": lambda axis: axis.axis,
    "command_templates": lambda template: template.label,
}


def header_of_recipe(workspace: Workspace, name: str, scale: str | None, file: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a header that a recipe states at a scale; the topic is its name. Those of a header file win, and add
    to the lists."""
    chosen = choose_any(workspace, name, scale=scale, sets=())
    recipe = chosen.recipe
    stated = {
        "topic": recipe.name,
        "goal": recipe.question,
        "metrics": _metrics(chosen),
        "constraints": recipe.constraints,
        "stop_criteria": recipe.criteria,
        "matrix": _matrix(chosen),
        "command_templates": (CommandTemplate(label=recipe.name, command=sweep_command(name, scale=scale)),),
    }
    found = {**stated, **file}
    for key, name_of in _NAMES.items():
        told = {name_of(item) for item in file.get(key, ())}
        found[key] = (*(item for item in stated[key] if name_of(item) not in told), *file.get(key, ()))
    return found


def criteria_of_recipe(workspace: Workspace, name: str) -> tuple[Criterion, ...]:
    """The criteria of a recipe. Raises UsageError where it has none."""
    found = choose_any(workspace, name, scale=None, sets=()).recipe.criteria
    if not found:
        raise UsageError(
            f"the recipe {name} states no criteria",
            cause="it has no key `criteria`",
            hint="list the recipes: logbook sweep",
        )
    return found


def _metrics(chosen: Chosen | ChosenStages) -> tuple[Metric, ...]:
    """The recipe's, else those of its stages."""
    named = chosen.recipe.metrics or [metric for part in chosen.parts for metric in part.recipe.metrics]
    return tuple({metric.name: metric for metric in named}.values())


def _matrix(chosen: Chosen | ChosenStages) -> tuple[MatrixAxis, ...]:
    """Every key that the plans vary, with its values in the order in which they come."""
    found: dict[str, dict[str, None]] = {}
    for part in chosen.parts:
        for key in part.plan.varied:
            values = [canonical(part.plan.config(case)[key]) for case in part.plan.cases]
            found.setdefault(key, {}).update(dict.fromkeys(values))
    return tuple(MatrixAxis(axis=key, values=tuple(values)) for key, values in found.items())
