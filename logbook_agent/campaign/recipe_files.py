"""Recipes as files: which there are, one of them found, read with what it extends and expanded at a scale, and its
problems told where they stand or were typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, structs

from logbook_agent.campaign.recipes.expand import SweepPlan, expand
from logbook_agent.campaign.recipes.reading import config_keys, merged, pair_of, parse_recipe, scales_asked
from logbook_agent.model.codec import CodecError
from logbook_agent.model.errors import LogbookError, NotFound, StoreError, UsageError
from logbook_agent.model.header import CommandTemplate, HeaderParts, MatrixAxis
from logbook_agent.model.values import canonical
from logbook_agent.store.folder import Folder, named_text
from logbook_agent.store.parse import line_of, parse_yaml
from logbook_agent.store.places import builtin_folder, manual, repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed, nearest
from logbook_agent.text.shell_words import sweep_command

FOLDER = "recipes"
# Files that others merely extend are named `_NAME.yaml`.
_LISTED = "[!_]*.yaml"

T = TypeVar("T")


class RecipeFile(Struct, frozen=True, kw_only=True):
    """A recipe's file; `own`: the project's, not one that comes with the tool. `files`: the folder below which no
    link is followed; None for one that the user named, or that comes with the tool."""

    path: Path
    own: bool
    files: Folder | None = None

    @property
    def name(self) -> str:
        return self.path.stem


class RecipePart(Struct, frozen=True, kw_only=True):
    """A file's text, and that as plain data."""

    path: Path
    text: str
    data: dict[str, Any]


class RecipeData(Struct, frozen=True, kw_only=True):
    """The file of a recipe, and behind it what it extends, the nearest first."""

    file: RecipeFile
    parts: tuple[RecipePart, ...]

    @property
    def data(self) -> dict[str, Any]:
        """All parts as one."""
        found: dict[str, Any] = {}
        for part in reversed(self.parts):
            found = merged(found, part.data)
        return found

    def plan(self, scale: str | None = None, sets: tuple[str, ...] = ()) -> SweepPlan:
        """The recipe expanded. Raises CodecError."""
        own, *bases = (config_keys(part.data) for part in self.parts)
        recipe = parse_recipe(self.data, scale=scale, sets=sets, inherited=set().union(*bases) - own)
        if recipe.name != self.file.name:
            raise CodecError(f"a recipe has the name of its file; write name: {self.file.name}", ".name")
        return structs.replace(expand(recipe), file=str(self.file.path), own=self.file.own, scale=scale, sets=sets)

    def chosen(self, scale: str | None = None, sets: tuple[str, ...] = ()) -> SweepPlan:
        """The recipe expanded. Raises UsageError, which names file and line, or what was typed."""
        try:
            return self.plan(scale, sets)
        except CodecError as error:
            place = self._typed(error, scale, sets) if sets and error.path else self._place(error, scale)
            near, choices = nearest(error.given, error.choices), listed(error.choices)
            raise UsageError(
                f"{place}: {error}",
                cause=f"choose from: {choices}" if choices else "a recipe is checked before anything runs",
                hint=f"did you mean {near}?" if near else f"recipes are explained in {manual('how-to/recipes.md')}",
            ) from error

    def _typed(self, error: CodecError, scale: str | None, sets: Sequence[str]) -> str:
        """Those of the `--set` that a problem is about; the place in a file where it is there without them."""
        try:
            self.plan(scale)
        except CodecError:
            return self._place(error, scale)
        own = [text for text in sets if f".{pair_of(text)[0]}" == error.path[-1]]
        return " ".join(f"--set {text}" for text in own or sets)

    def _place(self, error: CodecError, scale: str | None) -> str:
        """File and line, as far as they can be told: of the scale or else the file that states most of the path."""
        scales = [f".scale.{name}" for name in reversed(scales_asked(self.data, scale))]
        found = [
            (depth - above.count("."), part.path.name, line)
            for above in (*scales, "")
            for part in self.parts
            for line, depth in [line_of(part.text, f"{above}{''.join(error.path)}")]
        ]
        _, name, line = max(found, key=lambda place: place[0])
        return f"{name}{f', line {line}' if line is not None and error.path else ''}"


def recipe_files(workspace: Workspace) -> list[RecipeFile]:
    """The project's recipes, by name, then those that come with the tool and have another name."""
    packaged = builtin_folder(FOLDER)
    found = {path.stem: RecipeFile(path=path, own=False) for path in packaged.glob(_LISTED)}
    own = _own_folder(workspace)
    if own is not None and not (packaged.is_dir() and own.samefile(packaged)):
        files = Folder(own.parent)
        found |= {path.stem: RecipeFile(path=path, own=True, files=files) for path in own.glob(_LISTED)}
    return sorted(found.values(), key=lambda file: (not file.own, file.name))


def read_recipe(file: RecipeFile) -> RecipeData:
    """A recipe's file with what it extends. Raises UsageError or StoreError for a file that cannot be read or holds no
    keys."""
    parts = [_part(file.path, file.files)]
    while (name := parts[-1].data.get("extends")) is not None:
        path = _extended(parts[-1].path, str(name))
        if path in [part.path for part in parts]:
            raise UsageError(
                f"{file.path.name} extends itself",
                cause=" extends ".join([*(part.path.stem for part in parts), path.stem]),
                hint=f"remove `extends: {name}` from {parts[-1].path.name}",
            )
        parts.append(_part(path, None if path.parent == builtin_folder(FOLDER) else Folder(path.parent)))
    return RecipeData(file=file, parts=tuple(parts))


def _extended(path: Path, name: str) -> Path:
    """The file that another one extends: one beside it, else one that comes with the tool."""
    folders = (builtin_folder(FOLDER), path.parent)
    known = {other.stem: other for folder in folders for other in sorted(folder.glob("*.yaml")) if other != path}
    if name not in known:
        near = nearest(name, known)
        raise UsageError(
            f"{path.name} extends {name!r}, which does not exist",
            cause=f"it names a recipe beside {path.name}, or one that comes with the tool",
            hint=f"did you mean {near}?" if near else f"extend one of: {listed([*known])}",
        )
    return known[name]


def _part(path: Path, files: Folder | None) -> RecipePart:
    try:
        text = named_text(path) if files is None else files.text(path)
    except StoreError as error:
        raise UsageError(
            error.message, cause=f"a recipe is a YAML file; {error.cause}", hint="list the recipes: logbook sweep"
        ) from error
    data = parse_yaml(text, str(path))
    if not isinstance(data, dict):
        raise UsageError(
            f"{path.name} holds no keys", cause="a recipe is a mapping", hint=f"start it with: name: {path.stem}"
        )
    return RecipePart(path=path, text=text, data={key: value for key, value in data.items() if value is not None})


def _own_folder(workspace: Workspace) -> Path | None:
    """The nearest folder `recipes` with a recipe in it, from here up to the top of the repository."""
    place = repository_of(workspace.cwd)
    for folder in (workspace.cwd, *workspace.cwd.parents):
        if any((folder / FOLDER).glob("*.yaml")):
            return folder / FOLDER
        if place is not None and folder == place.top:
            break
    return None


def find_recipe(workspace: Workspace, name: str) -> RecipeFile:
    if "/" in name or name.endswith((".yaml", ".yml")):
        return RecipeFile(path=(workspace.cwd / Path(name).expanduser()).absolute(), own=True)
    files = {file.name: file for file in recipe_files(workspace)}
    if name in files:
        return files[name]
    near = nearest(name, files)
    raise NotFound(
        f"no recipe {name!r}",
        cause=f"available recipes: {', '.join(files) or 'none'}",
        hint=f"did you mean {near}?" if near else "list the recipes: logbook sweep",
    )


def list_recipes(workspace: Workspace) -> list[SweepPlan]:
    """Every recipe with its plans; one that does not fit is a warning."""
    found = []
    for file in recipe_files(workspace):
        try:
            found.append(read_recipe(file).chosen())
        except LogbookError as error:
            workspace.warnings.append(f"{file.name}: {error.message}")
    return found


def choose_recipe(workspace: Workspace, name: str, *, scale: str | None, sets: Sequence[str]) -> SweepPlan:
    """The recipe of a name or path, expanded. Raises NotFound, or UsageError naming file, line and key."""
    return read_recipe(find_recipe(workspace, name)).chosen(scale, tuple(sets))


def header_of_recipe(workspace: Workspace, name: str, scale: str | None, file: HeaderParts) -> HeaderParts:
    """The parts of a header that a recipe states at a scale; the topic is its name. Those of a header file win, and add
    to the lists."""
    plan = choose_recipe(workspace, name, scale=scale, sets=())
    recipe = plan.recipe
    values = {key: dict.fromkeys(canonical(case.values[key]) for case in plan.cases) for key in plan.varied}
    matrix = [MatrixAxis(axis=key, values=tuple(found)) for key, found in values.items()]
    template = CommandTemplate(label=recipe.name, command=sweep_command(name, scale=scale))
    return structs.replace(
        file,
        topic=recipe.name if file.topic is None else file.topic,
        goal=recipe.question if file.goal is None else file.goal,
        metrics=_added(recipe.metrics, file.metrics, lambda metric: metric.name),
        gates=_added(recipe.gates, file.gates, str),
        constraints=_added(recipe.constraints, file.constraints, str),
        stop_criteria=_added(recipe.criteria, file.stop_criteria, lambda criterion: criterion.text),
        matrix=_added(matrix, file.matrix, lambda axis: axis.axis),
        command_templates=_added([template], file.command_templates, lambda command: command.label),
    )


def _added(stated: Sequence[T], of_file: Sequence[T], name_of: Callable[[T], str]) -> tuple[T, ...]:
    """What a recipe states, and what the file adds or has under the same name."""
    return tuple({name_of(item): item for item in (*stated, *of_file)}.values())
