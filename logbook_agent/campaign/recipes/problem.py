"""What is wrong with a recipe, said with its place in the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from logbook_agent.model.errors import UsageError
from logbook_agent.text.words import listed

# Of numbers: beyond it a whole number has no float.
MOST = 1e308
SHOWN_NAMES = 20


class RecipeProblem(UsageError):
    """`place` is where in the recipe it is: `axes.topk`, `command[3]`; whoever read the file adds its name and line."""

    def __init__(self, message: str, *, place: str = "", cause: str = "", hint: str = "") -> None:
        super().__init__(message, cause=cause, hint=hint)
        self.place = place


def misplaced(error: UsageError, place: str) -> RecipeProblem:
    """Another error as the problem of a place in the recipe."""
    return RecipeProblem(error.message, place=place, cause=error.cause, hint=error.hint)


def unknown(what: str, name: object, known: Iterable[object], *, place: str = "") -> RecipeProblem:
    """The problem of a name that does not exist: all there are, and the close one. What a file holds in place of names
    is shown as it is."""
    names = list(dict.fromkeys(map(str, known)))
    return RecipeProblem(
        f"unknown {what} {name!r}",
        place=place,
        cause=f"choose from: {listed(names, SHOWN_NAMES)}" if names else f"there is no {what} here",
        hint=suggestion(str(name), names) or f"{'replace or ' if names else ''}remove {str(name)!r}",
    )


def check_known(what: str, names: Iterable[object], known: Collection[str], *, place: str) -> None:
    """Raises the problem of the first name that does not exist; it stands below `place`."""
    for name in names:
        if name not in known:
            raise unknown(what, name, known, place=f"{place}.{name}" if place else str(name))


def suggestion(name: str, known: Iterable[str]) -> str:
    """`did you mean topk?`, or nothing when no name is close."""
    from difflib import get_close_matches  # only errors need it

    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else ""
