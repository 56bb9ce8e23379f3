"""Cases of two sides in pairs that agree in everything but what is tested, and what is left without a partner."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from logbook_agent.findings.cases import cases, counting
from logbook_agent.findings.contrasts.likeness import (
    ARGV,
    CWD,
    LOAD,
    ORDER,
    UNIT,
    DifferenceStanding,
    Likeness,
    Terms,
    compared_names,
    explained,
    likeness,
)
from logbook_agent.findings.tables.axes import within_a_run
from logbook_agent.findings.tables.commands import results, switches
from logbook_agent.findings.tables.frame import Frame, Item, by, frame_of, show, unknown
from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record
from logbook_agent.text.commands.flags import parts

_COMMAND = "command"
# How a value reads that is there and has no text: a variable set to nothing.
_EMPTY = "(empty)"
# Names that may be declared whether or not these cases have them, and those that stand for several.
_ALWAYS = ("commit", "devices", "host", "launcher", "state", CWD, ORDER, LOAD)
_GROUPS = (ARGV, "env", "package", "file")
Side = Literal["base", "other", "neither"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The repeats of one case: `left_out` counts rows of runs that did not finish, where others did. `rounds` are those
    of their entries in which the case was run to an end, whatever came of it."""

    items: tuple[Item, ...]
    left_out: int = 0
    rounds: frozenset[tuple[str, int]] = frozenset()

    @property
    def runs(self) -> int:
        return len({item.run for item in self.items})

    @property
    def contended(self) -> int:
        """How many of its runs started while others held an accelerator."""
        return len({item.run for item in self.items if item.case.contended})

    @property
    def failed(self) -> list[str]:
        """Why rows of it have no measurement."""
        return [item.row.failed.reason for item in self.items if item.row.failed is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """`case` is what tells this pair from the others, as one reads it."""

    case: Mapping[str, str]
    base: Group
    other: Group
    likeness: Likeness


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpaired:
    side: Side
    case: Mapping[str, str]
    runs: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Two sides by their names; what neither side tells of code and devices stands in the pairs."""

    base: str
    other: str
    pairs: tuple[Pair, ...]
    unpaired: tuple[Unpaired, ...]


class Ground:
    """All cases of a comparison in one frame. Raises UsageError for a name in `terms` that they do not have."""

    def __init__(self, cases: Sequence[Case], terms: Terms) -> None:
        self.terms = terms
        self.frame: Frame = frame_of(cases)
        _check(self.frame, terms)
        names = compared_names(self.frame)
        # What all cases share cannot differ between two of them.
        self.varying = [n for n in names if n != terms.axis and _varies(self.frame, n)]
        self._commands: dict[Hashable, Hashable] = {}

    def values(self) -> dict[str | None, str]:
        """The values of the tested axis in order of appearance, under their keys."""
        assert self.terms.axis is not None  # noqa: S101
        found: dict[str | None, str] = {}
        for item in self.frame.items:
            if item.says(self.terms.axis):
                found.setdefault(item.key(self.terms.axis), show(item.place.get(self.terms.axis)) or _EMPTY)
        return found

    def between(self, base: Sequence[Item], other: Sequence[Item], names: tuple[str, str]) -> Pairing:
        """The cases of two sides in pairs."""
        keys = self._keys
        sides = [self._groups(side, keys) for side in (base, other)]
        matched = [at for at in range(len(keys)) if _tells(at, *sides)]
        return self._paired(sides[0], sides[1], keys, matched, names)

    def cases(self) -> list[tuple[dict[str, str], Group]]:
        """Every case with its repeats, and what tells it from the others."""
        found = self._groups(self.frame.items, self._keys)
        unique = _distinct(found, {}, self._keys)
        return [({n: show(g.items[0].place.get(n)) for n in unique}, g) for g in found.values()]

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        """What keeps the cases of one side apart; differences that are allowed do not."""
        keeping = {*self.frame.apart, self.frame.pseudo["devices"]}
        allowed = [n for n in self.varying if self.terms.declared(n) is DifferenceStanding.ALLOWED]
        apart = [n for n in self.varying if n in keeping and n not in allowed]
        return (*apart, *within_a_run(self.frame, self._names()), _COMMAND)

    def _groups(self, side: Sequence[Item], keys: Sequence[str]) -> dict[tuple[Hashable, ...], Group]:
        found = by(side, lambda item: (*item.keys(keys[:-1]), self._command(item.case)))
        return {key: _finished(items) for key, items in found.items()}

    def _command(self, case: Case) -> Hashable:
        """What the command says beyond config: repeats of one case agree in it."""
        place = case.command, case.cwd, tuple(case.row.config), switches(case), results(case)
        if place not in self._commands:
            self._commands[place] = said_by_command(case, self.terms)
        return self._commands[place]

    def _paired(
        self,
        base: Mapping[tuple[Hashable, ...], Group],
        other: Mapping[tuple[Hashable, ...], Group],
        keys: Sequence[str],
        matched: Sequence[int],
        names: tuple[str, str],
    ) -> Pairing:
        firsts, lasts = _by(base, matched), _by(other, matched)
        told = [keys[at] for at in matched if keys[at] != _COMMAND]
        unique = _distinct(base, other, keys)
        pairs: list[Pair] = []
        unpaired: list[Unpaired] = []
        for key in dict.fromkeys((*firsts, *lasts)):
            mine, theirs = firsts.get(key, []), lasts.get(key, [])
            if mine and theirs and min(len(mine), len(theirs)) == 1:
                # Several on one side differ in what the other has no value of: each is shown.
                more = [] if len(mine) == len(theirs) else unique
                of: Side = "base" if len(mine) > 1 else "other"
                pairs += [self._pair(a, b, [*told, *more], of) for a in mine for b in theirs]
                continue
            why = f"no case on the other side agrees in {', '.join(told) or 'its command'}"
            why = "several cases on both sides match it" if mine and theirs else why
            unpaired += [_unpaired("base", group, unique, why) for group in mine]
            unpaired += [_unpaired("other", group, unique, why) for group in theirs]
        return Pairing(base=names[0], other=names[1], pairs=tuple(pairs), unpaired=tuple(unpaired))

    def _pair(self, base: Group, other: Group, told: Sequence[str], of: Side) -> Pair:
        place = (base if of == "base" else other).items[0].place
        return Pair(
            case={name: show(place.get(name)) for name in told},
            base=base,
            other=other,
            likeness=likeness(self.frame, self._names(), base.items, other.items, self.terms),
        )

    def _names(self) -> list[str]:
        return [*self.varying, *([self.terms.axis] if self.terms.axis else [])]


def said_by_command(case: Case, terms: Terms) -> Hashable:
    """What a command and its folder say beyond config and what the terms declare."""
    keys = frozenset(explained(case.row.config, terms))
    command = None if terms.declared(ARGV) else parts(case.command, keys, switches(case), results(case))
    return command, None if terms.declared(CWD) else case.cwd


def compare_sides(ground: Ground, of_base: int, names: tuple[str, str]) -> Pairing:
    """The cases of two sides in pairs: the first `of_base` of the ground against the others."""
    return ground.between(ground.frame.items[:of_base], ground.frame.items[of_base:], names)


def unlike(base: Record, other: Record, terms: Terms) -> Sequence[Pair]:
    """The cases of two records in pairs, with their differences."""
    # Together, so that one code has one name on both sides.
    found = counting(cases(base, other))
    count = sum(len(s.run.rows) for s in base.runs if s.counts)
    return compare_sides(Ground(found, terms), count, (base.id, other.id)).pairs if 0 < count < len(found) else ()


def compare_values(ground: Ground, base_value: str | None = None) -> list[Pairing]:
    """The cases of every value of the tested axis against those of its base: `base_value`, else the first.

    Raises UsageError when there is nothing to compare: no such value, or no other one.
    """
    terms = ground.terms
    assert terms.axis is not None  # noqa: S101
    values = ground.values()
    base = next(iter(values), None) if base_value is None else ground.frame.key_of(terms.axis, base_value)
    if base_value is not None and base not in values:
        raise unknown(f"value of {terms.axis}", base_value, values.values(), option="--base")
    if len(values) < 2:
        only = next(iter(values.values()), "—")
        raise UsageError(
            f"{terms.axis} has one value in these rows: {only}",
            cause="two values of it are needed to compare",
            hint="name further entries, or another axis: logbook compare ID ID --axis NAME",
        )
    told = [item for item in ground.frame.items if item.says(terms.axis)]
    of = by(told, lambda item: item.key(str(terms.axis)))
    others = [value for value in values if value != base]
    found = [ground.between(of[base], of[value], (values[base], values[value])) for value in others]
    # A case that failed may not have got as far as to tell its config.
    if silent := len(ground.frame.items) - len(told):
        why = f"failed before it reported its {terms.axis}"
        more = (Unpaired(side="neither", case={}, runs=1, why=why),) * silent
        found[0] = replace(found[0], unpaired=(*found[0].unpaired, *more))
    return found


def _check(frame: Frame, terms: Terms) -> None:
    there = {*frame.config, *frame.pseudo.values(), *frame.facts}
    if terms.axis is not None and terms.axis not in there:
        frame.check([terms.axis], option="--axis")
    for option, names in (("--implied", terms.implied), ("--allow", terms.allowed)):
        for name in (n for n in names if n not in there):
            if name == UNIT:
                raise UsageError(
                    "a difference in unit cannot be allowed",
                    cause="numbers in two units have no common scale",
                    hint="report the metric in one unit on both sides",
                )
            if name not in _ALWAYS and name.partition(":")[0] not in _GROUPS:
                raise unknown("difference", name, [*frame.axes(), *_ALWAYS], option=option)


def _varies(frame: Frame, name: str) -> bool:
    first, key = frame.items[0].place.get(name), frame.items[0].key(name)
    # Equal values of one type have one key, and most are: asking for keys takes longer.
    others = (i for i in frame.items if type(v := i.place.get(name)) is not type(first) or v != first)
    return any(item.key(name) != key for item in others)


def _finished(items: Sequence[Item]) -> Group:
    good = [item for item in items if item.case.state in ("finished", None)]
    ended = [i.case for i in items if i.case.state in ("finished", None, "failed", "timeout")]
    return Group(
        items=tuple(good or items),
        left_out=len(items) - len(good) if good else 0,
        rounds=frozenset((case.entry, case.repeat) for case in ended if case.repeat is not None),
    )


Groups = Mapping[tuple[Hashable, ...], Group]


def _tells(at: int, base: Groups, other: Groups) -> bool:
    """Whether a part of the keys says who belongs together: it varies within a side, and both sides have some
    value of it. One that has no value on both sides is a difference of all pairs."""
    first, last = {key[at] for key in base}, {key[at] for key in other}
    return max(len(first), len(last)) > 1 and bool(first & last)


def _distinct(base: Groups, other: Groups, keys: Sequence[str]) -> list[str]:
    """The names in which the cases of a side differ."""
    return [
        name
        for at, name in enumerate(keys)
        if name != _COMMAND and any(len({key[at] for key in side}) > 1 for side in (base, other))
    ]


def _by(groups: Groups, matched: Sequence[int]) -> dict[tuple[Hashable, ...], list[Group]]:
    found: dict[tuple[Hashable, ...], list[Group]] = {}
    for key, group in groups.items():
        found.setdefault(tuple(key[at] for at in matched), []).append(group)
    return found


def _unpaired(side: Side, group: Group, names: Sequence[str], why: str) -> Unpaired:
    place = group.items[0].place
    return Unpaired(side=side, case={n: show(place.get(n)) for n in names}, runs=group.runs, why=why)
