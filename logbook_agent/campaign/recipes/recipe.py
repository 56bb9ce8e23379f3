"""What a recipe is: the form of its file, which `model.codec` decodes, and what no type says of it."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Mapping
from decimal import Decimal
from string import Formatter
from typing import Any, Literal

from msgspec import Struct, field, structs

from logbook_agent.model.codec import CodecError, converter
from logbook_agent.model.comparison import BUDGET_PAIRS
from logbook_agent.model.entry import PlannedCommand, parse_plot
from logbook_agent.model.gates import parse_gate
from logbook_agent.model.header import Criterion, Metric
from logbook_agent.model.values import Scalar, Spelt, as_written

# In which order the runs are made. `as-listed`: case by case, repeats together. `interleaved`: cases that are compared
# stand side by side, each repeat in an order of its own that is drawn by a seed, so that nothing the machine does meets
# one of them more often. `shuffled`: all runs mixed, by a seed.
Order = Literal["as-listed", "interleaved", "shuffled"]
CASES = "cases"
# What a scale does not change: what the recipe is.
_IDENTITY = ("name", "extends", "question", "method", "scale")

_TEXT = converter(str)


class CommandWord(Struct, frozen=True, kw_only=True):
    """A word of a command, in which `{key}` stands for the value of a key; or `flags`, keys that become flags."""

    text: str | None = None
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _pieces(self.text)

    @classmethod
    def natural(cls, data: object) -> object:
        """Whatever is no mapping is a text."""
        return data if isinstance(data, Mapping) else cls(text=_TEXT(data))

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The keys whose values the text needs."""
        return tuple(key for _, key in _pieces(self.text) if key is not None)

    def fill(self, config: Mapping[str, Scalar], *, quoted: bool = False) -> str:
        """The text with values in place; `quoted` for a shell."""
        quote = shlex.quote if quoted else str
        return "".join(
            literal + ("" if key is None else quote(as_written(config[key]))) for literal, key in _pieces(self.text)
        )

    def words(self, config: Mapping[str, Scalar], *, quoted: bool = False) -> list[str]:
        """The words of one case; a flag that is null or false is left out."""
        if self.text is not None:
            return [self.fill(config, quoted=quoted)]
        given = [(f"--{key.replace('_', '-')}", config[key]) for key in self.flags]
        return [
            word
            for flag, value in given
            if value is not None and value is not False
            for word in ((flag,) if value is True else (flag, as_written(value)))
        ]


@functools.lru_cache(maxsize=1024)
def _pieces(text: str | None) -> tuple[tuple[str, str | None], ...]:
    """The text as literals, each with the key that follows it. Raises CodecError for a brace that is neither of a
    placeholder nor doubled."""
    try:
        pieces = [
            (literal, key, bool(form or conversion)) for literal, key, form, conversion in Formatter().parse(text or "")
        ]
    except ValueError as error:
        raise CodecError(f"{text!r}: {str(error).lower()}; write {{{{ and }}}} for braces of the command") from error
    for _, key, is_formatted in pieces:
        if key is not None and (is_formatted or not key.isidentifier()):
            raise CodecError(f"{{{key}}} is not the name of a key; write {{{{ and }}}} for braces of the command")
    return tuple((literal, key) for literal, key, _ in pieces)


class Control(Struct, frozen=True, kw_only=True):
    """A configuration that is run beside each case: the case with these values instead of its own."""

    label: str | None = None
    set: Mapping[str, Value] = field(default_factory=dict)
    extra: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.values:
            raise CodecError("changes nothing; write: {quant_mode: none}")

    @property
    def values(self) -> Mapping[str, Value]:
        return {**self.set, **self.extra}


class Compare(Struct, frozen=True, kw_only=True):
    """The key whose values are compared with each other, and the one that the others are against."""

    axis: str
    base: Value


class Cost(Struct, frozen=True, kw_only=True):
    """What one run is expected to take, and where that number comes from."""

    seconds_per_run: float
    source: str | None = None

    def __post_init__(self) -> None:
        _check_least(self, seconds_per_run=0)


def _check_least(value: object, **least: int) -> None:
    """Raises CodecError for a number below its least one; a fraction has to be above it."""
    for name, limit in least.items():
        number = getattr(value, name)
        if number is not None and not (number > limit if isinstance(number, float) else number >= limit):
            bound = f"above {limit}" if isinstance(number, float) else f"of at least {limit}"
            raise CodecError(f"expected a number {bound}", f".{name}")


def _check_until(until: str, place: str, *inner: str) -> None:
    """Raises CodecError where no output can say that a command is ready, or the command is one of teardown."""
    if place != ".setup":
        raise CodecError("unknown key: only a command of setup stays", place, *inner)
    try:
        re.compile(until)
    except re.error as error:
        raise CodecError(f"expected a regular expression: {error}", place, *inner) from error


class Recipe(Struct, frozen=True, kw_only=True):
    """A recipe at one scale, with every value in place.

    name           as the file is called; `extends`: the file whose keys it takes over
    question       what it is to find out; `method`: how
    criteria       when the question is answered: prose, optionally a predicate
    gates          what a row must fulfil to count, such as `ok == 1` (docs/gates)
    constraints    what must hold wherever its results are compared, in words
    metrics        what is looked at, the first one decides which case is best
    scale          by name, what other sizes change
    after          recipes that are to be run before this one
    cost           of one run; None: unknown
    setup          commands before the first run, of which one with `until` stays; `teardown` after the last, whatever
                   happened
    command        words, of which some hold placeholders; with `shell` one text for the shell
    fixed          config of every case, which axes, cases and controls may change
    axes           every combination of their points is a case; explicit cases are an axis called `cases`
    controls       run beside each case, once where cases share them
    compare        what the question compares
    implied        keys that may differ between compared cases because the axis implies them
    repeats        runs of each case, in `order`
    timeout_s      after which a run is ended; `stall_s`: the same of a time without output; None: never
    read           the format and file of a benchmark tool whose results are read, as --read names them
    env            variables of every run, which may hold placeholders
    confirm        how many pairs of the case that gains most and its base may follow a plan that explores; 0: none
    plots          what its entry shows, as `parse_plot` reads them
    """

    name: str
    extends: str | None = None
    question: str = "Which case is best?"
    method: str | None = None
    criteria: tuple[Criterion, ...] = ()
    gates: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    scale: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    cost: Cost | None = None
    setup: tuple[PlannedCommand, ...] = ()
    teardown: tuple[PlannedCommand, ...] = ()
    command: tuple[CommandWord, ...]
    shell: bool = False
    fixed: Mapping[str, Value] = field(default_factory=dict)
    cases: tuple[Point, ...] | None = None
    axes: Mapping[str, Axis] = field(default_factory=dict)
    controls: tuple[Control, ...] = ()
    compare: Compare | None = None
    implied: tuple[str, ...] = ()
    repeats: int = 1
    order: Order = "as-listed"
    seed: int | None = None
    timeout_s: float | None = None
    stall_s: float | None = None
    read: str | None = None
    env: Mapping[str, CommandWord] = field(default_factory=dict)
    confirm: int = BUDGET_PAIRS
    plots: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_least(self, repeats=1, confirm=0, seed=0, timeout_s=0, stall_s=0)
        for plot in self.plots:
            parse_plot(plot)
        for gate in self.gates:
            parse_gate(gate)
        for name, commands in (("setup", self.setup), ("teardown", self.teardown)):
            for number, command in enumerate(commands):
                if not command.argv:
                    raise CodecError("expected a list of words, or {shell: TEXT}", f".{name}", f"[{number}]")
                if command.until is not None:
                    _check_until(command.until, f".{name}", f"[{number}]", ".until")
        known = [part.name for part in structs.fields(self) if part.name not in _IDENTITY]
        for scale, part in self.scale.items():
            for key in part:
                if key not in known:
                    raise CodecError("unknown key", ".scale", f".{scale}", f".{key}", given=key, choices=known)
        is_text = len(self.command) == 1 and not self.command[0].flags
        if self.shell and not is_text:
            raise CodecError("with shell: true it is one text", ".command")
        if not self.shell and (not self.command or (is_text and " " in (self.command[0].text or ""))):
            raise CodecError(
                "expected a list of words, such as [bench-core, hillclimb, {flags: [topk]}], or shell: true", ".command"
            )

    def argv(self, config: Mapping[str, Scalar]) -> tuple[str, ...]:
        """The command of one case."""
        return tuple(word for part in self.command for word in part.words(config, quoted=self.shell))

    def places(self) -> dict[str, tuple[str, str]]:
        """Every key that the command or the environment asks for, with the path of the place that asks first."""
        words = [((".command", f"[{at}]"), word) for at, word in enumerate(self.command)]
        words += [((".env", f".{name}"), word) for name, word in self.env.items()]
        found: dict[str, tuple[str, str]] = {}
        for place, word in words:
            for key in (*word.flags, *word.placeholders):
                found.setdefault(key, place)
        return found


# A value that reaches the command as it was written.
Value = str | int | float | bool | Spelt | None
# A plan with more is a slip: it is refused.
MOST_CASES = 10_000

_VALUE, _NUMBERS = converter(Value), converter(Mapping[str, int | float])


class Point(Struct, frozen=True, kw_only=True):
    """One place on an axis: the config that it sets, and its name where it is a shape of several keys."""

    name: str | None = None
    extra: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def natural(cls, data: object) -> object:
        """A plain value is one of the key that the axis is named by."""
        return data if isinstance(data, Mapping) else cls(extra={"": _VALUE(data)})


_POINTS = converter(tuple[Point, ...])


class Axis(Struct, frozen=True, kw_only=True):
    """What is varied, and how: in a `Recipe` each point has a value for each of the keys."""

    points: tuple[Point, ...]

    @classmethod
    def natural(cls, data: object) -> object:
        """A list of values or of shapes, or a range."""
        return cls(points=_POINTS(_range(data) if isinstance(data, Mapping) else data))

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for point in self.points for key in point.extra))


def _range(data: Mapping[str, Any]) -> list[int | float]:
    """Both ends included. Decimal arithmetic, so that the third of 0.1 to 0.9 by 0.1 is 0.3."""
    numbers = _NUMBERS(data)
    if {*numbers} not in ({"from", "to", "step"}, {"from", "to", "count"}):
        raise CodecError("expected a list of values, {from, to, step} or {from, to, count}")
    first, last, by = (Decimal(repr(numbers[key])) for key in ("from", "to", "count" if "count" in numbers else "step"))
    if "count" in numbers:
        count, step = int(by), (last - first) / (by - 1) if by > 1 else Decimal(0)
    else:
        count, step = int((last - first) / by) + 1 if by and (last - first) / by >= 0 else 0, by
    if not 0 < count <= MOST_CASES:
        raise CodecError(f"from {first} to {last} there are {count if count > 0 else 'no'} values")
    is_whole = all(type(numbers[key]) is int for key in ("from", "to")) and step == step.to_integral_value()
    return [(int if is_whole else float)(first + at * step) for at in range(count)]
