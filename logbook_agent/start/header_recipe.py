"""The header of a logbook from a recipe: `logbook start --recipe NAME`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from logbook_agent.findings.criteria.predicate import checked_predicate
from logbook_agent.model.header import CommandTemplate, Criterion, MatrixAxis, Metric
from logbook_agent.model.values import canonical
from logbook_agent.store.onward import sweep_command
from logbook_agent.store.workspace import Workspace
from logbook_agent.sweeps.chosen import Chosen, ChosenStages, choose_any

# By what two items of a list in a header are the same one.
_NAMES: dict[str, Callable[[Any], object]] = {
    "metrics": lambda metric: metric.name,
    "constraints": lambda text: text,
    "stop_criteria": lambda criterion: criterion.text,
    "matrix": lambda axis: axis.axis,
    "command_templates": lambda template: template.label,
}


def read_header_of_recipe(workspace: Workspace, name: str, scale: str | None) -> dict[str, Any]:
    """The parts of a header that a recipe states at a scale, as those of a header file; topic and prefix are its
    name."""
    chosen = choose_any(workspace, name, scale=scale, sets=())
    recipe = chosen.recipe
    return {
        "topic": recipe.name,
        "prefix": recipe.name.upper().replace("_", "-"),
        "goal": recipe.question,
        "metrics": _metrics(chosen),
        "constraints": recipe.constraints,
        "stop_criteria": tuple(map(_checked, recipe.criteria)),
        "matrix": _matrix(chosen),
        "command_templates": (CommandTemplate(label=recipe.name, command=sweep_command(name, scale=scale)),),
    }


def merged(recipe: Mapping[str, Any], file: Mapping[str, Any]) -> dict[str, Any]:
    """What a recipe and a file state together: the file wins, and adds to the lists."""
    found = {**recipe, **file}
    for key, name in _NAMES.items():
        told = {name(item) for item in file.get(key, ())}
        found[key] = (*(item for item in recipe[key] if name(item) not in told), *file.get(key, ()))
    return found


def _metrics(chosen: Chosen | ChosenStages) -> tuple[Metric, ...]:
    """The recipe's, else those of its stages."""
    named = chosen.recipe.metrics or [metric for part in chosen.parts for metric in part.recipe.metrics]
    return tuple({metric.name: metric for metric in named}.values())


def _checked(criterion: Criterion) -> Criterion:
    if criterion.predicate is None:
        return criterion
    return dataclasses.replace(criterion, predicate=checked_predicate(criterion.predicate))


def _matrix(chosen: Chosen | ChosenStages) -> tuple[MatrixAxis, ...]:
    """Every key that the plans vary, with its values in the order in which they come."""
    found: dict[str, dict[str, None]] = {}
    for part in chosen.parts:
        for key in part.plan.varied:
            values = [canonical(part.plan.config(case)[key]) for case in part.plan.cases]
            found.setdefault(key, {}).update(dict.fromkeys(values))
    return tuple(MatrixAxis(axis=key, values=tuple(values)) for key, values in found.items())
