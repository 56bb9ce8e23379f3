"""One recipe chosen, at a scale, expanded and checked; and the list of all there are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from logbook_agent.findings.criteria.predicate import checked_predicate
from logbook_agent.model.errors import LogbookError, NotFound, UsageError
from logbook_agent.model.header import Criterion
from logbook_agent.store.onward import sweep_command
from logbook_agent.store.workspace import Workspace
from logbook_agent.sweeps.recipe_files import RecipeData, RecipeFile, find_recipe, read_recipe, recipe_files
from logbook_agent.sweeps.recipes.blame import blamed_on_sets, blamed_on_stage, check_baseline
from logbook_agent.sweeps.recipes.expand import SweepPlan, expand
from logbook_agent.sweeps.recipes.overrides import at_scale, axis_names, settable_keys
from logbook_agent.sweeps.recipes.parse import TOP_KEYS, parse_recipe
from logbook_agent.sweeps.recipes.problem import RecipeProblem
from logbook_agent.sweeps.recipes.recipe import Recipe
from logbook_agent.sweeps.recipes.rules import Severity, Violation, violations
from logbook_agent.sweeps.recipes.stages import (
    Settable,
    Stage,
    StagedRecipe,
    is_staged,
    parse_staged,
    shared_out,
    stage_sets,
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A recipe of the list, or why its file cannot be used."""

    file: RecipeFile
    chosen: Chosen | ChosenStages | None
    problem: LogbookError | None = None

    @property
    def scales(self) -> tuple[str, ...]:
        """The scales that every part has."""
        parts = self.chosen.parts if self.chosen is not None else ()
        return tuple(s for s in parts[0].recipe.scales if all(s in p.recipe.scales for p in parts)) if parts else ()


def list_recipes(workspace: Workspace) -> list[Listed]:
    """Every recipe with its plans; one that does not fit is listed with its problem."""
    found = []
    for file in recipe_files(workspace):
        try:
            found.append(Listed(file=file, chosen=_chosen(workspace, read_recipe(file), None, ())))
        except LogbookError as error:
            found.append(Listed(file=file, chosen=None, problem=error))
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


def refused(chosen: Chosen, found: Sequence[Violation]) -> UsageError | None:
    """The error of a plan that breaks a rule which is not merely a habit."""
    broken = [v for v in found if v.severity is Severity.ERROR]
    if not broken:
        return None
    first, name = broken[0], chosen.recipe.name
    return UsageError(
        f"{chosen.file.path.name} breaks the rule {first.rule}: {first.message}",
        cause=first.reason,
        hint=f"to see the plan: {sweep_command(name, '--dry-run', scale=chosen.scale, sets=chosen.sets)}",
    )


def rules_of(chosen: Chosen, done: set[str] | None) -> tuple[Violation, ...]:
    return violations(chosen.plan, done=done)


def _chosen(workspace: Workspace, found: RecipeData, scale: str | None, sets: tuple[str, ...]) -> Chosen | ChosenStages:
    if is_staged(found.data):
        return _with_stages(workspace, found, scale, sets)
    return _with_plan(found, scale, sets)


def _with_plan(found: RecipeData, scale: str | None, sets: tuple[str, ...], *, typed: tuple[str, ...] = ()) -> Chosen:
    """`typed`: of a stage those of `sets` that do not stand with it."""
    try:
        plan = _expanded(found, scale, sets)
    except RecipeProblem as error:
        if error.place and sets and _fits(found, scale):
            raise blamed_on_sets(error, typed or sets) from error
        raise found.located(error, scale) from error
    return Chosen(file=found.file, scale=scale, sets=sets, plan=plan)


def _expanded(found: RecipeData, scale: str | None, sets: tuple[str, ...]) -> SweepPlan:
    plan = expand(parse_recipe(found.data, scale=scale, sets=sets))
    found.check_name(plan.recipe.name)
    _check_predicates(plan.recipe.criteria)
    return plan


def _fits(found: RecipeData, scale: str | None) -> bool:
    """Whether the recipe is one with nothing set."""
    try:
        _expanded(found, scale, ())
    except RecipeProblem:
        return False
    return True


def _with_stages(workspace: Workspace, found: RecipeData, scale: str | None, sets: tuple[str, ...]) -> ChosenStages:
    try:
        recipe = parse_staged(found.data, scale=scale)
        found.check_name(recipe.name)
        _check_predicates(recipe.criteria)
        files = [_stage_file(workspace, stage, f"stages[{i}].recipe") for i, stage in enumerate(recipe.stages)]
    except RecipeProblem as error:
        raise found.located(error, scale) from error
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
            try:
                check_baseline(stage, parts[number].plan, f"stages[{number}].baseline")
            except RecipeProblem as error:
                raise found.located(error, scale) from error
    _check_distinct(found, recipe, parts)
    return ChosenStages(file=found.file, scale=scale, sets=sets, recipe=recipe, parts=tuple(parts))


def _check_predicates(criteria: Sequence[Criterion]) -> None:
    """A typo in a predicate is met when the recipe is read, not when its sweep is done. Raises RecipeProblem."""
    for number, criterion in enumerate(criteria):
        if criterion.predicate is None:
            continue
        try:
            checked_predicate(criterion.predicate)
        except UsageError as error:
            place = f"criteria[{number}].predicate"
            raise RecipeProblem(error.message, place=place, cause=error.cause, hint=error.hint) from error


@contextlib.contextmanager
def of_stage(recipe: StagedRecipe, number: int) -> Iterator[None]:
    """Errors name the stage (counted from 0) that they belong to."""
    try:
        yield
    except LogbookError as error:
        error.reword(f"stage {number + 1} of {recipe.name}, {recipe.stages[number].recipe}: {error.message}")
        raise


def _check_distinct(found: RecipeData, recipe: StagedRecipe, parts: Sequence[Chosen]) -> None:
    """A stage that runs the same as another one would be taken for it."""
    digests = [part.plan.digest for part in parts]
    for number, digest in enumerate(digests):
        first = digests.index(digest)
        if first != number:
            raise found.located(
                RecipeProblem(
                    f"stages {first + 1} and {number + 1} run the same commands",
                    place=f"stages[{number}]",
                    cause=f"both are {recipe.stages[number].recipe} with the same values",
                    hint="remove one of them; for more runs of each case write set: {repeats: 6}",
                ),
                None,
            )


def _stage_file(workspace: Workspace, stage: Stage, place: str) -> RecipeData:
    """The file of a stage's recipe, which must not have stages itself."""
    try:
        found = read_recipe(find_recipe(workspace, stage.recipe))
    except NotFound as error:
        raise RecipeProblem(error.message, place=place, cause=error.cause, hint=error.hint) from error
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
        try:
            parse_recipe(file.data, scale=scale, sets=sets[:count])
        except RecipeProblem as error:
            raise found.located(blamed_on_stage(error, text, f"stages[{number}].set"), scale) from error


def _settable(found: RecipeData, scale: str | None) -> Settable:
    """What `--set` can change in a stage."""
    try:
        parse_recipe(found.data, scale=scale)
        data = at_scale(found.data, scale, TOP_KEYS)
        return Settable(keys=tuple(settable_keys(data)), axes=tuple(axis_names(data)))
    except RecipeProblem as error:
        raise found.located(error, scale) from error
