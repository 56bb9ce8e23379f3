"""What is wrong with a recipe, and where."""

from __future__ import annotations

from collections.abc import Iterable

from logbook_agent.model.codec import CodecError
from logbook_agent.model.errors import UsageError
from logbook_agent.store.layout import manual
from logbook_agent.text.phrases import listed


class RecipeProblem(UsageError):
    """`place` is where in the recipe it is: `axes.topk`, `command[3]`; whoever read the file adds its name and line."""

    def __init__(self, message: str, *, place: str = "", cause: str = "", hint: str = "") -> None:
        super().__init__(message, cause=cause, hint=hint)
        self.place = place


def unknown(what: str, name: str, known: Iterable[str], *, place: str = "") -> RecipeProblem:
    """The problem of a name that does not exist: all there are, and the close one."""
    names = list(dict.fromkeys(known))
    return RecipeProblem(
        f"unknown {what} {name!r}",
        place=place,
        cause=f"choose from: {listed(names)}" if names else f"there is no {what} here",
        hint=suggestion(name, names) or f"{'replace or ' if names else ''}remove {name!r}",
    )


def misfit(error: CodecError) -> RecipeProblem:
    """The problem of data that has not the form of a recipe."""
    place = "".join(error.path).removeprefix(".")
    given = place.rpartition(".")[2] if error.message == "unknown key" else error.message.rpartition("got ")[2]
    return RecipeProblem(
        str(error),
        place=place,
        cause=f"choose from: {listed(error.choices)}" if error.choices else "a recipe states it in another form",
        hint=suggestion(given.strip("'"), error.choices) or f"its keys and their forms: {manual('how-to/recipes.md')}",
    )


def suggestion(name: str, known: Iterable[str]) -> str:
    """`did you mean topk?`, or nothing when no name is close."""
    from difflib import get_close_matches  # only errors need it

    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else ""
