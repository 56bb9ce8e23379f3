"""A flag of a case, stated once: beside the field that holds its value. No JAX.

Of these the options of the command (`cli.flags`), the case and the config that its row reports are made.
"""

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

from bench_core.errors import UsageError

ConfigValue = str | int | float | bool
Made = TypeVar("Made")

BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """What a field's annotation says of its flag; name, type and default are those of the field.

    `name`: the flag and its key in a config, where these are not called as the field. `choices`: the words that it
    takes, where the type does not tell. `several`: it takes `both`, which is a case for each of its words. `unless`:
    the help's words for the default, where the command has to know whether the flag was given. `read`: makes the value
    of the text, or of all texts where the flag may be `repeated`. `unsaid`: a config has no key for the default, given
    or not. `least`, `below`: numbers are in [least, below).
    """

    help: str
    name: str = ""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    several: bool = False
    unless: str = ""
    read: Callable[[Any], Any] | None = None
    repeated: bool = False
    unsaid: bool = False
    least: float = -math.inf
    below: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A flag with its field; `path` names the fields that lead there from the whole."""

    name: str
    path: tuple[str, ...]
    kind: Any
    default: Any
    flag: Flag

    @property
    def words(self) -> list[str]:
        """The words that it takes; none where it takes numbers or any text."""
        return list(self.flag.choices or self.enum or ())

    @property
    def enum(self) -> type[StrEnum] | None:
        """The type of its words, which may be left out; None where it takes others."""
        kinds = [kind for kind in (self.kind, *get_args(self.kind)) if isinstance(kind, type)]
        return next((kind for kind in kinds if issubclass(kind, StrEnum)), None)

    def is_said(self, value: Any) -> bool:
        """Whether a config has a key for this value: not for None, which the case has not."""
        return value is not None and not (self.flag.unsaid and value == self.default)

    def of(self, whole: object) -> Any:
        """Its value in `whole`."""
        return functools.reduce(getattr, self.path, whole)

    def read(self, given: Any) -> Any:
        """The value of what was given.

        Raises:
            UsageError: it is none of the words of the type, or `Flag.read` refuses it.
        """
        if self.flag.read is not None:
            return self.flag.read(given)
        return given if self.enum is None else self.enum(choose(option(self.name), given, self.words))

    def read_several(self, given: str) -> list[Any]:
        """The value of a word, or all values for `both`.

        Raises:
            UsageError: it is none of these words.
        """
        chosen = choose(option(self.name), given, [*self.words, BOTH])
        return [self.read(word) for word in (self.words if chosen == BOTH else [chosen])]


def declared(*kinds: type) -> list[Declared]:
    """The flags of dataclasses, and of the dataclasses that are their fields, in their order."""
    return [flag for kind in kinds for flag in _declared(kind, ())]


def _declared(kind: Any, path: tuple[str, ...]) -> Iterator[Declared]:
    for name, inner, default, flag in _fields(kind):
        if flag is None:
            yield from _declared(inner, (*path, name))
        else:
            yield Declared(name=flag.name or name, path=(*path, name), kind=inner, default=default, flag=flag)


@functools.cache
def _fields(kind: Any) -> list[tuple[str, Any, Any, Flag | None]]:
    """Name, type, default and flag of each field: a dataclass without a flag holds fields with flags."""
    hints = get_type_hints(kind, include_extras=True)
    found: list[tuple[str, Any, Any, Flag | None]] = []
    for field in fields(kind):
        hint = hints[field.name]
        inner, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        flag = next((note for note in notes if isinstance(note, Flag)), None)
        if flag is None and not is_dataclass(inner):
            raise TypeError(f"{kind.__name__}.{field.name} declares no flag")
        found.append((field.name, inner, field.default, flag))
    return found


def build(kind: type[Made], values: Mapping[str, Any]) -> Made:
    """The dataclass with these values of its flags, by their names; the others are the defaults."""
    given = {}
    for name, inner, _, flag in _fields(cast(Any, kind)):
        if flag is None:
            given[name] = build(inner, values)
        elif (flag.name or name) in values:
            given[name] = values[flag.name or name]
    return kind(**given)


def require_ranges(whole: object) -> None:
    """Refuse numbers of a dataclass outside of what its flags take.

    Raises:
        UsageError: one is.
    """
    for name, _, default, flag in _fields(cast(Any, type(whole))):
        value = getattr(whole, name)
        if flag is None or not isinstance(value, int | float) or flag.least <= value < flag.below:
            continue
        said, most = option(flag.name or name), f" and less than {flag.below:.10g}" if flag.below < math.inf else ""
        nearest = flag.least if value < flag.least else flag.below - 1
        fitting = (default or flag.least) if isinstance(value, float) else nearest
        raise UsageError(
            f"{said} {value} is not usable",
            cause=f"it must be a finite number, at least {flag.least:.10g}{most}",
            hint=f"use {said} {fitting:.10g}",
        )


def option(name: str) -> str:
    """The flag as it is typed."""
    return f"--{name.replace('_', '-')}"


def choose(flag: str, word: str, choices: Iterable[str]) -> str:
    """Return `word` when it is one of `choices`.

    Raises:
        UsageError: it is not; the error lists what is.
    """
    served = list(choices)
    if word not in served:
        raise UsageError(
            f"{flag} {word} is not known",
            cause=f"this version supports: {', '.join(served)}",
            hint=f"use {flag} {served[0]}, or see bench-core hillclimb --list",
        )
    return word
