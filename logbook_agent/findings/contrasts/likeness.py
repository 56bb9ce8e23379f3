"""Like for like: in what two sets of measured cases differ, and what each difference means.

Two cases are alike when they differ in nothing but the axis. A difference that the axis implies, or that the caller
allows, is declared by name; some are worth noting and change nothing that is measured. Every other one makes them
unlike, and so does a fact that only one side tells. A fact that neither side tells is reported as not known.
`tests/contrasts/like_for_like.yaml` goes through the situations with the reason for each outcome.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from logbook_agent.findings.tables.commands import results, switches
from logbook_agent.findings.tables.frame import ABSENT, Frame, Item, key_of, listed, on_accelerator, show
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.text.commands.flags import differences as command_differences
from logbook_agent.text.commands.flags import normal_name, parts

ARGV, CWD, LOAD = "argv", "cwd", "load"
_COMMIT, _HOST, _LAUNCHER = "commit", "host", "launcher"
# What the tool sets for each side when the code is the axis.
_OF_CODE = (_COMMIT, ARGV, CWD, "env:PYTHONPATH")
# Facts that are not told where they are missing. Without a variable or a launcher, there was none.
_PARTLY_KNOWN = (_COMMIT, _HOST, "package:", "file:")
# The number of samples that one process takes; they count as one run, however many there are.
_SAMPLE_COUNTS = ("iters", "iterations")
_WARMUP = "warmup"
# Labels by which a benchmark names the code that computed a case, and says what its figures cannot tell.
_RAN, _CAUTION = "ran", "caution"
# By so much the parts of two sides that were made on a busy machine differ before it is reported.
_BUSIER = 0.5
_SHOWN_CHARACTERS = 60


class DifferenceStanding(StrEnum):
    """What a difference means. `differs` and `unknown` (only one side tells) make two cases unlike."""

    TESTED = "tested"
    IMPLIED = "implied"
    ALLOWED = "allowed"
    NOTED = "noted"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A name with the values of both sides as one reads them; None: that side does not tell. `why`: words instead of
    values."""

    name: str
    base: str | None
    other: str | None
    standing: DifferenceStanding
    why: str | None = None


def differences_text(differences: Sequence[Difference]) -> str:
    """`dtype (bfloat16 | float32), commit (3357f54a5 | not known)`."""
    return ", ".join(f"{d.name} ({d.why or _sides(d.base, d.other)})" for d in differences)


def _sides(base: str | None, other: str | None) -> str:
    """Both values, each cut to a length that still shows where they part."""
    start = 0
    if base is not None and other is not None and max(len(base), len(other)) > _SHOWN_CHARACTERS:
        ends = min(len(base), len(other))
        shared = next((at for at in range(ends) if base[at] != other[at]), ends)
        start = shared - _SHOWN_CHARACTERS // 3 if shared > _SHOWN_CHARACTERS // 2 else 0
    told = ["not known" if text is None else f"…{text[start:]}" if start else text for text in (base, other)]
    return " | ".join(t if len(t) <= _SHOWN_CHARACTERS else t[: _SHOWN_CHARACTERS - 1] + "…" for t in told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """All differences; `not_known` are facts that matter and that neither side tells."""

    differences: tuple[Difference, ...] = ()
    not_known: tuple[str, ...] = ()

    @property
    def withheld_by(self) -> tuple[Difference, ...]:
        """The differences that make the sides unlike."""
        unlike = (DifferenceStanding.DIFFERS, DifferenceStanding.UNKNOWN)
        return tuple(d for d in self.differences if d.standing in unlike)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is tested, and which differences are meant. `package` stands for every `package:NAME`, and so on."""

    axis: str | None = None
    implied: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()

    def declared(self, name: str) -> DifferenceStanding | None:
        """How the caller takes a difference in `name`; None when it was not named."""
        names = {name, name.partition(":")[0]} if ":" in name else {name}
        if name == self.axis:
            return DifferenceStanding.TESTED
        if names & {*self.implied, *(_OF_CODE if self.axis == CODE_AXIS else ())}:
            return DifferenceStanding.IMPLIED
        return DifferenceStanding.ALLOWED if names & {*self.allowed} else None


def compared_names(frame: Frame) -> list[str]:
    """Every axis in which cases can be unlike, beside command and state."""
    host = [axis for axis, name in frame.facts.items() if name == _HOST]
    ran = [_RAN] if any(_RAN in item.row.labels for item in frame.items) else []
    return list(dict.fromkeys([*frame.apart, *host, frame.pseudo["devices"], *ran]))


def likeness(frame: Frame, names: Iterable[str], base: Sequence[Item], other: Sequence[Item], terms: Terms) -> Likeness:
    """How two groups of cases compare, each of which is of one kind but for what `terms` name."""
    sides = _Sides(frame, base, other, terms)
    found = [*sides.values(names), *sides.states(), *sides.load(), *sides.cautions()]
    found += sides.commands({normal_name(d.name) for d in found})
    axes = {fact: axis for axis, fact in frame.facts.items() if fact == _COMMIT} | {"devices": frame.pseudo["devices"]}
    told = {fact for fact, axis in axes.items() if any(item.key(axis) for item in sides.items)}
    not_known = tuple(f for f in (_COMMIT, "devices") if f not in told and terms.declared(f) is None)
    return Likeness(differences=tuple(found), not_known=not_known)


class _Sides:
    """Two groups of cases in a frame."""

    def __init__(self, frame: Frame, base: Sequence[Item], other: Sequence[Item], terms: Terms) -> None:
        self.frame, self.terms = frame, terms
        self.both, self.items = (base, other), (*base, *other)

    def values(self, names: Iterable[str]) -> Iterator[Difference]:
        """The axes on which the sides have other values, or one of them several."""
        for name in names:
            base, other = (dict(self._of(items, name)) for items in self.both)
            if base.keys() != other.keys() or len(base) > 1:
                standing = self.terms.declared(name) or self._standing(name, base, other)
                texts = [listed(list(side.values())) if side else None for side in (base, other)]
                yield Difference(name=name, base=texts[0], other=texts[1], standing=standing)

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

    def _standing(
        self, name: str, base: Mapping[str | None, str], other: Mapping[str | None, str]
    ) -> DifferenceStanding:
        fact = self.frame.facts.get(name)
        if fact is None:
            is_label = name == _RAN and not any(name in item.row.config for item in self.items)
            # Unless both sides warmed up alike, the first, cold call weighs more among fewer samples.
            warmups = {item.key(_WARMUP) for item in self.items}
            is_warm = len(warmups) == 1 and not warmups & {None, "0"}
            is_noted = is_label or (name in _SAMPLE_COUNTS and is_warm)
        elif fact.startswith("env:") and self._sets_axis(fact.removeprefix("env:"), base, other):
            return DifferenceStanding.IMPLIED
        else:
            # A launcher only carries the command: devices, host and packages tell where it leads. A file that only one
            # command names is compared with the words of the commands.
            is_noted = (
                (fact == _HOST and all(on_accelerator(item.case) for item in self.items))
                or (fact == _LAUNCHER and all(item.row.devices for item in self.items))
                or (fact.startswith("file:") and not (base and other))
            )
        if is_noted:
            return DifferenceStanding.NOTED
        return DifferenceStanding.DIFFERS if base and other else DifferenceStanding.UNKNOWN

    def _sets_axis(self, variable: str, *found: Mapping[str | None, str]) -> bool:
        """Whether a variable is how the axis is set: it is named after it and holds its value on both sides."""
        axis = self.terms.axis
        if axis is None or not f"_{variable.lower()}".endswith(f"_{normal_name(axis).lower()}"):
            return False
        pairs = zip(self.both, found, strict=True)
        return all({i.key(axis) for i in items} == {key_of(v) for v in texts.values()} for items, texts in pairs)

    def states(self) -> Iterator[Difference]:
        """That runs did not finish: whether their rows are whole nobody knows, also where both sides failed."""
        base, other = (list(dict.fromkeys(str(i.case.state) for i in side if i.case.state)) for side in self.both)
        if {*base, *other} - {"finished"}:
            yield self._declared(self.frame.pseudo["state"], listed(base), listed(other))

    def load(self) -> Iterator[Difference]:
        """That the machine was busy while one side was measured, and quiet while the other was."""
        told = [{i.run: i.case.busy for i in side if i.case.busy is not None} for side in self.both]
        busy = [(sum(side.values()), len(side)) for side in told if side]
        if len(busy) == 2 and abs(busy[0][0] / busy[0][1] - busy[1][0] / busy[1][1]) >= _BUSIER:
            base, other = (
                "quiet" if not n else "busy" if n == runs else f"busy in {n} of {runs} runs" for n, runs in busy
            )
            name = f"@{LOAD}" if LOAD in self.frame.config else LOAD
            yield Difference(name=name, base=base, other=other, standing=DifferenceStanding.NOTED)

    def cautions(self) -> Iterator[Difference]:
        """What the benchmark itself says that these figures cannot tell."""
        for why in dict.fromkeys(i.row.labels[_CAUTION] for i in self.items if _CAUTION in i.row.labels):
            yield Difference(name=_CAUTION, base=None, other=None, standing=DifferenceStanding.NOTED, why=why)

    def commands(self, named: Collection[str]) -> Iterator[Difference]:
        """In what the commands differ beyond what config and the terms explain; `named` are differences by now."""
        base, other = sides = [side[0].case for side in self.both]
        if base.command != other.command:
            keys = frozenset(explained({**base.row.config, **other.row.config}, self.terms)) | set(named)
            reported = results(base) | results(other)
            mine, theirs = (parts(case.command, keys, switches(case), reported) for case in sides)
            for d in command_differences(mine, theirs, self._same_word):
                yield self._declared(d.name, d.base or ABSENT, d.other or ABSENT)
        if base.cwd != other.cwd:
            yield self._declared(CWD, base.cwd or ABSENT, other.cwd or ABSENT)

    def _declared(self, name: str, base: str, other: str) -> Difference:
        standing = self.terms.declared(name) or DifferenceStanding.DIFFERS
        return Difference(name=name, base=base, other=other, standing=standing)

    def _same_word(self, base: str, other: str) -> bool:
        """Whether two words are the values that one key of config has on either side (`bench.sh int8`), or hold the
        values of the axis in the same place (`--src wt/int8`)."""
        first, last = (side[0] for side in self.both)
        if any(first.key(k) == key_of(base) and last.key(k) == key_of(other) for k in first.row.config):
            return True
        axes = [self.terms.axis] if self.terms.axis is not None else first.row.config
        return any(_without(base, first, k) == _without(other, last, k) is not None for k in axes)


def _without(word: str, item: Item, axis: str) -> str | None:
    """A word with the value of an axis taken out of it; None where it does not hold it."""
    value = item.place.get(axis)
    text = show(value) if value is not None else ""
    return word.replace(text, "\0") if text and text in word else None


def explained(config: Iterable[str], terms: Terms) -> Iterator[str]:
    """The flags, as names, of which config or the terms tell: what stands there is compared there."""
    yield from map(normal_name, config)
    yield from map(normal_name, (*terms.implied, *terms.allowed, *([terms.axis] if terms.axis else [])))
