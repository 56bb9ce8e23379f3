"""One recipe chosen, at a scale, expanded and checked, its problems told where they were typed; and all there are."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from logbook_agent.campaign.recipe_files import RecipeData, RecipeFile, find_recipe, read_recipe, recipe_files
from logbook_agent.campaign.recipes.expand import SweepPlan, expand
from logbook_agent.campaign.recipes.overrides import at_scale, axis_names, pair_of, settable_keys
from logbook_agent.campaign.recipes.parse import TOP_KEYS, parse_recipe
from logbook_agent.campaign.recipes.problem import SHOWN_NAMES, RecipeProblem, misplaced, suggestion, unknown
from logbook_agent.campaign.recipes.recipe import Recipe
from logbook_agent.campaign.recipes.rules import Severity, Violation, violations
from logbook_agent.campaign.recipes.stages import (
    Settable,
    Stage,
    StagedRecipe,
    is_staged,
    parse_staged,
    shared_out,
    stage_sets,
)
from logbook_agent.model.errors import LogbookError, NotFound, UsageError
from logbook_agent.model.values import canonical
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.words import listed, sweep_command


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A plan with what was asked for to get it."""

    file: RecipeFile
    scale: str | None
    sets: tuple[str, ...]
    plan: SweepPlan

    @property
    def recipe(self) -> Recipe:
        return self.plan.recipe

    @property
    def parts(self) -> tuple[Chosen, ...]:
        """What is carried out, one after another."""
        return (self,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenStages:
    """A recipe of stages, with what was asked for to get it, and the plan of each stage."""

    file: RecipeFile
    scale: str | None
    sets: tuple[str, ...]
    recipe: StagedRecipe
    parts: tuple[Chosen, ...]


def common_scales(chosen: Chosen | ChosenStages) -> list[str]:
    """The scales that every part has."""
    first, *others = (part.recipe.scales for part in chosen.parts)
    return [scale for scale in first if all(scale in scales for scales in others)]


def list_recipes(workspace: Workspace) -> list[Chosen | ChosenStages]:
    """Every recipe with its plans; one that does not fit is a warning."""
    found = []
    for file in recipe_files(workspace):
        try:
            found.append(_chosen(workspace, read_recipe(file), None, ()))
        except LogbookError as error:
            workspace.warnings.append(f"{file.name}: {error.message}")
    return found


def has_stages(workspace: Workspace, name: str) -> bool:
    """Whether the recipe of a name or path is one of stages."""
    return is_staged(read_recipe(find_recipe(workspace, name)).data)


def choose_any(workspace: Workspace, name: str, *, scale: str | None, sets: Sequence[str]) -> Chosen | ChosenStages:
    """The recipe of a name or path, expanded, with or without stages. Raises NotFound, or UsageError naming file,
    line and key."""
    return _chosen(workspace, read_recipe(find_recipe(workspace, name)), scale, tuple(sets))


def choose_recipe(workspace: Workspace, name: str, *, scale: str | None, sets: Sequence[str]) -> Chosen:
    """The recipe of a name or path, expanded; it has no stages. Raises as `choose_any`."""
    found = read_recipe(find_recipe(workspace, name))
    if is_staged(found.data):
        raise UsageError(
            f"{found.file.name} has stages, so it is not a plan by itself",
            cause="only a recipe with a command can be a stage, or be resumed by its entry",
            hint=f"logbook sweep {name}",
        )
    return _with_plan(found, scale, tuple(sets))


def choose_stages(workspace: Workspace, name: str, *, scale: str | None, sets: Sequence[str]) -> ChosenStages:
    """The recipe of stages of a name or path, every stage expanded. Raises as `choose_any`."""
    return _with_stages(workspace, read_recipe(find_recipe(workspace, name)), scale, tuple(sets))


def habits(chosen: Chosen, done: set[str] | None) -> tuple[Violation, ...]:
    """The rules that a plan breaks and that are merely habits. Raises UsageError for another one."""
    found = violations(chosen.plan, done=done)
    for broken in found:
        if broken.severity is Severity.ERROR:
            again = sweep_command(chosen.recipe.name, "--dry-run", scale=chosen.scale, sets=chosen.sets)
            raise UsageError(
                f"{chosen.file.path.name} breaks the rule {broken.rule}: {broken.message}",
                cause=broken.reason,
                hint=f"to see the plan: {again}",
            )
    return found


def _chosen(workspace: Workspace, found: RecipeData, scale: str | None, sets: tuple[str, ...]) -> Chosen | ChosenStages:
    if is_staged(found.data):
        return _with_stages(workspace, found, scale, sets)
    return _with_plan(found, scale, sets)


def _with_plan(found: RecipeData, scale: str | None, sets: tuple[str, ...], *, typed: tuple[str, ...] = ()) -> Chosen:
    """`typed`: of a stage those of `sets` that do not stand with it."""
    with found.located(scale):
        try:
            plan = _expanded(found, scale, sets)
        except RecipeProblem as error:
            if error.place and sets and _fits(found, scale):
                raise blamed_on_sets(error, typed or sets) from error
            raise
    return Chosen(file=found.file, scale=scale, sets=sets, plan=plan)


def _expanded(found: RecipeData, scale: str | None, sets: tuple[str, ...]) -> SweepPlan:
    plan = expand(parse_recipe(found.data, scale=scale, sets=sets))
    found.check_name(plan.recipe.name)
    return plan


def _fits(found: RecipeData, scale: str | None) -> bool:
    """Whether the recipe is one with nothing set."""
    try:
        _expanded(found, scale, ())
    except RecipeProblem:
        return False
    return True


def _with_stages(workspace: Workspace, found: RecipeData, scale: str | None, sets: tuple[str, ...]) -> ChosenStages:
    with found.located(scale):
        recipe = parse_staged(found.data, scale=scale)
        found.check_name(recipe.name)
        files = [_stage_file(workspace, stage, f"stages[{i}].recipe") for i, stage in enumerate(recipe.stages)]
    known: list[Settable] = []
    for number, file in enumerate(files):
        with of_stage(recipe, number):
            known.append(_settable(file, scale))
            _check_sets(found, recipe, number, file, scale)
    taken = shared_out(sets, known)
    parts = []
    for number, file in enumerate(files):
        with of_stage(recipe, number):
            stage, typed = recipe.stages[number], taken[number]
            parts.append(_with_plan(file, scale, stage_sets(stage, typed), typed=typed))
            with found.located(scale):
                check_baseline(stage, parts[number].plan, f"stages[{number}].baseline")
    with found.located(None):
        _check_distinct(recipe, parts)
    return ChosenStages(file=found.file, scale=scale, sets=sets, recipe=recipe, parts=tuple(parts))


@contextlib.contextmanager
def of_stage(recipe: StagedRecipe, number: int) -> Iterator[None]:
    """Errors name the stage (counted from 0) that they belong to."""
    try:
        yield
    except LogbookError as error:
        error.reword(f"stage {number + 1} of {recipe.name}, {recipe.stages[number].recipe}: {error.message}")
        raise


def _check_distinct(recipe: StagedRecipe, parts: Sequence[Chosen]) -> None:
    """A stage that runs the same as another one would be taken for it."""
    digests = [part.plan.digest for part in parts]
    for number, digest in enumerate(digests):
        first = digests.index(digest)
        if first != number:
            raise RecipeProblem(
                f"stages {first + 1} and {number + 1} run the same commands",
                place=f"stages[{number}]",
                cause=f"both are {recipe.stages[number].recipe} with the same values",
                hint="remove one of them; for more runs of each case write set: {repeats: 6}",
            )


def _stage_file(workspace: Workspace, stage: Stage, place: str) -> RecipeData:
    """The file of a stage's recipe, which must not have stages itself."""
    try:
        found = read_recipe(find_recipe(workspace, stage.recipe))
    except NotFound as error:
        raise misplaced(error, place) from error
    if is_staged(found.data):
        raise RecipeProblem(
            f"the stage {stage.recipe} has stages itself",
            place=place,
            cause="a stage is a recipe with a command",
            hint=f"name its stages here, in place of {stage.recipe}",
        )
    return found


def _check_sets(found: RecipeData, recipe: StagedRecipe, number: int, file: RecipeData, scale: str | None) -> None:
    """Check that what a stage sets fits its recipe; an error names the line."""
    sets = recipe.stages[number].sets
    for count, text in enumerate(sets, start=1):
        with found.located(scale):
            try:
                parse_recipe(file.data, scale=scale, sets=sets[:count])
            except RecipeProblem as error:
                raise blamed_on_stage(error, text, f"stages[{number}].set") from error


def _settable(found: RecipeData, scale: str | None) -> Settable:
    """What `--set` can change in a stage."""
    with found.located(scale):
        parse_recipe(found.data, scale=scale)
        data = at_scale(found.data, scale, TOP_KEYS)
        return Settable(keys=tuple(settable_keys(data)), axes=tuple(axis_names(data)))


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
