"""Jinja templates: the project's own before the built-in ones, sandboxed, undefined names refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logbook_agent.errors import StoreError
from logbook_agent.markdown import text as md

if TYPE_CHECKING:
    from jinja2 import Environment

NAMES = (
    "logbook.md.j2",
    "entry.md.j2",
    "table.md.j2",
    "footer.md.j2",
    "issue_title.j2",
    "issue_body.md.j2",
    "issue_results.md.j2",
    "issue_update.md.j2",
    "issue_snapshot.md.j2",
    "issue_final.md.j2",
    "issue_link.md.j2",
)
_PACKAGE = Path(__file__).resolve().parent.parent


def builtin_folder(name: str) -> Path:
    """`templates` or `recipes`: inside the wheel, or at the top of a source checkout."""
    packed = _PACKAGE / "_data" / name
    return packed if packed.is_dir() else _PACKAGE.parent / name


class Templates:
    """Renders a template by name. `override` is the project's folder of templates, if it has one."""

    def __init__(self, override: Path | None = None) -> None:
        if override is not None and not override.is_dir():
            raise StoreError(
                f"no folder of templates at {override}",
                cause="the setting `templates` names it",
                hint="create it, or remove the setting",
            )
        self.override = override
        self._environment = _environment(override)

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """The text of a template. Raises StoreError naming the template, the line and what is wrong."""
        import jinja2

        try:
            return self._environment.get_template(name).render(values)
        except jinja2.UndefinedError as error:
            raise self._error(name, error.message or "an undefined name", _line_of(error, name)) from error
        except jinja2.TemplateSyntaxError as error:
            raise self._error(error.name or name, error.message or "syntax error", error.lineno) from error
        except jinja2.TemplateError as error:
            raise self._error(name, error.message or "not rendered", _line_of(error, name)) from error
        # A template computes what it likes, so anything may go wrong in it.
        except Exception as error:
            said = ": ".join(t for t in (type(error).__name__, str(error)) if t)
            raise self._error(name, said, _line_of(error, name)) from error

    def _error(self, name: str, message: str, line: int | None) -> StoreError:
        at = f", line {line}" if line is not None else ""
        where = self.override if self.override and (self.override / name).exists() else None
        return StoreError(
            f"template {name}{at}: {message}",
            cause=f"the project's own template in {where} does not fit" if where else "a built-in template",
            hint="the names a template may use stand in docs/reference/templates.md"
            if where
            else "this is a bug: please report it",
        )


def _environment(override: Path | None) -> Environment:
    import jinja2

    environment_class: type[Environment] = jinja2.Environment
    if override is not None:
        # Only what a project brings along needs to be kept from the rest of the process.
        from jinja2.sandbox import ImmutableSandboxedEnvironment as environment_class  # noqa: N813

    folders = [f for f in (override, builtin_folder("templates")) if f is not None]
    environment = environment_class(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        autoescape=False,
    )
    environment.filters.update(
        bullet=lambda text, label: md.bullet(label, text),
        code=md.inline_code,
        command=md.command,
        fence=md.fence,
        indent_block=md.indent,
        items=md.items,
        one_line=md.one_line,
        cell=md.cell,
    )
    return environment


def _line_of(error: BaseException, name: str) -> int | None:
    """The line of the template in which the error arose: the last frame that Jinja maps to its file."""
    line = None
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.endswith(name):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
