"""Flags as Typer's options: made of what the fields of flags declare, and read back from words. No JAX."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from typer import Typer
from typer.main import get_command

from bench_core.flag import BOTH, Declared, Flag, option


def with_flags(command: Callable[[Mapping[str, Any]], None], flags: Sequence[Declared]) -> Callable[..., None]:
    """The command as Typer reads it, with an option for each flag; it gets what they were given, by their names.

    A flag that was left out has its default, or nothing where that is None or `unless` speaks of it.
    """
    parameters = [_parameter(flag) for flag in flags]

    def called(**options: Any) -> None:
        command({name: value for name, value in options.items() if value is not None})

    called.__doc__ = command.__doc__
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    vars(called)["__signature__"] = inspect.Signature(parameters)
    return called


def typer_option(name: str, flag: Flag, *, metavar: str | None = None) -> Any:
    """What Typer is told of the flag."""
    help_text = f"{flag.help} [default: {flag.unless}]" if flag.unless else flag.help
    return typer.Option(option(name), metavar=flag.metavar or metavar, help=help_text, show_default=not flag.unless)


def _parameter(declared: Declared) -> inspect.Parameter:
    flag, kind, default = declared.flag, declared.kind, declared.default
    if flag.read is not None:
        kind, default = list[str] | None if flag.repeated else str | None, None
    elif declared.words:
        kind, default = str, default.value if isinstance(default, StrEnum) else default
    if flag.unless:
        kind, default = kind | None, None
    metavar = "|".join([*declared.words, BOTH] if flag.several else declared.words) or None
    return inspect.Parameter(
        declared.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, typer_option(declared.name, flag, metavar=metavar)],
    )


def read_words(command: Callable[..., None], words: Sequence[str]) -> Mapping[str, Any]:
    """The values of the command's options, by their names, as the command would be given them.

    Raises:
        typer.BadParameter and its kin: the command has no such option, or the value is not of its type.
    """
    app = Typer(add_completion=False)
    app.command()(command)
    with get_command(app).make_context("options", list(words)) as context:
        return {name: value for name, value in context.params.items() if value is not None}
