"""Options and arguments of commands, declared in the form that help shows them in.

They are the defaults of a command's parameters, or the attributes of a class that has the names of a request's fields:
`words: Annotated[Prose, Words]` is a `Prose` of the options of `Words`. A `Common` is made of the options that every
command has, wherever they stand before `--`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from itertools import takewhile
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from msgspec import structs
from typer.models import ParameterInfo

from logbook_agent.cli.common import Common
from logbook_agent.model.errors import LogbookError

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
