"""The sides of an A/B: the values of its axis as typed, the command of each, and what is known of their code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from logbook_agent.campaign.code_guard import CodeGuard
from logbook_agent.model.comparison import OF_CODE, Evaluator
from logbook_agent.model.errors import UsageError
from logbook_agent.model.run import Scalar
from logbook_agent.model.values import canonical, parse_scalar
from logbook_agent.running.order import RunPlan
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.git import CodeFacts
from logbook_agent.text.commands.flags import ANY, axis_option, flag_places, flags, parse_list, with_place
from logbook_agent.text.phrases import nearest
from logbook_agent.text.shell_words import command_line

_ENV = "env:"
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FLAG = re.compile(r"--?[A-Za-z][\w.-]*")
NO_FLAG = "null"
"""The value for a command without the flag, as in recipes."""


class AbAxis(Struct, frozen=True, kw_only=True):
    """`values` as typed, the base first; `null` stands for a command without the flag. `variable` is set for
    `env:NAME`: then the command itself stays the same. `evaluator`: what of the base's code measures all sides."""

    name: str
    values: tuple[str, ...]
    variable: str | None = None
    evaluator: tuple[Evaluator, ...] = ()

    @property
    def option(self) -> str:
        """As it is pasted into a shell, with --axis."""
        return axis_option(self.name, self.values)

    @property
    def keys(self) -> tuple[str, ...]:
        """The values as a comparison names its sides, the base first."""
        return tuple(map(self.key, self.values))

    def config(self, value: str) -> dict[str, Scalar]:
        """What a run with this value has in its config; a variable is a fact of its own."""
        return {} if self.variable is not None else {self.name: parse_scalar(value)}

    def env(self, value: str) -> dict[str, str]:
        return {} if self.variable is None else {self.variable: value}

    def words(self, command: Sequence[str], value: str) -> list[str]:
        """The command with the value in place, or without the flag. Other braces stay as they are: they belong to the
        command. Raises UsageError where there is no flag to leave out."""
        if value == NO_FLAG and self.variable is None:
            return self._without_flag(command)
        return [word.replace(ANY, value).replace(f"{{{self.name}}}", value) for word in command]

    def _without_flag(self, command: Sequence[str]) -> list[str]:
        places = (ANY, f"{{{self.name}}}")
        words: list[str] = []
        for word in command:
            name, _, given = word.partition("=")
            if not any(place in word for place in places):
                words.append(word)
            elif word in places and words and _FLAG.fullmatch(words[-1]):
                words.pop()
            elif not (name and given in places):
                raise UsageError(
                    f"{self.name}={NO_FLAG} leaves a flag out, and {word!r} is not the value of one",
                    cause=f"{NO_FLAG} stands for a command without the flag",
                    hint=f"write the flag and its value as two words: --{self.name.replace('_', '-')} '{ANY}'",
                )
        return words

    def key(self, value: Scalar) -> str:
        return canonical(value) if self.variable is None else str(value)


def axis_of(name: str, values: Sequence[str]) -> AbAxis:
    """The axis of a name: a config key, or `env:NAME`."""
    variable = name.removeprefix(_ENV) if name.startswith(_ENV) else None
    return AbAxis(name=name, values=tuple(values), variable=variable)


def parse_axis(text: str) -> AbAxis:
    """`NAME=V,V` or `env:NAME=V,V`; a value with a comma stands in quotation marks. Raises UsageError for anything that
    names no two values."""
    name, separator, rest = text.partition("=")
    axis = axis_of(name, ())
    if not separator or not (_NAME if axis.variable is None else _VARIABLE).fullmatch(axis.variable or name):
        raise UsageError(
            f"--axis {text!r} is not NAME=VALUE,VALUE",
            cause="the = is missing, or the name is not valid",
            hint="--axis quant_mode=none,int8, or of a variable: --axis env:XLA_FLAGS=A,B",
        )
    try:
        axis = axis_of(name, parse_list(rest))
    except ValueError as error:
        raise UsageError(
            f"--axis {text!r} cannot be read",
            cause=str(error),
            hint=f"""quote each value that has a comma: --axis '{name}="16,4","8,4"'""",
        ) from None
    values = axis.values
    wrong = [v for v in values if not v or (v != NO_FLAG and axis.key(v) == canonical(None))]
    wrong = wrong if axis.variable is None else []
    if wrong or len({*axis.keys}) < max(2, len(values)):
        what = f"{wrong[0]!r}, which is not a value" if wrong else "one value, or one twice"
        raise UsageError(
            f"--axis {text!r} has {what}",
            cause="an A/B compares two values or more, the first of them the base; each is a word of the command, or"
            f" {NO_FLAG} for a command without the flag",
            hint=f"--axis {name}={values[0] or 'A'},{'B' if values[0] != 'B' else 'C'}",
        )
    return axis


def placed(axis: AbAxis, command: Sequence[str], config: Mapping[str, Scalar], cwd: str = ".") -> tuple[str, ...]:
    """The command with `{axis}` where the value stands: as typed, else in place of the value of the axis's own flag
    (`--quant-mode none`, `--quant-mode=none`, `quant_mode=none`). It runs in `cwd`, seen from here.

    Raises UsageError when the command would be the same for every value, has no flag that could be left out, sets the
    flag twice, or --config says another value."""
    if axis.name in config:
        raise UsageError(
            f"--config {axis.name} and --axis {axis.name} cannot be used together",
            cause="the axis sets the value of every run",
            hint=f"leave --config {axis.name} out",
        )
    words = tuple(command)
    if words and axis.variable is None:
        found = with_place(words, axis.name, None)
        if found is None:
            raise _no_place(axis, words, cwd)
        words = found
    if NO_FLAG in axis.values:
        axis.words(words, NO_FLAG)
    return words


def _no_place(axis: AbAxis, command: Sequence[str], cwd: str) -> UsageError:
    """That a command has no one place for the value of an axis."""
    if times := len(flag_places(command, axis.name)):
        return UsageError(
            f"the command sets {axis.name} {times} times",
            cause=f"only one of them can take the values of --axis {axis.name}",
            hint=f"write {ANY} in place of the value that changes",
        )
    typed = [*(("--cwd", cwd) if cwd != "." else ()), "--", *command]
    if (near := nearest(axis.name, flags(command))) is not None:
        return UsageError(
            f"the command has no flag for {axis.name}",
            cause=f"it has one for {near}",
            hint=f"logbook ab {axis_option(near, axis.values)} {command_line(typed)}",
        )
    if axis.name in OF_CODE:
        return UsageError(
            f"--axis {axis.name} names no flag of the command",
            cause="two codes are not compared by a flag: each runs in a checkout of its own",
            hint=f"logbook ab --code {command_line(axis.values[:2])} {command_line(typed)}",
        )
    words = [*typed, f"--{axis.name.replace('_', '-')}", ANY]
    return UsageError(
        f"the command has no place for the value of {axis.name}",
        cause=f"it has neither a flag of that name nor {ANY}, so every run would be the same",
        hint=f"end the command with that flag: logbook ab {axis.option} {command_line(words)}",
    )


DEFAULT_TITLE = "A/B of "
"""How the title of an A/B begins that nobody has named."""


def described(axis: AbAxis) -> str:
    """A title for an A/B that nobody has named."""
    base, *others = axis.values
    return f"{DEFAULT_TITLE}{axis.name}: {base or 'empty'} against {' and '.join(v or 'empty' for v in others)}"


class AbCase(Struct, frozen=True, kw_only=True):
    """What is run for each side: `commands` and the `configs` beside the axis, in the order of the sides. `name` tells
    it from other cases."""

    commands: tuple[Command, ...]
    configs: tuple[Mapping[str, Scalar], ...]
    name: str = ""


class Sides(Struct, frozen=True, kw_only=True):
    """The `cases` of an A/B, in the order of the `axis`; `argv` has the place of the value, and `guard` sees that the
    code stays as it is. `code` is what is known of it, by side, and `branches` those that hold it; `lines` say which
    code each side is. `setup` and `teardown` have the commands of each folder. `needs`: files beside the code that git
    does not hold. `in_process`: they are functions of this process."""

    axis: AbAxis
    argv: Sequence[str]
    cases: tuple[AbCase, ...]
    guard: CodeGuard = field(default_factory=CodeGuard)
    code: Mapping[str, CodeFacts] = field(default_factory=dict)
    branches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    setup: tuple[tuple[RunPlan, ...], ...] = ()
    teardown: tuple[tuple[RunPlan, ...], ...] = ()
    lines: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    in_process: bool = False

    @property
    def commands(self) -> tuple[Command, ...]:
        """Those of the first case."""
        return self.cases[0].commands
