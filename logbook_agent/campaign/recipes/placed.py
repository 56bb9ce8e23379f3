"""Data of a recipe with the place where it stands, and how values of each kind are read from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import Scalar
from logbook_agent.text.phrases import listed

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


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Placed:
    """Plain data, and where in the recipe it stands: `axes.topk[1]`, or nothing for the whole. What is read from it is
    checked; a problem names the place."""

    value: Any
    place: str = ""

    def get(self, key: object, default: Any = None) -> Placed:
        """What a mapping has under a key."""
        return Placed(self.value.get(key, default), f"{self.place}.{key}" if self.place else str(key))

    def given(self, read: Callable[[Placed], T]) -> T | None:
        """What is read from it; None where nothing stands there."""
        return None if self.value is None else read(self)

    def wrong(self, kind: str, hint: str) -> RecipeProblem:
        """The problem of a part that must be of another kind."""
        return RecipeProblem(f"{self.place} must be {kind}", place=self.place, cause=f"it is {self.value!r}", hint=hint)

    @property
    def name(self) -> str:
        """The last key of its place."""
        return self.place.rpartition(".")[2]

    def mapping(self, hint: str = "") -> dict[Any, Any]:
        """Keys and what stands under them; empty where nothing is given."""
        if not isinstance(self.value, dict | None):
            raise self.wrong("a mapping of keys to values", hint or f"{self.name}: {{...}}")
        return self.value or {}

    def items(self, hint: str = "") -> list[tuple[Any, Placed]]:
        """The same with their places."""
        return [(key, self.get(key)) for key in self.mapping(hint)]

    def only(self, keys: Sequence[str]) -> Placed:
        """The part itself, a mapping that has no other keys than these."""
        if not isinstance(self.value, dict):
            raise self.wrong("a mapping of keys to values", f"keys: {', '.join(keys)}")
        check_known("key", self.value, keys, place=self.place)
        return self

    def list(self) -> list[Placed]:
        """Its parts in order."""
        if not isinstance(self.value, list | None):
            raise self.wrong("a list", f"write: {self.name}: [...]")
        return [Placed(value, f"{self.place}[{i}]") for i, value in enumerate(self.value or ())]

    def text(self) -> str:
        """A text that is not empty."""
        if isinstance(self.value, str) and self.value.strip():
            return self.value.strip()
        raise RecipeProblem(
            f"{self.place} is missing" if self.value is None else f"{self.place} must be text",
            place=self.place,
            cause="it has to be text that is not empty",
            hint=f"add: {self.name}: ...",
        )

    def texts(self) -> tuple[str, ...]:
        """A list of texts."""
        parts = self.list()
        for part in parts:
            if not isinstance(part.value, str):
                raise part.wrong("text", "quote it")
        return tuple(part.value for part in parts)

    def count(self, key: str, default: int, *, least: int) -> int:
        """The whole number under a key."""
        part = self.get(key, default)
        if isinstance(part.value, bool) or not isinstance(part.value, int) or part.value < least:
            raise part.wrong(f"a whole number, {least} or more", f"write: {key}: {default}")
        return part.value

    def number(self) -> float:
        """A number above zero."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or not 0 < self.value <= MOST:
            raise self.wrong("a number above zero", "write: 60")
        return float(self.value)

    def scalar(self) -> Scalar:
        """A value of config: text, number, true, false or null."""
        value = self.value
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, float) and value == value and abs(value) != float("inf"):
            return value
        raise RecipeProblem(
            f"{self.place}: {value!r} is not a config value",
            place=self.place,
            cause="a value is text, a finite number, true, false or null",
            hint="quote it if it is meant as text",
        )

    def scalars(self) -> dict[str, Scalar]:
        """Config: keys with one value each."""
        return {key_name(key, self.place): part.scalar() for key, part in self.items("write: topk: 2")}


def key_name(key: Any, place: str) -> str:
    """A config key: a name that a placeholder can hold."""
    if isinstance(key, str) and key.isidentifier():
        return key
    raise RecipeProblem(
        f"{key!r} is not a valid config key",
        place=f"{place}.{key}",
        cause="a key is letters, digits and _, so that {key} can stand for it",
        hint="write flags with underscores: mlp_dim for --mlp-dim",
    )
