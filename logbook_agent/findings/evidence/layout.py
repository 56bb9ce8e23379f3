"""How the runs of two sides lay in time, and whether a drift of the machine could look like an effect.

A verdict rests on runs whose order cannot make it:

    drawn        pairs, the order within each drawn by chance: whatever the machine does, it meets either side as often
    shuffled     all runs mixed by chance
    fixed-order  pairs AB BA AB ...: a steady drift cancels; what comes back every few runs may not

In any other order the machine's own changes may be what is measured, so numbers are shown and no verdict is given:

    one-first    pairs, and the same side always ran first
    blocked      all runs of one side were made before those of the other
    apart        pairs whose two runs lie too far from each other in time
    one-run      both sides were measured in the same runs, always in the same order
    picked       some runs of a case were named, and others of it left out
    mixed        anything else, which nobody drew by chance
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from logbook_agent.findings.tables.frame import RunKey
from logbook_agent.model.entry import APART_S, Design


class Lay(StrEnum):
    """How runs lay."""

    DRAWN = "drawn"
    SHUFFLED = "shuffled"
    FIXED = "fixed-order"
    ONE_FIRST = "one-first"
    BLOCKED = "blocked"
    APART = "apart"
    ONE_RUN = "one-run"
    PICKED = "picked"
    MIXED = "mixed"


SOUND = (Lay.DRAWN, Lay.SHUFFLED, Lay.FIXED)
# Why no verdict follows from runs that lay so.
WHY = {
    Lay.ONE_FIRST: "the same side always ran first",
    Lay.BLOCKED: "all runs of one side were made before those of the other",
    Lay.APART: "the two runs of a pair lie too far apart in time",
    Lay.ONE_RUN: "both sides were measured in the same runs, one always before the other",
    Lay.PICKED: "runs of a case were left out, so that the choice may be what is measured",
    Lay.MIXED: "the order of the runs was not drawn by chance",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """How the runs of two sides lay.

    `pairs` are the places, in base and in other, of the two runs of each pair; `other_first` says of each which ran
    first. Empty where runs are no pairs. `alone`: so many runs have no partner. `kept`: the places of the runs that
    count, where not all do: one that was made again later, because it had failed, has no place in the order. `looks`:
    how often the result is looked at, by so many `plans`; `rounds`: how many are planned, where that was stated, and
    `made`: how many of these were run.
    """

    lay: Lay
    pairs: tuple[tuple[int, int], ...] = ()
    other_first: tuple[bool, ...] = ()
    alone: int = 0
    kept: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    looks: int = 1
    plans: int = 1
    rounds: int | None = None
    made: int | None = None

    @property
    def is_unfinished(self) -> bool:
        """Whether runs are missing of a plan whose result is judged once, when all are there."""
        return self.looks == self.plans and self.rounds is not None and (self.made or 0) < self.rounds

    @property
    def is_sound(self) -> bool:
        return self.lay in SOUND

    @property
    def is_paired(self) -> bool:
        return bool(self.pairs)


@dataclass(frozen=True, slots=True)
class PlacedRun:
    """A run, where it stands, and what put it there: its round, in an order drawn by a design. `picked`: others of its
    case were left out."""

    key: RunKey
    ended: str | None = None
    repeat: int | None = None
    design: Design | None = None
    picked: bool = False


def layout(first: Sequence[PlacedRun], last: Sequence[PlacedRun], *, apart_s: float = APART_S) -> Arrangement:
    """How the runs of base and other lay, each side in the order in which its runs were started."""
    since = {p.key[1]: p.design.since for p in (*first, *last) if p.design is not None}
    kept = [
        [at for at, p in enumerate(side) if p.design is not None or (p.repeat or 0) < since.get(p.key[1], math.inf)]
        for side in (first, last)
    ]
    left_out = len(first) + len(last) - len(kept[0]) - len(kept[1])
    if not left_out or not all(kept):
        return _arranged(first, last, apart_s)
    found = _arranged([first[at] for at in kept[0]], [last[at] for at in kept[1]], apart_s)
    return replace(
        found,
        pairs=tuple((kept[0][a], kept[1][b]) for a, b in found.pairs),
        alone=found.alone + left_out,
        kept=(tuple(kept[0]), tuple(kept[1])),
    )


def _arranged(first: Sequence[PlacedRun], last: Sequence[PlacedRun], apart_s: float) -> Arrangement:
    """The same of runs that all count."""
    if max(len(first), len(last)) > 1 and any(p.picked for p in (*first, *last)):
        return Arrangement(lay=Lay.PICKED)
    if {p.key for p in first} & {p.key for p in last}:
        return Arrangement(lay=Lay.ONE_RUN)
    designs = {p.key[1]: p.design for p in (*first, *last)}
    found = [p.design for p in (*first, *last) if p.design is not None]
    if len(found) == len(first) + len(last) and (len(designs) == 1 or not any(d.shuffled for d in found)):
        lay = _designed(first, last, [d for d in designs.values() if d is not None], apart_s)
        if lay.lay is Lay.SHUFFLED or (lay.pairs and _in_rounds(first, last, lay.pairs)):
            return lay
    order = sorted([(p.key, 0, at) for at, p in enumerate(first)] + [(p.key, 1, at) for at, p in enumerate(last)])
    sides = [side for _, side, _ in order]
    if min(len(first), len(last)) > 1 and all(a != b for a, b in zip(sides[::2], sides[1::2], strict=False)):
        return _paired(first, last, list(zip(order[::2], order[1::2], strict=False)), apart_s)
    changes = sum(a != b for a, b in itertools.pairwise(sides))
    return Arrangement(lay=Lay.BLOCKED if changes <= 1 else Lay.MIXED)


def _designed(
    first: Sequence[PlacedRun], last: Sequence[PlacedRun], designs: Sequence[Design], apart_s: float
) -> Arrangement:
    """Of runs that designs put into their order, one in each entry. What several entries have found together was
    looked at as often as all of them, by as many plans."""
    looks, plans, rounds = (sum(getattr(d, name) for d in designs) for name in ("looks", "plans", "rounds"))
    if designs[0].shuffled:
        is_block = first[-1].key < last[0].key or last[-1].key < first[0].key
        return Arrangement(lay=Lay.BLOCKED if is_block else Lay.SHUFFLED, looks=looks, plans=plans, rounds=rounds)
    of = [{(p.key[1], p.repeat): at for at, p in enumerate(side)} for side in (first, last)]
    both = [place for place in of[0] if place in of[1]]
    pairs = tuple((of[0][r], of[1][r]) for r in both)
    pairs = tuple((a, b) for a, b in pairs if not _is_cut(first[a], last[b], apart_s))
    return Arrangement(
        lay=Lay.DRAWN,
        pairs=pairs,
        other_first=tuple(last[b].key < first[a].key for a, b in pairs),
        alone=len(first) + len(last) - 2 * len(pairs),
        looks=looks,
        plans=plans,
        rounds=rounds,
    )


def _is_cut(one: PlacedRun, two: PlacedRun, apart_s: float) -> bool:
    """Whether a round was cut off between two of its runs, and gone on with later: whoever does that chooses the time
    of the second. Other values of the round may have been run between them."""
    early, late = sorted((one, two), key=lambda p: p.key)
    took_s = max(gap_s(p.key[0], p.ended or p.key[0]) for p in (one, two))
    between = max(0, late.key[2] - early.key[2] - 1)
    return _gap_s(one, two) > apart_s + 2 * between * took_s


def _in_rounds(first: Sequence[PlacedRun], last: Sequence[PlacedRun], pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether each round of an entry was over before the next began. Cases that a sweep does not compare with each
    other share the numbers of their rounds, and no round."""
    keys = [sorted((first[a].key, last[b].key)) for a, b in pairs]
    spans = sorted((early[1], early, late) for early, late in keys)
    return all(one[0] != two[0] or one[2] < two[1] for one, two in itertools.pairwise(spans))


_Chunk = tuple[tuple[RunKey, int, int], tuple[RunKey, int, int]]


def _paired(
    first: Sequence[PlacedRun], last: Sequence[PlacedRun], chunks: Sequence[_Chunk], apart_s: float
) -> Arrangement:
    """Of runs that stand in pairs, one after the other."""
    pairs = tuple((a[2], b[2]) if a[1] == 0 else (b[2], a[2]) for a, b in chunks)
    other_first = tuple(a[1] == 1 for a, _ in chunks)
    drawn = [first[a].design is not None and first[a].design == last[b].design for a, b in pairs]
    fixed = [o for o, by_chance in zip(other_first, drawn, strict=True) if not by_chance]
    lay = Lay.FIXED if fixed else Lay.DRAWN
    if len(set(fixed)) == 1 and len(fixed) > 1:
        lay = Lay.ONE_FIRST
    elif any(a == b for a, b in itertools.pairwise(fixed)):
        lay = Lay.MIXED
    elif any(_gap_s(first[a], last[b]) > apart_s for (a, b), d in zip(pairs, drawn, strict=True) if not d):
        lay = Lay.APART
    designs = {p.key[1]: p.design for p in (*first, *last) if p.design is not None}.values()
    # Pairs of `logbook ab` are numbered; whoever makes some by hand may look at the result after each.
    made_by_ab = all(p.repeat is not None for p in (*first, *last))
    looks = (0 if designs else 1) if made_by_ab else max(1, len(pairs) - 5)
    return Arrangement(
        lay=lay,
        pairs=pairs,
        other_first=other_first,
        alone=len(first) + len(last) - 2 * len(pairs),
        looks=looks + sum(d.looks for d in designs),
        plans=sum(d.plans for d in designs) or 1,
        rounds=sum(d.rounds for d in designs) or None,
    )


def _gap_s(one: PlacedRun, two: PlacedRun) -> float:
    """From the end of the earlier run to the start of the later one, in seconds; 0 where that is not known."""
    early, late = sorted((one, two), key=lambda p: p.key)
    return gap_s(early.ended or early.key[0], late.key[0])


def gap_s(ended: str, started: str) -> float:
    """Seconds from one time of a record to another; 0 where one is none."""
    try:
        return (datetime.fromisoformat(started) - datetime.fromisoformat(ended)).total_seconds()
    except (ValueError, TypeError):
        return 0.0


def sittings(times: Sequence[tuple[str, str | None]], *, apart_s: float = APART_S) -> list[list[int]]:
    """The places of runs that were made in one sitting, by when each started and ended, in the order of their starts.
    Another sitting begins with each run that was started so much later than all before it had ended."""
    found: list[list[int]] = []
    last = ""
    for at in sorted(range(len(times)), key=lambda at: times[at][0]):
        started, ended = times[at]
        if not found or gap_s(last, started) > apart_s:
            found.append([])
        found[-1].append(at)
        last = max(last, ended or started)
    return found
