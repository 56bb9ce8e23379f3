"""Recipes as files: which there are, one of them found, read and expanded at a scale, and its problems told where they
stand or were typed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from logbook_agent.campaign.recipes.expand import SweepPlan, expand
from logbook_agent.campaign.recipes.habits import Severity, Violation, violations
from logbook_agent.campaign.recipes.overrides import pair_of
from logbook_agent.campaign.recipes.placed import RecipeProblem, suggestion
from logbook_agent.campaign.recipes.recipe import Recipe
from logbook_agent.campaign.recipes.recipe_data import parse_recipe
from logbook_agent.model.errors import LogbookError, NotFound, StoreError, UsageError
from logbook_agent.model.header import CommandTemplate, HeaderParts, MatrixAxis
from logbook_agent.model.values import canonical
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import builtin_folder
from logbook_agent.store.opening import named_text
from logbook_agent.store.parse import line_of, parse_yaml
from logbook_agent.store.repository import repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.shell_words import sweep_command

FOLDER = "recipes"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeFile:
    """A recipe's file; `own`: the project's, not one that comes with the tool. `files`: the folder below which no
    link is followed; None for one that the user named, or that comes with the tool."""

    name: str
    path: Path
    own: bool
    files: Folder | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeData:
    """What a recipe's file holds: its text, and that as plain data."""

    file: RecipeFile
    text: str
    data: Any

    @contextlib.contextmanager
    def located(self, scale: str | None) -> Iterator[None]:
        """Problems begin with file and line, as far as they can be told."""
        try:
            yield
        except RecipeProblem as error:
            if error.place:
                place = f"scale.{scale}.{error.place}" if _in_scale(self.data, scale, error.place) else error.place
                line = line_of(self.text, place)
                at = f", line {line}" if line is not None else ""
                error.reword(f"{self.file.path.name}{at}: {error.message}")
            raise

    def check_name(self, name: str) -> None:
        """A recipe is called as its file is."""
        if name != self.file.name:
            raise RecipeProblem(
                f"the recipe is named {name}, but its file {self.file.name}",
                place="name",
                cause="a recipe must have the name of its file",
                hint=f"write: name: {self.file.name}",
            )


def recipe_files(workspace: Workspace) -> list[RecipeFile]:
    """The project's recipes, by name, then those that come with the tool and have another name."""
    found: dict[str, RecipeFile] = {}
    own = _own_folder(workspace)
    packaged = builtin_folder(FOLDER)
    for folder in (own, packaged):
        if folder is None:
            continue
        for path in sorted(folder.glob("*.yaml")):
            is_own = not packaged.is_dir() or not path.parent.samefile(packaged)
            found.setdefault(
                path.stem,
                RecipeFile(name=path.stem, path=path, own=is_own, files=Folder(folder.parent) if is_own else None),
            )
    return sorted(found.values(), key=lambda file: (not file.own, file.name))


def read_recipe(file: RecipeFile) -> RecipeData:
    """The text and data of a recipe's file. Raises UsageError or StoreError when it cannot be read or holds no keys."""
    try:
        text = named_text(file.path) if file.files is None else file.files.text(file.path)
    except StoreError as error:
        raise UsageError(
            error.message, cause=f"a recipe is a YAML file; {error.cause}", hint="list the recipes: logbook sweep"
        ) from error
    data = parse_yaml(text, str(file.path))
    if not isinstance(data, dict):
        raise UsageError(
            f"{file.path.name} holds no keys", cause="a recipe is a mapping", hint=f"start it with: name: {file.name}"
        )
    return RecipeData(file=file, text=text, data=data)


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


def find_recipe(workspace: Workspace, name: str) -> RecipeFile:
    if "/" in name or name.endswith((".yaml", ".yml")):
        path = (workspace.cwd / Path(name).expanduser()).absolute()
        if not path.is_file():
            raise NotFound(
                f"no recipe at {name}", cause="there is no such file", hint="list the recipes: logbook sweep"
            )
        return RecipeFile(name=path.stem, path=path, own=True)
    files = {file.name: file for file in recipe_files(workspace)}
    if name in files:
        return files[name]
    raise NotFound(
        f"no recipe {name!r}",
        cause=f"available recipes: {', '.join(files) or 'none'}",
        hint=suggestion(name, files) or "list the recipes: logbook sweep",
    )


def _in_scale(data: Any, scale: str | None, place: str) -> bool:
    """Whether what stands at a place was put there by a scale."""
    top, _, rest = place.partition(".")
    scales = data.get("scale")
    values = scales.get(scale) if isinstance(scales, dict) else None
    part = values.get(top.split("[")[0]) if isinstance(values, dict) else None
    return part is not None and (not rest or not isinstance(part, dict) or rest.split("[")[0].split(".")[0] in part)


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


def list_recipes(workspace: Workspace) -> list[Chosen]:
    """Every recipe with its plans; one that does not fit is a warning."""
    found = []
    for file in recipe_files(workspace):
        try:
            found.append(_chosen(read_recipe(file), None, ()))
        except LogbookError as error:
            workspace.warnings.append(f"{file.name}: {error.message}")
    return found


def choose_recipe(workspace: Workspace, name: str, *, scale: str | None, sets: Sequence[str]) -> Chosen:
    """The recipe of a name or path, expanded. Raises NotFound, or UsageError naming file, line and key."""
    return _chosen(read_recipe(find_recipe(workspace, name)), scale, tuple(sets))


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


def _chosen(found: RecipeData, scale: str | None, sets: tuple[str, ...]) -> Chosen:
    with found.located(scale):
        try:
            plan = _expanded(found, scale, sets)
        except RecipeProblem as error:
            if error.place and sets and _fits(found, scale):
                raise blamed_on_sets(error, sets) from error
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


def header_of_recipe(workspace: Workspace, name: str, scale: str | None, file: HeaderParts) -> HeaderParts:
    """The parts of a header that a recipe states at a scale; the topic is its name. Those of a header file win, and add
    to the lists."""
    chosen = choose_recipe(workspace, name, scale=scale, sets=())
    recipe = chosen.recipe
    template = CommandTemplate(label=recipe.name, command=sweep_command(name, scale=scale))
    return replace(
        file,
        topic=recipe.name if file.topic is None else file.topic,
        goal=recipe.question if file.goal is None else file.goal,
        metrics=_added(recipe.metrics, file.metrics, lambda metric: metric.name),
        gates=_added(recipe.gates, file.gates, lambda text: text),
        constraints=_added(recipe.constraints, file.constraints, lambda text: text),
        stop_criteria=_added(recipe.criteria, file.stop_criteria, lambda criterion: criterion.text),
        matrix=_added(_matrix(chosen), file.matrix, lambda axis: axis.axis),
        command_templates=_added((template,), file.command_templates, lambda command: command.label),
    )


def _added(stated: Sequence[T], of_file: Sequence[T], name_of: Callable[[T], str]) -> tuple[T, ...]:
    """What a recipe states, without those that the file has under the same name, and these."""
    told = {name_of(item) for item in of_file}
    return (*(item for item in stated if name_of(item) not in told), *of_file)


def _matrix(chosen: Chosen) -> tuple[MatrixAxis, ...]:
    """Every key that the plan varies, with its values in the order in which they come."""
    plan = chosen.plan
    found = {key: dict.fromkeys(canonical(plan.config(case)[key]) for case in plan.cases) for key in plan.varied}
    return tuple(MatrixAxis(axis=key, values=tuple(values)) for key, values in found.items())
