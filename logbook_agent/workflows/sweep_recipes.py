"""Recipes as files: which there are, and one of them read, at a scale, expanded and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logbook_agent.errors import LogbookError, NotFound, UsageError
from logbook_agent.recipes.expand import Plan, expand
from logbook_agent.recipes.parse import parse_recipe
from logbook_agent.recipes.problem import RecipeProblem, suggestion
from logbook_agent.recipes.recipe import Recipe
from logbook_agent.recipes.rules import Severity, Violation, violations
from logbook_agent.report.templates import builtin_folder
from logbook_agent.repository import repository_of
from logbook_agent.store.lines import line_of
from logbook_agent.store.records import parse_yaml
from logbook_agent.workflows.workspace import Workspace

FOLDER = "recipes"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeFile:
    """A recipe's file; `own`: the project's, not one that comes with the tool."""

    name: str
    path: Path
    own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A plan with what was asked for to get it."""

    file: RecipeFile
    scale: str | None
    sets: tuple[str, ...]
    plan: Plan

    @property
    def recipe(self) -> Recipe:
        return self.plan.recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A recipe of the list, or why its file cannot be used."""

    file: RecipeFile
    plan: Plan | None
    problem: LogbookError | None = None


def recipe_files(workspace: Workspace) -> list[RecipeFile]:
    """The project's recipes, by name, then those that come with the tool and have another name."""
    found: dict[str, RecipeFile] = {}
    own = _own_folder(workspace)
    packaged = builtin_folder(FOLDER)
    for folder in (own, packaged):
        for path in sorted(folder.glob("*.yaml")) if folder is not None else ():
            is_own = not packaged.is_dir() or not path.parent.samefile(packaged)
            found.setdefault(path.stem, RecipeFile(name=path.stem, path=path, own=is_own))
    return sorted(found.values(), key=lambda file: (not file.own, file.name))


def list_recipes(workspace: Workspace) -> list[Listed]:
    """Every recipe with its plan; one that does not fit is listed with its problem."""
    found = []
    for file in recipe_files(workspace):
        try:
            found.append(Listed(file=file, plan=_read(file, None, ())))
        except LogbookError as error:
            found.append(Listed(file=file, plan=None, problem=error))
    return found


def choose_recipe(workspace: Workspace, name: str, *, scale: str | None, sets: Sequence[str]) -> Chosen:
    """The recipe of a name or path, expanded. Raises NotFound, or UsageError naming file, line and key."""
    file = _find(workspace, name)
    return Chosen(file=file, scale=scale, sets=tuple(sets), plan=_read(file, scale, sets))


def refused(chosen: Chosen, found: Sequence[Violation]) -> UsageError | None:
    """The error of a plan that breaks a rule which is not merely a habit."""
    broken = [v for v in found if v.severity is Severity.ERROR]
    if not broken:
        return None
    first = broken[0]
    return UsageError(
        f"{chosen.file.path.name} breaks the rule {first.rule}: {first.message}",
        cause=first.reason,
        hint=f"look at the plan: logbook sweep {chosen.recipe.name} --dry-run",
    )


def rules_of(chosen: Chosen, done: set[str] | None) -> tuple[Violation, ...]:
    return violations(chosen.plan, done=done)


def _own_folder(workspace: Workspace) -> Path | None:
    """The nearest folder `recipes` with a recipe in it, from here up to the top of the repository."""
    place = repository_of(workspace.cwd)
    top = place.top if place is not None else None
    for folder in (workspace.cwd, *workspace.cwd.parents):
        if any((folder / FOLDER).glob("*.yaml")):
            return folder / FOLDER
        if folder == top:
            break
    return None


def _find(workspace: Workspace, name: str) -> RecipeFile:
    if "/" in name or name.endswith((".yaml", ".yml")):
        path = (workspace.cwd / Path(name).expanduser()).absolute()
        if not path.is_file():
            raise NotFound(
                f"no recipe at {name}", cause="there is no such file", hint="list those there are: logbook sweep"
            )
        return RecipeFile(name=path.stem, path=path, own=True)
    files = {file.name: file for file in recipe_files(workspace)}
    if name in files:
        return files[name]
    raise NotFound(
        f"no recipe {name!r}",
        cause=f"there are: {', '.join(files) or 'none'}",
        hint=suggestion(name, files) or "list them: logbook sweep",
    )


def _read(file: RecipeFile, scale: str | None, sets: Sequence[str]) -> Plan:
    try:
        text = file.path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read {file.path}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}",
            cause="a recipe is a YAML file",
            hint="list those there are: logbook sweep",
        ) from error
    data = parse_yaml(text, str(file.path))
    try:
        plan = expand(parse_recipe(data, scale=scale, sets=sets))
        if plan.recipe.name != file.name:
            raise RecipeProblem(
                f"the recipe calls itself {plan.recipe.name}, its file {file.name}",
                place="name",
                cause="a recipe is asked for by the name of its file",
                hint=f"write: name: {file.name}",
            )
    except RecipeProblem as error:
        raise located(error, file, text, scale, data) from error
    return plan


def located(error: RecipeProblem, file: RecipeFile, text: str, scale: str | None, data: Any) -> RecipeProblem:
    """The problem with file and line in front, as far as they can be told."""
    if error.place:
        place = f"scale.{scale}.{error.place}" if _in_scale(data, scale, error.place) else error.place
        line = line_of(text, place)
        at = f", line {line}" if line is not None else ""
        error.reword(f"{file.path.name}{at}: {error.message}")
    return error


def _in_scale(data: Any, scale: str | None, place: str) -> bool:
    """Whether what stands at a place was put there by a scale."""
    top, _, rest = place.partition(".")
    part = data["scale"][scale].get(top.split("[")[0]) if scale is not None and scale in data["scale"] else None
    return part is not None and (not rest or not isinstance(part, dict) or rest.split("[")[0].split(".")[0] in part)
