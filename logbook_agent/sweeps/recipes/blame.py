"""Problems of values that do not stand in the recipe itself: those that were typed, and those of a stage."""

from __future__ import annotations

import re
from collections.abc import Sequence

from logbook_agent.model.values import canonical
from logbook_agent.sweeps.recipes.expand import SweepPlan
from logbook_agent.sweeps.recipes.overrides import pair_of
from logbook_agent.sweeps.recipes.problem import SHOWN_NAMES, RecipeProblem, suggestion, unknown
from logbook_agent.sweeps.recipes.stages import Stage
from logbook_agent.text.words import listed

_OPTION = re.compile(r"--set (\w+)=([^?]*)")
_ADVICE = "write: "


def blamed_on_sets(error: RecipeProblem, sets: Sequence[str]) -> RecipeProblem:
    """The problem of a recipe that fits without what was typed: told of `--set`, not of a line of the file."""
    key = error.place.rpartition(".")[2].split("[")[0]
    own = [text for text in sets if pair_of(text)[0] == key]
    error.reword(f"{' '.join(f'--set {text}' for text in own or sets)}: {error.message}")
    if own and error.hint.startswith(_ADVICE):
        error.hint = f"--set {key}={error.hint.split()[-1]}"
    error.place = ""
    return error


def blamed_on_stage(error: RecipeProblem, text: str, place: str) -> RecipeProblem:
    """The problem of a value that a stage sets, at its place there, and in the words of a file."""
    key = pair_of(text)[0]
    error.place = f"{place}.{key}"
    error.reword(error.message.removeprefix(f"--set {text}: "))
    error.hint = _OPTION.sub(lambda found: f"set: {{{found[1]}: {_item(found[2])}}}", error.hint)
    return error


def _item(text: str) -> str:
    return f"[{text.replace(',', ', ')}]" if "," in text else text


def check_baseline(stage: Stage, plan: SweepPlan, place: str) -> None:
    """A stage's baseline is a case of its plan. Raises RecipeProblem."""
    if stage.baseline is None:
        return
    configs = [plan.config(case) for case in plan.cases]
    for key, value in stage.baseline.items():
        if key not in configs[0]:
            raise unknown("key", key, configs[0], place=f"{place}.{key}")
        left = [config for config in configs if canonical(config[key]) == canonical(value)]
        if not left:
            values = list(dict.fromkeys(canonical(config[key]) for config in configs))
            raise RecipeProblem(
                f"no case of {stage.recipe} has {key}={canonical(value)}",
                place=f"{place}.{key}",
                cause=f"{key} is {listed(values, SHOWN_NAMES)}",
                hint=suggestion(canonical(value), values) or f"write: baseline: {{{key}: {values[0]}}}",
            )
        configs = left
