"""What a recipe says for the header of a logbook: `start --recipe NAME`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from logbook_agent.campaign.recipe_files import Chosen, choose_recipe
from logbook_agent.model.header import CommandTemplate, MatrixAxis
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
    chosen = choose_recipe(workspace, name, scale=scale, sets=())
    recipe = chosen.recipe
    stated = {
        "topic": recipe.name,
        "goal": recipe.question,
        "metrics": recipe.metrics,
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


def _matrix(chosen: Chosen) -> tuple[MatrixAxis, ...]:
    """Every key that the plan varies, with its values in the order in which they come."""
    plan = chosen.plan
    found = {key: dict.fromkeys(canonical(plan.config(case)[key]) for case in plan.cases) for key in plan.varied}
    return tuple(MatrixAxis(axis=key, values=tuple(values)) for key, values in found.items())
