"""Like for like: in what two sets of measured cases differ, and what each difference means for a verdict.

Two cases may be compared when they differ in nothing but the tested axis. A difference that the axis implies is
declared by name, and so is one that the caller allows; some are worth noting and change nothing that is measured.
Every other one withholds the verdict, and so does a fact that only one side tells: unknown is no equality. What
neither side tells is said, and does not withhold: nothing speaks for a difference, and where it cannot be known
(code outside a repository) no verdict would ever be given.
`tests/evidence/like_for_like.yaml` goes through the situations with the reason for each outcome.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from logbook_agent.findings.tables.commands import results, switches
from logbook_agent.findings.tables.frame import ABSENT, Frame, Item, key_of, listed, on_accelerator, show
from logbook_agent.text.commands.flags import differences as command_differences
from logbook_agent.text.commands.flags import normal_name, parts

ARGV, CWD, UNIT, ORDER, LOAD = "argv", "cwd", "unit", "order", "load"
_COMMIT, _HOST, _LAUNCHER = "commit", "host", "launcher"
# Facts that are not told where they are missing. Without a variable or a launcher, there was none.
_PARTLY_KNOWN = (_COMMIT, _HOST, "package:", "file:")
# The number of samples that one process takes; they count as one run, however many there are.
_SAMPLE_COUNTS = ("iters", "iterations")
_WARMUP = "warmup"
_SHOWN_CHARACTERS = 60
# The label by which a benchmark names the code that computed a case. It follows from config and platform: that it
# differs is told, so that nobody takes the effect of other code for that of the axis.
_RAN = "ran"
# The label by which a benchmark says what its figures cannot tell.
_CAUTION = "caution"


# By so much the parts of two sides that were made on a busy machine differ before it is told.
_BUSIER = 0.5


class DifferenceStanding(StrEnum):
    """What a difference means. `differs` and `unknown` (only one side tells) withhold the verdict."""

    TESTED = "tested"
    IMPLIED = "implied"
    ALLOWED = "allowed"
    NOTED = "noted"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


_WITHHOLD = (DifferenceStanding.DIFFERS, DifferenceStanding.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A name with the values of both sides as one reads them; None: that side does not tell. `why` stands instead of
    values for what lies between the sides: the order of their runs."""

    name: str
    base: str | None
    other: str | None
    standing: DifferenceStanding
    why: str | None = None

    @property
    def is_order(self) -> bool:
        """Whether it is the order of the runs, and no config key by that name."""
        return self.name == ORDER and self.why is not None


def differences_text(differences: Sequence[Difference]) -> str:
    """`dtype (bfloat16 | float32), commit (3357f54a5 | not known)`."""
    return ", ".join(f"{d.name} ({d.why or _sides(d.base, d.other)})" for d in differences)


def _sides(base: str | None, other: str | None) -> str:
    """Both values, each cut to a length that still shows where they part."""
    start = 0
    if base is not None and other is not None and max(len(base), len(other)) > _SHOWN_CHARACTERS:
        shared = _shared(base, other)
        if shared > _SHOWN_CHARACTERS // 2:
            # From the start of a word, unless that is far away.
            start = max(base.rfind(" ", 0, shared) + 1, shared - _SHOWN_CHARACTERS // 3)
    return f"{_cut(base, start)} | {_cut(other, start)}"


def _shared(base: str, other: str) -> int:
    """With how many equal characters two texts begin."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(base, other, strict=False)))


def _cut(text: str | None, start: int) -> str:
    if text is None:
        return "not known"
    told = f"…{text[start:]}" if start else text
    return told if len(told) <= _SHOWN_CHARACTERS else told[: _SHOWN_CHARACTERS - 1] + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """All differences; `not_known` are facts that matter and that neither side tells."""

    differences: tuple[Difference, ...] = ()
    not_known: tuple[str, ...] = ()

    @property
    def withheld_by(self) -> tuple[Difference, ...]:
        return tuple(d for d in self.differences if d.standing in _WITHHOLD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is tested, and which differences are meant. `package` stands for every `package:NAME`, and so on."""

    axis: str | None = None
    implied: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()

    def declared(self, name: str) -> DifferenceStanding | None:
        """How the caller takes a difference in `name`; None when it was not named."""
        if name == self.axis:
            return DifferenceStanding.TESTED
        if _named(name, self.implied):
            return DifferenceStanding.IMPLIED
        return DifferenceStanding.ALLOWED if _named(name, self.allowed) else None


def _named(name: str, names: Collection[str]) -> bool:
    return name in names or (":" in name and name.partition(":")[0] in names)


def compared_names(frame: Frame) -> list[str]:
    """Every axis in which cases can be unlike, beside command and state."""
    host = [axis for axis, name in frame.facts.items() if name == _HOST]
    ran = [_RAN] if any(_RAN in item.row.labels for item in frame.items) else []
    return list(dict.fromkeys([*frame.apart, *host, frame.pseudo["devices"], *ran]))


def likeness(frame: Frame, names: Iterable[str], base: Sequence[Item], other: Sequence[Item], terms: Terms) -> Likeness:
    """How two groups of cases compare, each of which is of one kind but for what `terms` name."""
    sides = _Sides(frame, base, other, terms)
    found: list[Difference] = []
    for name in names:
        values = sides.values(name)
        if values[0].keys() != values[1].keys() or len(values[0]) > 1:
            found.append(sides.difference(name, *values))
    found += sides.states()
    found += sides.load()
    found += sides.cautions()
    found += sides.commands({normal_name(d.name) for d in found})
    axes = {_COMMIT: None, "devices": frame.pseudo["devices"]}
    axes |= {fact: axis for axis, fact in frame.facts.items() if fact == _COMMIT}
    told = {fact for fact, axis in axes.items() if axis is not None and any(i.key(axis) for i in (*base, *other))}
    not_known = tuple(fact for fact in axes if fact not in told and terms.declared(fact) is None)
    return Likeness(differences=tuple(found), not_known=not_known)


class _Sides:
    """Two groups of cases in a frame."""

    def __init__(self, frame: Frame, base: Sequence[Item], other: Sequence[Item], terms: Terms) -> None:
        self.frame = frame
        self.base, self.other = base, other
        self.terms = terms

    def values(self, name: str) -> tuple[dict[str | None, str], dict[str | None, str]]:
        return dict(self._of(self.base, name)), dict(self._of(self.other, name))

    def _of(self, items: Iterable[Item], name: str) -> Iterator[tuple[str | None, str]]:
        """Each value on an axis under its key; nothing for cases that do not tell it."""
        fact = self.frame.facts.get(name)
        for item in items:
            key = item.key(name)
            if key is not None:
                yield key, show(item.place.get(name))
            elif fact is not None:
                if not fact.startswith(_PARTLY_KNOWN):
                    yield None, "none" if fact == _LAUNCHER else "not set"
            elif name != self.frame.pseudo["devices"] and item.row.failed is None:
                yield None, "not reported"

    def difference(self, name: str, base: dict[str | None, str], other: dict[str | None, str]) -> Difference:
        return Difference(
            name=name,
            base=listed(list(base.values())) if base else None,
            other=listed(list(other.values())) if other else None,
            standing=self.terms.declared(name) or self._standing(name, base, other),
        )

    def _standing(self, name: str, base: dict[str | None, str], other: dict[str | None, str]) -> DifferenceStanding:
        fact = self.frame.facts.get(name)
        if fact is None:
            if (name == _RAN and self._is_label(name)) or (name in _SAMPLE_COUNTS and self._warm()):
                return DifferenceStanding.NOTED
        elif fact == _HOST and all(on_accelerator(i.case) for i in (*self.base, *self.other)):
            return DifferenceStanding.NOTED
        elif fact == _LAUNCHER and self._devices_known():
            # It only carries the command; what it leads to is told by devices, host and packages.
            return DifferenceStanding.NOTED
        elif fact.startswith("file:") and not (base and other):
            # Only one command names it, and the words of commands are compared by themselves.
            return DifferenceStanding.NOTED
        elif fact.startswith("env:") and self._sets_axis(fact.removeprefix("env:"), base, other):
            return DifferenceStanding.IMPLIED
        return DifferenceStanding.DIFFERS if base and other else DifferenceStanding.UNKNOWN

    def _is_label(self, name: str) -> bool:
        """Whether it is a word of the rows on both sides, and nobody's config key."""
        return not any(name in item.row.config for item in (*self.base, *self.other))

    def _warm(self) -> bool:
        """Whether both sides warmed up alike: else the first, cold call weighs more among fewer samples."""
        warmups = {item.key(_WARMUP) for item in (*self.base, *self.other)}
        return len(warmups) == 1 and not warmups & {None, "0"}

    def _devices_known(self) -> bool:
        return all(item.row.devices for item in (*self.base, *self.other))

    def _sets_axis(self, variable: str, base: dict[str | None, str], other: dict[str | None, str]) -> bool:
        """Whether a variable is how the axis is set: it is named after it and holds its value on both sides."""
        axis = self.terms.axis
        if axis is None or not f"_{variable.lower()}".endswith(f"_{normal_name(axis).lower()}"):
            return False
        sides = ((self.base, base), (self.other, other))
        return all({i.key(axis) for i in items} == {key_of(v) for v in found.values()} for items, found in sides)

    def states(self) -> list[Difference]:
        """That runs did not finish: whether their rows are whole nobody knows, also where both sides failed."""
        base, other = ({str(i.case.state): None for i in side if i.case.state} for side in (self.base, self.other))
        if all(state == "finished" for state in (*base, *other)):
            return []
        return [self._declared(self.frame.pseudo["state"], listed(list(base)), listed(list(other)))]

    def load(self) -> list[Difference]:
        """That the machine was busy while one side was measured, and quiet while the other was. What drifts with it
        drifts, so it is told; the verdict rests on the order of the runs, so it is not withheld."""
        told = [{i.run: i.case.busy for i in side if i.case.busy is not None} for side in (self.base, self.other)]
        if not all(told):
            return []
        base, other = (sum(side.values()) / len(side) for side in told)
        if abs(base - other) < _BUSIER:
            return []
        name = f"@{LOAD}" if LOAD in self.frame.config else LOAD
        texts = [_busy_text(sum(side.values()), len(side)) for side in told]
        return [Difference(name=name, base=texts[0], other=texts[1], standing=DifferenceStanding.NOTED)]

    def cautions(self) -> list[Difference]:
        """What the benchmark itself says that these figures cannot tell. No difference, but it is told beside them."""
        items = (*self.base, *self.other)
        told = dict.fromkeys(i.row.labels[_CAUTION] for i in items if _CAUTION in i.row.labels)
        standing = DifferenceStanding.NOTED
        return [Difference(name=_CAUTION, base=None, other=None, standing=standing, why=why) for why in told]

    def commands(self, named: Collection[str]) -> list[Difference]:
        """In what the commands differ beyond what config and the terms explain; `named` are differences by now."""
        base, other = sides = self.base[0].case, self.other[0].case
        found: list[Difference] = []
        if base.command != other.command:
            config = {**base.row.config, **other.row.config}
            keys = frozenset(explained(config, self.terms)) | set(named)
            reported = results(base) | results(other)
            mine, theirs = (parts(case.command, keys, switches(case), reported) for case in sides)
            differing = command_differences(mine, theirs, self._same_word)
            found += [self._declared(d.name, d.base or ABSENT, d.other or ABSENT) for d in differing]
        if base.cwd != other.cwd:
            found.append(self._declared(CWD, base.cwd or ABSENT, other.cwd or ABSENT))
        return found

    def _declared(self, name: str, base: str, other: str) -> Difference:
        standing = self.terms.declared(name) or DifferenceStanding.DIFFERS
        return Difference(name=name, base=base, other=other, standing=standing)

    def _same_word(self, base: str, other: str) -> bool:
        """Whether two words are the values that one key of config has on either side: `bench.sh int8`."""
        first, last, a, b = self.base[0], self.other[0], key_of(base), key_of(other)
        return any(first.key(k) == a and last.key(k) == b for k in first.row.config)


def _busy_text(busy: int, runs: int) -> str:
    return "quiet" if not busy else "busy" if busy == runs else f"busy in {busy} of {runs} runs"


def explained(config: Iterable[str], terms: Terms) -> Iterator[str]:
    """The flags, as names, of which config or the terms tell: what stands there is compared there."""
    yield from map(normal_name, config)
    yield from map(normal_name, (*terms.implied, *terms.allowed, *([terms.axis] if terms.axis else [])))
