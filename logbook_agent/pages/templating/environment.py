"""The Jinja environment of all templates: undefined names refused, blocks trimmed, filters that keep text in place; and
the folder of a project's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from logbook_agent.model.errors import StoreError
from logbook_agent.text import markdown as md

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment

SUFFIX = ".j2"


def environment(kind: Callable[..., Environment], loader: BaseLoader) -> Environment:
    """An environment of this class with the settings and filters that every template can count on."""
    import jinja2

    made = kind(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        autoescape=False,
    )
    made.filters.update(
        bullet=lambda text, label: md.bullet(label, text),
        code=md.inline_code,
        command=md.command,
        fence=md.fence,
        indent_block=md.indent,
        items=md.items,
        one_line=md.one_line,
        cell=md.cell,
    )
    return made


def problem(error: Exception, name: str) -> tuple[str, str, int | None]:
    """The template, what is wrong with it, and the line, of an error that arose while `name` was rendered."""
    import jinja2

    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.name or name, error.message or "syntax error", error.lineno
    if isinstance(error, jinja2.UndefinedError):
        return name, error.message or "an undefined name", _line_of(error, name)
    if isinstance(error, jinja2.TemplateError):
        return name, error.message or "not rendered", _line_of(error, name)
    # A template computes what it likes, so anything may go wrong in it.
    said = ": ".join(t for t in (type(error).__name__, str(error)) if t)
    return name, said, _line_of(error, name)


def _line_of(error: BaseException, name: str) -> int | None:
    """The line of the template where the error arose: the last frame that Jinja maps to its file."""
    line = None
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.endswith(name):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def own_folder(folder: Path) -> Path:
    """The folder of templates with its links resolved. Raises StoreError."""
    if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises for a folder that may not be looked into
        raise StoreError(
            f"no template folder at {folder}",
            cause="the setting `templates` names it",
            hint="create it, or remove the setting",
        )
    return Path(os.path.realpath(folder))
