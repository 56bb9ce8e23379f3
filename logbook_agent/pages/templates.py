"""Jinja templates: the project's own before the built-in ones.

Those of a project come with a branch that may be anybody's, so they are rendered in a sandbox and within limits.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logbook_agent.findings.opening import SHOWN, SHOWN_FAILED, Failed, Opening
from logbook_agent.findings.synopses import Synopsis
from logbook_agent.findings.tables.spec import Table
from logbook_agent.model.errors import StoreError
from logbook_agent.store.folder import Folder
from logbook_agent.store.places import builtin_folder, manual, user_folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import assignments
from logbook_agent.text.redaction.redactor import by_shape

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment

    from logbook_agent.pages.sandbox import Sandbox, TemplateLimits

SUFFIX = ".j2"
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


class Templates:
    """Renders a template by name, and takes secrets out of the text by `redact`. `override` is the project's folder of
    templates, if it has one. `limits`: what a document of the project's own templates may take. `cache`: where the
    built-in ones are kept as they were compiled."""

    def __init__(
        self,
        override: Path | None = None,
        *,
        limits: TemplateLimits | None = None,
        redact: Callable[[str], str] | None = None,
        cache: Path | None = None,
    ) -> None:
        self._cache = cache
        self.redact = redact or by_shape().text
        self.folder = None if override is None else _own_folder(override)
        self._limits = limits

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """The text of a template. Raises StoreError naming the template, the line and what is wrong."""
        return self.redact(self._rendered(name, values))

    def _rendered(self, name: str, values: Mapping[str, object]) -> str:
        folder = self.folder
        if folder is not None and not any(os.path.lexists(folder / n) for n in (name, *INCLUDED.get(name, ()))):
            folder = None
        try:
            if folder is not None:
                return self._sandbox.render(name, values)
            return _builtin(builtin_folder("templates"), self._cache).get_template(name).render(values)
        except StoreError:
            raise
        except Exception as error:
            at_fault, message, line = problem(error, name)
            cause, hint = "a built-in template", "this is a bug: please report it"
            if folder is not None:
                cause = f"the project's own template in {folder} is not valid"
                hint = f"{manual('reference/templates.md')} lists the names a template may use"
            where = f", line {line}" if line else ""
            raise StoreError(f"template {at_fault}{where}: {message[:1000]}", cause=cause, hint=hint) from error

    def stamps(self) -> list[tuple[str, int, int]]:
        """Path, time of change (ns) and size of every template: other ones, other documents."""
        folders = [builtin_folder("templates"), *([self.folder] if self.folder is not None else [])]
        paths = sorted(f"{top}/{name}" for folder in folders for top, _, names in os.walk(folder) for name in names)
        states = [(path, os.lstat(path)) for path in paths if path.endswith(SUFFIX)]
        return [(path, state.st_ctime_ns, state.st_size) for path, state in states]

    @cached_property
    def _sandbox(self) -> Sandbox:
        from logbook_agent.pages.sandbox import Sandbox, TemplateLimits

        assert self.folder is not None  # noqa: S101 - asked for by its own templates alone
        return Sandbox(self.folder, self._limits or TemplateLimits(), environment)


@functools.cache
def _builtin(folder: Path, cache: Path | None) -> Environment:
    """The environment of the built-in templates, one for each process."""
    import jinja2

    made = environment(jinja2.Environment, jinja2.FileSystemLoader(folder))
    keep_compiled(made, cache)
    made.auto_reload = False  # else each of thousands of renderings looks at the file
    return made


def keep_compiled(made: Environment, cache: Path | None) -> None:
    """Keep what an environment compiles in this folder: compiling a template takes longer than rendering it."""
    import jinja2

    class Compiled(jinja2.FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            with contextlib.suppress(OSError):  # the next process compiles it again
                super().dump_bytecode(bucket)

    if cache is not None:
        with contextlib.suppress(StoreError):
            Folder(cache).make(private=True)
            made.bytecode_cache = Compiled(str(cache))


def compiled_folder(environ: Mapping[str, str]) -> Path | None:
    """Where compiled templates are kept; None where the environment names no home."""
    caches = user_folder(environ, "cache")
    return None if caches is None else caches / "templates"


@functools.lru_cache(maxsize=4)
def templates_of(workspace: Workspace) -> Templates:
    """The templates of an invocation, whose limits are those of all of it."""
    config, cache = workspace.config, compiled_folder(workspace.environ)

    def redact(text: str) -> str:
        return workspace.redactor.text(text)

    if config.folder is None or not config.templates:
        return Templates(redact=redact, cache=cache)
    return Templates(config.folder / config.templates, redact=redact, cache=cache)


def _own_folder(folder: Path) -> Path:
    """The folder of templates with its links resolved. Raises StoreError."""
    if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises for a folder that may not be looked into
        raise StoreError(
            f"no template folder at {folder}",
            cause="the setting `templates` names it",
            hint="create it, or remove the setting",
        )
    return Path(os.path.realpath(folder))


# -- parts that several documents share ----------------------------------------------------------------


def table_text(templates: Templates, table: Table, more_notes: Sequence[str] = ()) -> str:
    """A table as Markdown; below it, in one list, the config that all rows share, its notes, and `more_notes`.

    An empty table is the empty text.
    """
    if not table.columns:
        return ""
    columns = [{"name": c.name, "numeric": c.numeric} for c in table.columns]
    notes = [*(md.escape(n) for n in table.notes), *more_notes]
    if table.constants:
        shared = md.inline_code(assignments(table.constants))
        notes.insert(0, f"same in all rows: {shared}")
    values = {"columns": columns, "rows": table.rows, "notes": notes, "constants": table.constants}
    return templates.render("table.md.j2", {"table": values}).rstrip("\n")


def _more(count: int, noun: str) -> str:
    return f"{count:,} more {noun}: `logbook list{'' if noun.endswith('comparisons') else ' --tried'}`"


def opening_values(
    first: Opening,
    *,
    plain: Callable[[str], str] = md.escape,
    prose: Callable[[str], Any] = md.one_line,
    link: Callable[[str], str] = str,
    more: Callable[[int, str], str] = _more,
) -> dict[str, object]:
    """The values of the template `opening.md.j2`, which view and issue share. `plain` makes Markdown of plain text,
    `prose` of a title, `link` of an ID; `more` is the text about lines that are left out."""

    def line(of: Synopsis) -> dict[str, object]:
        return {
            "text": plain(of.text),
            "outcome": of.outcome,
            "is_bold": of.is_bold,
            "entry": link(of.entry),
            "title": prose(of.title),
            "confidence": of.confidence,
            "to_settle": plain(of.why),
            "command": md.one_line_code(of.command),
            "to_add": of.to_add,
        }

    def listed(entries: Sequence[Failed]) -> list[dict[str, object]]:
        shown = entries[:SHOWN_FAILED]
        return [{"entry": link(one.entry), "title": prose(one.title), "text": prose(one.text)} for one in shown]

    def left_out(lines: Sequence[object], noun: str, shown: int = SHOWN) -> str:
        return more(len(lines) - shown, noun) if len(lines) > shown else ""

    return {
        "asked": prose(first.asked),
        "settled": [line(one) for one in first.found[:SHOWN]],
        "more_settled": left_out(first.found, "settled comparisons"),
        "not_settled": plain(first.not_settled),
        "command": md.one_line_code(first.command),
        "in_words": [
            {"kind": one.kind, "entry": link(one.entry) if one.entry else "", "text": prose(one.text)}
            for one in first.in_words
            if one.entry
        ],
        "best": plain(first.best),
        "open": [line(one) for one in first.left[:SHOWN]],
        "more_open": left_out(first.left, "open comparisons"),
        "negative": listed(first.negative),
        "more_negative": left_out(first.negative, "negative results", SHOWN_FAILED),
        "failed": listed(first.failed),
        "more_failed": left_out(first.failed, "failures", SHOWN_FAILED),
        "next_of": link(first.next_of) if first.next_of else "",
        "next": prose(first.next),
    }
