"""Options and arguments of commands, declared in the form that help shows them in.

They are the defaults of a command's parameters, or the attributes of a class that has the names of a request's fields:
`words: Annotated[Prose, Words]` is a `Prose` of the options of `Words`. A `Common` is made of the options that every
command has, wherever they stand before `--`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import typer
from msgspec import Struct, structs
from typer.models import ParameterInfo

from logbook_agent.cli.output import emit, redact_by
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.values import Scalar, parse_pair, parse_values

if TYPE_CHECKING:
    from logbook_agent.store.book import Book
    from logbook_agent.store.workspace import Workspace

Read = Callable[[Any], Any]


def option(form: str, help: str, default: Any = None, *, kind: Any = str, read: Read | None = None, **more: Any) -> Any:
    """An option in a form such as `-f --follow` or `--set K=V`. `read` makes its value of the text that was typed."""
    names = [*takewhile(lambda word: word.startswith("-"), form.split())]
    metavar = form.removeprefix(" ".join(names)).strip() or None
    return _of(typer.Option(default, *names, metavar=metavar, help=help, **more), kind, read)


def flag(form: str, help: str) -> Any:
    """An option that is there or not."""
    return option(form, help, False, kind=bool)


def number(form: str, help: str, default: int | None = None, **more: Any) -> Any:
    """An option with a whole number."""
    return option(form, help, default, kind=int, **more)


def repeated(form: str, help: str, *, kind: Any = str, read: Read = tuple) -> Any:
    """An option that may be given several times. `read` takes all of its values."""
    return option(form, help, kind=list[kind], read=lambda values: read(values or ()))


def argument(form: str, help: str, default: Any = None) -> Any:
    """An argument; with `...` as default it is required."""
    return _of(typer.Argument(default, metavar=form, help=help), str, None)


def arguments(form: str, help: str, default: Any = None) -> Any:
    """All arguments that follow."""
    return _of(typer.Argument(default, metavar=form, help=help), list[str], lambda words: tuple(words or ()))


def everywhere(*, hidden: bool) -> dict[str, Any]:
    """The options of every command, by the fields of `Common`; only the help of all commands lists them."""
    return {
        "logbook": option("-L --logbook TOPIC", "Which logbook: its topic or prefix. [$LOGBOOK]", hidden=hidden),
        "root": option("--root DIR", "The folder of logbooks. [$LOGBOOK_ROOT, else logbooks/]", hidden=hidden),
        "as_json": option("--json", "Answer as JSON with a schema name.", False, kind=bool, hidden=hidden),
    }


def _of(info: Any, kind: Any, read: Read | None) -> Any:
    info.kind = kind
    info.read = read or (lambda value: value)
    return info


def declared(group: type) -> dict[str, Any]:
    """The options of a class by the fields that they fill; those of its bases come first."""
    every = [item for kind in reversed(group.__mro__) for item in vars(kind).items()]
    return {name: value for name, value in every if isinstance(value, ParameterInfo)}


def typed(group: type, request: object) -> list[str]:
    """The options of a class that were typed, by their names."""
    options = declared(group).items()
    return [one.param_decls[0] for name, one in options if getattr(request, name) != _value(one, one.default)]


def _value(info: Any, value: Any) -> Any:
    """What was typed, read. Repeated options that nobody typed are read, too."""
    return info.read(value) if value is not None or get_origin(info.kind) is list else None


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command as typer reads it: a parameter for each option. What the options of every command said before its
    name comes from the context."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: found for name, hint in hints.items() if (found := _group(hint)) is not None}
    infos: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []

    def add(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> None:
        if hasattr(default, "kind"):
            infos[name], annotation = default, default.kind
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, keyword, default=default, annotation=annotation))

    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            for field, info in declared(groups[name][1]).items():
                add(field, None, info)
        elif hints[name] is Common:
            add(name, typer.Context)
            for field, info in everywhere(hidden=True).items():
                add(field, None, info)
        else:
            add(name, hints[name], parameter.default)

    @functools.wraps(command)
    def called(**given: Any) -> Any:
        values = {name: _value(infos[name], value) if name in infos else value for name, value in given.items()}
        for name, (request, options) in groups.items():
            values[name] = request(**{field: values.pop(field) for field in declared(options)})
        for name in [name for name in values if hints.get(name) is Common]:
            said = {field: values.pop(field) for field in everywhere(hidden=True)}
            values[name] = structs.replace(values[name].obj, **{field: value for field, value in said.items() if value})
        try:
            return command(**values)
        except LogbookError as error:
            for common in (value for value in values.values() if isinstance(value, Common)):
                error.hint = common.typed(error.hint)
            raise

    vars(called).pop("__wrapped__")
    vars(called)["__signature__"] = inspect.Signature(parameters)
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called


def _group(hint: Any) -> tuple[type, type] | None:
    """The request and the class of its options, where a parameter is one of both."""
    if get_origin(hint) is not Annotated or not isinstance(get_args(hint)[1], type):
        return None
    request, options = get_args(hint)
    return request, options


# What an option holds: one text, or those that were given.
Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None

PROSE = "Text, @FILE, or - for standard input."


def prose(text: str | None) -> str | None:
    """The text of a prose option: as typed, `@FILE` for a file's, `-` for standard input's; `@@` is `@`."""
    if text is None or not text.startswith(("@", "-")):
        return text
    if text == "-":
        return sys.stdin.read()
    if text.startswith("@@") or not text.startswith("@"):
        return text.removeprefix("@") if text.startswith("@@") else text
    path = Path(text[1:])
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read {text[1:]}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}",
            cause="a text that starts with @ names a file",
            hint=f"write @{text} for text that starts with @",
        ) from error


def prose_option(form: str, help: str) -> Any:
    """An option that takes prose; its help ends by saying so."""
    return option(form, f"{help} {PROSE}", read=prose)


def prose_options(form: str, help: str) -> Any:
    """An option that takes prose, and may be given several times."""
    return repeated(form, help, read=lambda texts: tuple(prose(text) or "" for text in texts))


def prose_fields(texts: Sequence[str]) -> tuple[str, ...]:
    """`LABEL=TEXT` options with `LABEL=@FILE` and `LABEL=-` read."""
    pairs = (text.partition("=") for text in texts)
    return tuple(f"{label}{equals}{prose(value) or ''}" if equals else label for label, equals, value in pairs)


def typed_pairs(texts: Sequence[str], *, name: str) -> dict[str, Scalar]:
    """`K=V` options, each value as number, true, false or text."""
    return parse_values(texts, name)


def plain_pairs(texts: Sequence[str], *, name: str) -> dict[str, str]:
    """`K=V` options as texts."""
    return dict(parse_pair(text, name) for text in texts)


def minimum_effect_of(text: str) -> float:
    """The value of --min-effect, `1%` or `0.01`, as a fraction. Raises UsageError for anything else."""
    try:
        part = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        part = math.nan
    if 0 <= part < 1:
        return part
    raise UsageError(
        f"--min-effect {text!r}: expected a percentage below 100%, such as 1%, or a fraction below 1, such as 0.01",
        cause="a number without % is a fraction: 1 means 100%",
        hint="--min-effect 1%",
    )


def duration(form: str, help: str, default: str | None = None) -> Any:
    """An option that takes a length of time, in seconds."""

    def seconds(text: str) -> float:
        # Here, because commands that only read have no use for it.
        from logbook_agent.running.prepare import parse_duration

        return parse_duration(text, form.split()[0])

    return option(form, help, default, read=seconds)


DETACH = flag("--detach", "Run in the background: print the ID and return. See `logbook wait`.")
GATE = repeated(
    "--gate GATE", "What a row must fulfil to count: 'ok == 1', 'max_error <= 1e-3', 'same checksum'; repeatable."
)
FREE = repeated("--free NAME", "A label, such as checksum, that may differ between sides; repeatable.")
BUDGET = repeated(
    "--budget runs=N|hours=H",
    "Start no run once this much is spent; repeatable. runs= or hours= removes that limit.",
)
METRICS = partial(repeated, "--metric NAME", read=lambda names: (*dict.fromkeys(names),))
ONLY_WHERE = partial(repeated, "--where K=V", "Only rows whose axis K is V (— for none); repeatable.")


class ScopeOptions:
    """The scope of a logbook."""

    goal = prose_option("--goal TEXT", "What to find out.")
    metrics = repeated(
        "--metric NAME[:max|min][:UNIT]",
        "A primary metric, or with :watched a further one; repeatable. For a curve, add :best, :mean=N or :over=KEY.",
    )
    gates = GATE
    constraints = prose_options("--constraint TEXT", f"A constraint; repeatable. {PROSE}")
    links = repeated("--link LABEL=URL", "A link; repeatable.")
    matrix = repeated(
        "--matrix KEY=V,V", "An axis of the experiment matrix; quote a value that has a comma; repeatable."
    )
    templates = repeated("--template 'LABEL: CMD'", "A command template that the view shows; repeatable.")


class Words:
    """The words of an entry: a `Prose`."""

    title = prose_option("--title TEXT", "Title.")
    hypothesis = prose_option("--hypothesis TEXT", "What is expected, and why.")
    interpretation = prose_option("--interpretation TEXT", "What the result means.")
    next_action = prose_option("--next TEXT", "Next action.")
    fields = repeated("--field LABEL=TEXT", "A field with a label of your own; may be repeated.", read=prose_fields)
    continues = option("--continues ID", "The entry that this one continues.")
    completes = option("--completes ID", "The entry whose unfinished part this one completes.")
    supersedes = option("--supersedes ID", "The entry that this one corrects.")


# -- what every command has in common: `-L`, `--root` and `--json`, and the workspace that follows from them ----


# Parts of a workspace that tests put in place of this machine's: `now`, and the `timing` that waits go by.
replaced: dict[str, Any] = {}
# Those of the command that is being carried out.
_SPACES: list[Workspace] = []


class Common(Struct, frozen=True, kw_only=True, dict=True):
    """Which logbook, how to answer, and the whole command line."""

    logbook: str | None = None
    root: str | None = None
    as_json: bool = False
    words: tuple[str, ...] = ()

    def space(self) -> Workspace:
        """The workspace of the command."""
        return self._space

    @cached_property
    def _space(self) -> Workspace:
        from logbook_agent.store.workspace import Workspace  # the help of a command needs none

        if sys.platform not in ("linux", "darwin"):
            raise UsageError(
                f"{sys.platform} is not supported",
                cause="logbook needs process groups to end runs and flock to lock logbooks",
                hint="use Linux, macOS, or WSL",
            )
        space = Workspace(
            cwd=Path.cwd(),
            environ=os.environ,
            root_option=self.root,
            logbook_option=self.logbook,
            arrive=collect,
            **replaced,
        )
        redact_by(lambda: space.redactor)
        _SPACES.append(space)
        return space

    def typed(self, hint: str) -> str:
        """A hint with the -L that was typed, where it is one command that takes one, or ends in it behind a colon."""
        before, colon, command = ("", "", hint) if hint.startswith("logbook ") else hint.rpartition(": ")
        is_command = command.startswith("logbook ") and ";" not in hint and not command.startswith("logbook start")
        if self.logbook is None or not is_command:
            return hint
        from logbook_agent.findings.advice import addressed

        with contextlib.suppress(ValueError):  # prose may open a quote and not close it
            return before + colon + addressed(command, ["-L", self.logbook])
        return hint

    def emit(
        self,
        command: str,
        data: Any,
        text: str | Callable[[], str] = "",
        *,
        draw: Callable[[Any], None] | None = None,
    ) -> None:
        """Print the answer of a command, as `output.emit` does, with what its workspace warns of. A `text` that takes
        time to make is a function, which JSON does not need."""
        shown = text if isinstance(text, str) else "" if self.as_json else text()
        emit(command, data, shown, as_json=self.as_json, warnings=self._space.warnings, draw=draw)

    def space_without_logbook(self, command: str) -> Workspace:
        """The workspace for a command that works in no logbook that exists already. Raises UsageError for -L."""
        if self.logbook is not None:
            raise UsageError(
                f"logbook {command} takes no -L",
                cause="it makes a logbook of its own",
                hint=f"leave -L {self.logbook} out; to choose the folder of logbooks: --root DIR",
            )
        return self.space()


def take_spaces() -> list[Workspace]:
    """The workspaces that were made since this was asked last."""
    found = [*_SPACES]
    _SPACES.clear()
    return found


def collect(space: Workspace, book: Book) -> None:
    """Whatever is asked for, runs that have ended meanwhile are part of the answer, and what a killed process left in
    the folder of checkouts is removed."""
    from logbook_agent.store.places import checkouts_folder

    if book.spools():
        from logbook_agent.campaign.detached_runs import collect_ended

        collect_ended(space, book)
    if os.path.isdir(above := checkouts_folder(space.environ)):  # noqa: PTH112 - costs less, on every command
        from logbook_agent.running.provenance.worktrees import clean

        clean(above, space.environ)
