"""Cases of two sides in pairs that agree in everything but what is tested, and what is left without a partner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

from logbook_agent.findings.cases import cases, counting
from logbook_agent.findings.contrasts.likeness import (
    ARGV,
    CWD,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The repeats of one case: `left_out` counts rows of runs that did not finish, where others did."""

    items: tuple[Item, ...]
    left_out: int = 0

    @property
    def runs(self) -> int:
        return len({item.run for item in self.items})

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
    side: Literal["base", "other", "neither"]
    case: Mapping[str, str]
    runs: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The cases of two sides, by the names of the sides."""

    base: str
    other: str
    pairs: tuple[Pair, ...]
    unpaired: tuple[Unpaired, ...]


_Groups: TypeAlias = Mapping[tuple[Hashable, ...], Group]


class Ground:
    """All cases of two sides or more in one frame. Raises UsageError for an axis that they do not have."""

    def __init__(self, cases: Sequence[Case], terms: Terms) -> None:
        self.terms = terms
        self.frame: Frame = frame_of(cases)
        self.frame.check([terms.axis] if terms.axis is not None else [], option="--axis")
        # What all cases share cannot differ between two of them.
        self.varying = [n for n in compared_names(self.frame) if n != terms.axis and _varies(self.frame, n)]
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
        mine, theirs = (self._groups(side) for side in (base, other))
        matched = [at for at in range(len(self._keys)) if _tells(at, mine, theirs)]
        told = [self._keys[at] for at in matched if self._keys[at] != _COMMAND]
        unique = [
            n for n in self._keys if n != _COMMAND and any(_distinct(self._keys.index(n), s) for s in (mine, theirs))
        ]
        unequal = self._unequal(base, other, told)
        firsts, lasts = _by(mine, matched), _by(theirs, matched)
        pairs: list[Pair] = []
        unpaired: list[Unpaired] = []
        for key in dict.fromkeys((*firsts, *lasts)):
            own, partners = firsts.get(key, []), lasts.get(key, [])
            why = unequal.get(self._without_order((own or partners)[0].items[0], told), "")
            if own and partners and min(len(own), len(partners)) == 1 and not why:
                # Several on one side differ in what the other has no value of: each is shown.
                shown = told if len(own) == len(partners) else [*told, *unique]
                pairs += [self._pair(a, b, shown, a if len(own) > 1 else b) for a in own for b in partners]
                continue
            lonely = f"no case on the other side agrees in {', '.join(told) or 'its command'}"
            why = why or ("several cases on both sides match it" if own and partners else lonely)
            unpaired += [_unpaired("base", group, unique, why) for group in own]
            unpaired += [_unpaired("other", group, unique, why) for group in partners]
        return Pairing(base=names[0], other=names[1], pairs=tuple(pairs), unpaired=tuple(unpaired))

    @cached_property
    def _names(self) -> list[str]:
        return [*self.varying, *([self.terms.axis] if self.terms.axis else [])]

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        """What keeps the cases of one side apart; differences that are allowed do not."""
        keeping = {*self.frame.apart, self.frame.pseudo["devices"]}
        allowed = [n for n in self.varying if self.terms.declared(n) is DifferenceStanding.ALLOWED]
        apart = [n for n in self.varying if n in keeping and n not in allowed]
        return (*apart, *within_a_run(self.frame, self._names), _COMMAND)

    def _groups(self, side: Sequence[Item]) -> _Groups:
        found = by(side, lambda item: (*item.keys(self._keys[:-1]), self._command(item.case)))
        return {key: _finished(items) for key, items in found.items()}

    def _command(self, case: Case) -> Hashable:
        """What the command says beyond config: repeats of one case agree in it."""
        place = case.command, case.cwd, tuple(case.row.config), switches(case), results(case)
        if place not in self._commands:
            self._commands[place] = said_by_command(case, self.terms)
        return self._commands[place]

    def _without_order(self, item: Item, told: Sequence[str]) -> Hashable:
        return item.keys(name for name in told if name != self.frame.pseudo["row"])

    def _unequal(self, base: Sequence[Item], other: Sequence[Item], told: Sequence[str]) -> dict[Hashable, str]:
        """`3 rows a run against 2`, where only their order tells the rows of a run apart: the first row of one run need
        not be the first of another."""
        if self.frame.pseudo["row"] not in told:
            return {}
        sides: list[dict[Hashable, set[int]]] = [{}, {}]
        for side, items in zip(sides, (base, other), strict=True):
            for (place, _), count in Counter((self._without_order(i, told), i.run) for i in items).items():
                side.setdefault(place, set()).add(count)
        found = {place: (counts, sides[1].get(place, counts)) for place, counts in sides[0].items()}
        texts = {place: [" or ".join(map(str, sorted(c))) for c in both] for place, both in found.items()}
        return {place: f"{a} rows a run against {b}" for place, (a, b) in texts.items() if a != b}

    def _pair(self, base: Group, other: Group, told: Sequence[str], of: Group) -> Pair:
        return Pair(
            case={name: show(of.items[0].place.get(name)) for name in told},
            base=base,
            other=other,
            likeness=likeness(self.frame, self._names, base.items, other.items, self.terms),
        )


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
    axis = ground.terms.axis
    assert axis is not None  # noqa: S101
    values = ground.values()
    base = next(iter(values), None) if base_value is None else ground.frame.key_of(axis, base_value)
    if base_value is not None and base not in values:
        raise unknown(f"value of {axis}", base_value, values.values(), option="--base")
    if len(values) < 2:
        raise UsageError(
            f"{axis} has one value in these rows: {next(iter(values.values()), '—')}",
            cause="two values of it are needed to compare",
            hint="name further entries, or another axis: logbook compare ID ID --axis NAME",
        )
    told = [item for item in ground.frame.items if item.says(axis)]
    of = by(told, lambda item: item.key(axis))
    others = [value for value in values if value != base]
    found = [ground.between(of[base], of[value], (values[base], values[value])) for value in others]
    # A case that failed may not have got as far as to tell its config.
    if silent := len(ground.frame.items) - len(told):
        lone = Unpaired(side="neither", case={}, runs=1, why=f"failed before it reported its {axis}")
        found[0] = replace(found[0], unpaired=(*found[0].unpaired, *(lone,) * silent))
    return found


def _varies(frame: Frame, name: str) -> bool:
    first, key = frame.items[0].place.get(name), frame.items[0].key(name)
    # Equal values of one type have one key, and most are: asking for keys takes longer.
    others = (i for i in frame.items if type(v := i.place.get(name)) is not type(first) or v != first)
    return any(item.key(name) != key for item in others)


def _finished(items: Sequence[Item]) -> Group:
    good = [item for item in items if item.case.state in ("finished", None)]
    return Group(items=tuple(good or items), left_out=len(items) - len(good) if good else 0)


def _distinct(at: int, side: _Groups) -> bool:
    """Whether the cases of a side differ in a part of their keys."""
    return len({key[at] for key in side}) > 1


def _tells(at: int, base: _Groups, other: _Groups) -> bool:
    """Whether a part of the keys says who belongs together: it varies within a side, and both sides have some
    value of it. One that has no value on both sides is a difference of all pairs."""
    shared = {key[at] for key in base} & {key[at] for key in other}
    return bool(shared) and (_distinct(at, base) or _distinct(at, other))


def _by(groups: _Groups, matched: Sequence[int]) -> dict[tuple[Hashable, ...], list[Group]]:
    found: dict[tuple[Hashable, ...], list[Group]] = {}
    for key, group in groups.items():
        found.setdefault(tuple(key[at] for at in matched), []).append(group)
    return found


def _unpaired(side: Literal["base", "other"], group: Group, names: Sequence[str], why: str) -> Unpaired:
    place = group.items[0].place
    return Unpaired(side=side, case={n: show(place.get(n)) for n in names}, runs=group.runs, why=why)
