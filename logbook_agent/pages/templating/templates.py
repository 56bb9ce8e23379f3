"""Jinja templates: the project's own before the built-in ones.

Those of a project come with a branch that may be anybody's, so they are rendered in a sandbox and within limits.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from logbook_agent.model.errors import StoreError
from logbook_agent.pages.templating.environment import SUFFIX, environment, problem
from logbook_agent.store.layout import builtin_folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.redactor import by_shape

if TYPE_CHECKING:
    from jinja2 import Environment

    from logbook_agent.pages.templating.sandbox import Sandbox, TemplateLimits

NAMES = (
    "logbook.md.j2",
    "entry.md.j2",
    "table.md.j2",
    "footer.md.j2",
    "opening.md.j2",
    "issue_title.j2",
    "issue_body.md.j2",
    "issue_results.md.j2",
    "issue_update.md.j2",
    "issue_snapshot.md.j2",
    "issue_final.md.j2",
)
# What built-in templates include.
INCLUDED = {
    "logbook.md.j2": ("opening.md.j2",),
    "issue_body.md.j2": ("opening.md.j2", "issue_results.md.j2"),
    "issue_snapshot.md.j2": ("issue_results.md.j2",),
    "issue_final.md.j2": ("opening.md.j2",),
}


class Templates:
    """Renders a template by name, and takes secrets out of the text by `redact`. `override` is the project's folder of
    templates, if it has one. `limits`: what a document of the project's own templates may take."""

    def __init__(
        self,
        override: Path | None = None,
        *,
        limits: TemplateLimits | None = None,
        redact: Callable[[str], str] | None = None,
    ) -> None:
        self.redact = redact or by_shape().text
        self.folder = None if override is None else _own_folder(override)
        self._limits = limits

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """The text of a template. Raises StoreError naming the template, the line and what is wrong.

        Only the main thread has a timer that can stop the project's own: other threads use the built-in ones.
        """
        is_own = self._is_overridden(name) and threading.current_thread() is threading.main_thread()
        return self.redact(self._sandbox.render(name, values) if is_own else _render_builtin(name, values))

    def _is_overridden(self, name: str) -> bool:
        """Whether the project has this template, or one that it includes, readable or not."""
        folder = self.folder
        return folder is not None and any(os.path.lexists(folder / n) for n in (name, *INCLUDED.get(name, ())))

    def stamps(self) -> list[tuple[str, int, int]]:
        """Path, time of change (ns) and size of every template: other ones, other documents."""
        folders = [builtin_folder("templates"), *([self.folder] if self.folder is not None else [])]
        paths = sorted(f"{top}/{name}" for folder in folders for top, _, names in os.walk(folder) for name in names)
        states = [(path, os.lstat(path)) for path in paths if path.endswith(SUFFIX)]
        return [(path, state.st_ctime_ns, state.st_size) for path, state in states]

    @cached_property
    def _sandbox(self) -> Sandbox:
        from logbook_agent.pages.templating.sandbox import Sandbox, TemplateLimits

        assert self.folder is not None  # noqa: S101 - asked for by its own templates alone
        loader = _builtin(builtin_folder("templates")).loader
        assert loader is not None  # noqa: S101 - it has one
        return Sandbox(self.folder, loader, self._limits or TemplateLimits())


def _own_folder(folder: Path) -> Path:
    """The folder of a project's templates with its links resolved. Raises StoreError where there is none."""
    if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises for a folder that may not be looked into
        raise StoreError(
            f"no template folder at {folder}",
            cause="the setting `templates` names it",
            hint="create it, or remove the setting",
        )
    return Path(os.path.realpath(folder))


def _render_builtin(name: str, values: Mapping[str, object]) -> str:
    try:
        return _builtin(builtin_folder("templates")).get_template(name).render(values)
    except Exception as error:
        at_fault, message, line = problem(error, name)
        raise StoreError(
            f"template {at_fault}{f', line {line}' if line else ''}: {message}",
            cause="a built-in template",
            hint="this is a bug: please report it",
        ) from error


@functools.cache
def _builtin(folder: Path) -> Environment:
    """The environment of the built-in templates, one for each process: compiling a template takes longer than rendering
    it."""
    import jinja2

    made = environment(jinja2.Environment, jinja2.FileSystemLoader(folder))
    made.auto_reload = False  # else each of thousands of renderings looks at the file
    return made


@functools.lru_cache(maxsize=4)
def templates_of(workspace: Workspace) -> Templates:
    """The templates of an invocation."""
    config = workspace.config
    own = config.folder / config.templates if config.folder is not None and config.templates else None
    return Templates(own, redact=lambda text: workspace.redactor.text(text))
