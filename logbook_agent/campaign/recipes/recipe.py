"""What a recipe is: a question, a command template, and the cases to run it for."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from string import Formatter

from logbook_agent.campaign.recipes.placed import RecipeProblem
from logbook_agent.model.comparison import BUDGET_PAIRS
from logbook_agent.model.entry import PlannedCommand
from logbook_agent.model.header import Criterion, Metric
from logbook_agent.model.values import Scalar, as_written

_FORMATTER = Formatter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Literal pieces and keys by turns: `pieces[0] keys[0] pieces[1] keys[1] ... pieces[-1]`."""

    pieces: tuple[str, ...]
    keys: tuple[str, ...] = ()

    def fill(self, config: Mapping[str, Scalar], *, quoted: bool = False) -> str:
        """The text with values in place; `quoted` for a shell. RecipeProblem where a value is null."""
        if not self.keys:
            return self.pieces[0]
        parts = [self.pieces[0]]
        for key, piece in zip(self.keys, self.pieces[1:], strict=True):
            text = written(config[key], key)
            parts += (shlex.quote(text) if quoted else text, piece)
        return "".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Keys that become flags."""

    keys: tuple[str, ...]

    def fill(self, config: Mapping[str, Scalar]) -> list[str]:
        return [word for key in self.keys for word in _flag(key, config[key])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """`words` in order; with `shell` a single text, into which values are put quoted."""

    words: tuple[Text | Flags, ...]
    shell: bool = False

    def argv(self, config: Mapping[str, Scalar]) -> tuple[str, ...]:
        """The words of one case."""
        argv: list[str] = []
        for word in self.words:
            if isinstance(word, Flags):
                argv += word.fill(config)
            else:
                argv.append(word.fill(config, quoted=self.shell))
        return tuple(argv)


def _flag(key: str, value: Scalar) -> tuple[str, ...]:
    """The words of one flag."""
    if value is None or value is False:
        return ()
    flag = f"--{key.replace('_', '-')}"
    return (flag,) if value is True else (flag, written(value, key))


def written(value: Scalar, key: str) -> str:
    """A value as a word of a command."""
    if value is None:
        raise RecipeProblem(
            f"{key} is null, and a word of the command needs its value",
            place="command",
            cause="only {flags: [...]} can leave out a key without a value",
            hint=f"give {key} a value, or put it into flags",
        )
    return as_written(value)


def parse_text(text: str, place: str) -> Text:
    """A text with placeholders. RecipeProblem for a brace that is neither of a placeholder nor doubled."""
    pieces, keys = [""], []
    try:
        parsed = list(_FORMATTER.parse(text))
    except ValueError as error:
        raise _brace(text, place, str(error)) from error
    for literal, key, form, conversion in parsed:
        pieces[-1] += literal
        if key is None:
            continue
        if not key.isidentifier() or form or conversion:
            raise _brace(text, place, f"{{{key}}} is not the name of a key")
        keys.append(key)
        pieces.append("")
    return Text(pieces=tuple(pieces), keys=tuple(keys))


def _brace(text: str, place: str, why: str) -> RecipeProblem:
    return RecipeProblem(
        f"{text!r} cannot be filled in: {why.lower()}",
        place=place,
        cause="{key} stands for the value of a config key",
        hint="write {{ and }} for braces that belong to the command",
    )


def key_places(words: Sequence[Text | Flags], env: Mapping[str, Text]) -> dict[str, str]:
    """Every key that the command or the environment asks for, with the place that asks first."""
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        for key in word.keys:
            found.setdefault(key, f"command[{index}]")
    for name, text in env.items():
        for key in text.keys:
            found.setdefault(key, f"env.{name}")
    return found


# A plan with more is a slip: it is refused.
MOST_CASES = 10_000


class Order(StrEnum):
    """In which order the runs are made.

    `as-listed`: case by case, repeats together. `interleaved`: cases that are compared stand side by side, each repeat
    in an order of its own that is drawn by a seed, so that nothing the machine does meets one of them more often.
    `shuffled`: all runs mixed, by a seed.
    """

    AS_LISTED = "as-listed"
    INTERLEAVED = "interleaved"
    SHUFFLED = "shuffled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One place on an axis: the config it sets, and a name when it is a shape of several keys."""

    name: str | None = None
    values: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What is varied. `keys` are the config keys of all its points; each point has a value for each of them."""

    name: str
    keys: tuple[str, ...]
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A configuration that is run beside each case: the case with these values instead of its own."""

    label: str | None = None
    values: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """The key whose values are compared with each other, and the one that the others are against."""

    axis: str
    base: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run is expected to take, and where that number comes from."""

    seconds_per_run: float
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A recipe at one scale, with every value in place.

    name           as the file is called
    question       what it is to find out; `method`: how
    criteria       when the question is answered: prose, optionally a predicate
    gates          what a row must fulfil to count, such as `ok == 1` (docs/gates)
    constraints    what must hold wherever its results are compared, in words
    metrics        what is looked at, the first one decides which case is best
    scales         the names of the scales that change something
    after          recipes that are to be run before this one
    cost           of one run; None: unknown
    setup          commands before the first run, and `teardown` after the last, whatever happened
    command        argument vector with placeholders; with `shell` one text for the shell
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
    question: str
    method: str | None = None
    criteria: tuple[Criterion, ...] = ()
    gates: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    scales: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    cost: Cost | None = None
    setup: tuple[PlannedCommand, ...] = ()
    teardown: tuple[PlannedCommand, ...] = ()
    command: Template
    fixed: Mapping[str, Scalar] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()
    controls: tuple[Control, ...] = ()
    compare: Compare | None = None
    implied: tuple[str, ...] = ()
    repeats: int = 1
    order: Order = Order.AS_LISTED
    seed: int | None = None
    timeout_s: float | None = None
    stall_s: float | None = None
    read: str | None = None
    env: Mapping[str, Text] = field(default_factory=dict)
    confirm: int = BUDGET_PAIRS
    plots: tuple[str, ...] = ()
