"""The tested axis of an A/B: its values as typed, and the command of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.model.errors import UsageError
from logbook_agent.model.run import Run, Scalar
from logbook_agent.model.values import canonical, parse_scalar
from logbook_agent.text.commands.flags import flags, normal_name
from logbook_agent.text.words import command_line

_ENV = "env:"
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ANY = "{axis}"
_PLACE = re.compile(r"\{([A-Za-z_][\w.:-]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AbAxis:
    """`values` as typed, the base first. `variable` is set for `env:NAME`: then the command itself stays the same."""

    name: str
    values: tuple[str, ...]
    variable: str | None = None

    @property
    def text(self) -> str:
        """As it is typed behind --axis."""
        return f"{self.name}={','.join(self.values)}"

    @property
    def base(self) -> str:
        """The base's value as a comparison names it."""
        return self.key(self.values[0])

    def config(self, value: str) -> dict[str, Scalar]:
        """What a run with this value has in its config; a variable is a fact of its own."""
        return {} if self.variable is not None else {self.name: parse_scalar(value)}

    def env(self, value: str) -> dict[str, str]:
        return {} if self.variable is None else {self.variable: value}

    def words(self, command: Sequence[str], value: str) -> list[str]:
        """The command with the value in place. Other braces stay as they are: they belong to the command."""
        return [word.replace(_ANY, value).replace(f"{{{self.name}}}", value) for word in command]

    def key(self, value: Scalar) -> str:
        return str(value) if self.variable is not None else canonical(value)

    def value_of(self, run: Run) -> str | None:
        """The key of the value that a run was made with; None for one that was not."""
        if self.variable is not None:
            return {**run.env.relevant, **run.env.declared}.get(self.variable)
        return canonical(run.config[self.name]) if self.name in run.config else None


def parse_axis(text: str) -> AbAxis:
    """`NAME=V,V` or `env:NAME=V,V`. Raises UsageError for anything that names no two values."""
    name, separator, rest = text.partition("=")
    variable = name.removeprefix(_ENV) if name.startswith(_ENV) else None
    pattern, word = (_NAME, name) if variable is None else (_VARIABLE, variable)
    if not separator or not pattern.fullmatch(word):
        raise UsageError(
            f"--axis {text!r} is not NAME=VALUE,VALUE",
            cause="the = is missing, or the name is not valid",
            hint="--axis quant_mode=none,int8, or of a variable: --axis env:XLA_FLAGS=A,B",
        )
    axis = AbAxis(name=name, values=tuple(v.strip() for v in rest.split(",")), variable=variable)
    keys = [axis.key(v) for v in axis.values]
    wrong = next((v for v, k in zip(axis.values, keys, strict=True) if not v or k == canonical(None)), None)
    if wrong is not None and variable is None:
        what = "an empty value" if not wrong else f"{wrong!r}, which is not a value"
        raise UsageError(
            f"--axis {text!r} has {what}", cause="a value is a word of the command", hint=f"--axis {name}=A,B"
        )
    if len(keys) < 2 or len(set(keys)) < len(keys):
        raise UsageError(
            f"--axis {text!r} has " + ("one value" if len(keys) < 2 else "a value twice"),
            cause="an A/B compares two values or more, the first of them the base",
            hint=f"--axis {name}={axis.values[0] or 'A'},{'B' if axis.values[0] != 'B' else 'C'}",
        )
    return axis


def check_command(axis: AbAxis, command: Sequence[str], config: Mapping[str, Scalar]) -> None:
    """Raises UsageError when the command would be the same for every value, or --config says another one."""
    if axis.name in config:
        raise UsageError(
            f"--config {axis.name} and --axis {axis.name} cannot be used together",
            cause="the axis sets the value of every run",
            hint=f"leave --config {axis.name} out",
        )
    placed = any(_ANY in word or f"{{{axis.name}}}" in word for word in command)
    if command and axis.variable is None and not placed:
        raise UsageError(
            f"the command has no place for the value of {axis.name}",
            cause=f"it contains neither {_ANY} nor {{{axis.name}}}, so every run would be the same",
            hint=f"logbook ab --axis {axis.text} -- {command_line(_with_place(axis, command))}",
        )


def _with_place(axis: AbAxis, command: Sequence[str]) -> list[str]:
    """The command as it was probably meant."""
    from difflib import get_close_matches  # costs more than the rest; only errors need it

    words = list(command)
    for at, word in enumerate(words):
        misspelt = [name for name in _PLACE.findall(word) if get_close_matches(name, [axis.name, _ANY[1:-1]], n=1)]
        if misspelt:
            words[at] = word.replace(f"{{{misspelt[0]}}}", _ANY)
            return words
    for at, word in enumerate(words):
        name, equals, _ = word.partition("=")
        if normal_name(name) != normal_name(axis.name):
            continue
        if equals:
            words[at] = f"{name}={_ANY}"
            return words
        if name.startswith("--") and flags(words).get(normal_name(name)) is not None:
            words[at + 1] = _ANY
            return words
    return [*words, f"--{axis.name.replace('_', '-')}", _ANY]


def in_turns(number: int, count: int) -> list[int]:
    """The order of the values (from 0) in a round (from 0) of an A/B without a design: A B, B A, A B ...; A B C, C B
    A."""
    return list(range(count)) if number % 2 == 0 else list(reversed(range(count)))


def described(axis: AbAxis) -> str:
    """A title for an A/B that nobody has named."""
    base, *others = axis.values
    return f"A/B of {axis.name}: {base or 'empty'} against {' and '.join(v or 'empty' for v in others)}"
