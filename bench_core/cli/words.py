"""Options of a command as words, for a command line that has those of two cases. No JAX."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from typer import Typer
from typer.main import get_command


def read_words(command: Callable[..., None], words: Sequence[str], *, typed_only: bool = False) -> Mapping[str, Any]:
    """The values of the command's options, by their names, as the command would be given them. With `typed_only` those
    alone that are among the words, without defaults.

    Raises:
        typer.BadParameter and its kin: the command has no such option, or the value is not of its type.
    """
    app = Typer(add_completion=False)
    app.command()(command)
    with get_command(app).make_context("options", list(words)) as context:
        given = {name: value for name, value in context.params.items() if value is not None}
        return {name: value for name, value in given.items() if not typed_only or _was_typed(context, name)}


def _was_typed(context: Any, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
