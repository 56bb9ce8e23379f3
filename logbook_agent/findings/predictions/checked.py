"""Predictions held against what was measured afterwards, over all entries that count.

A prediction is checked by the first entry that measured its case after it was made, by the median of the runs there:
what comes later may be other code. One of a case that had been measured before says nothing of how far predictions can
be trusted, nor does one of a program of another libtpu than was measured: they are shown, and never counted.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from logbook_agent.findings.predictions.rows import TIME, pairs_of, predicted_rows, timed_rows
from logbook_agent.findings.thread import Summary, Thread
from logbook_agent.model.record import Record, digest
from logbook_agent.model.stats import median

# What the index keeps of a predicted row: `key` of its case, `run`, `at`, `name`, `estimate`, `low`, `high`, `bound`
# (seconds or None), `fits`, `libtpu`, and `by`: which model, with which constants, predicted it.
PredictedFact: TypeAlias = Mapping[str, Any]
# Of rows that one may be held against: `key`, `run`, `at`, the median `seconds` of a run, and the `libtpu` that ran it
# (None where the row does not say).
TimedFact: TypeAlias = Mapping[str, Any]
# When a run was: its time, the place of its entry, its number.
_When: TypeAlias = tuple[str, int, int]


def predicted_facts(record: Record) -> dict[str, Any]:
    """What a summary keeps for this module: `predicted`, `claimed` (base, other, word, ratio by places) and `timed`."""
    found = predicted_rows(record)
    predicted = [
        {
            "key": one.key,
            "run": one.run.run,
            "at": one.at,
            "name": one.name,
            "estimate": said.estimate,
            "low": said.low,
            "high": said.high,
            "bound": said.bound,
            "fits": not (said.fits is False or said.vmem == "does not fit"),
            "libtpu": said.libtpu,
            "by": digest(said.target, said.libtpu, said.model, said.calibration),
        }
        for one in found
        for said in (one.said,)
    ]
    claimed = [[p.base, p.other, p.outcome.word.value, p.outcome.ratio] for p in pairs_of(record, found)]
    runs: dict[tuple[str, int, str | None], tuple[str, list[float]]] = {}
    for key, run, row in timed_rows(record):
        place = key, run.run, row.software.get("libtpu")
        runs.setdefault(place, (run.started, []))[1].extend(row.metrics[TIME].samples)
    timed = [
        {"key": key, "run": number, "libtpu": libtpu, "at": at, "seconds": median(values)}
        for (key, number, libtpu), (at, values) in runs.items()
    ]
    return {"predicted": predicted, "claimed": claimed, "timed": timed}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One prediction and its measurement. `measured` is the median of `runs` in the entry `by`, in seconds; None where
    there is none yet. `libtpu`: the version that was measured, where it is another one than that of the prediction.
    `before`: the entries that had measured the case before. `repeats`: the same model had predicted the case before
    this."""

    entry: str
    place: int
    fact: PredictedFact
    measured: float | None = None
    by: str | None = None
    runs: int = 0
    libtpu: str | None = None
    before: tuple[str, ...] = ()
    repeats: bool = False

    @property
    def name(self) -> str:
        return str(self.fact["name"])

    @property
    def counts(self) -> bool:
        """Whether it says how far predictions can be trusted: made before, once, and of the program that was
        measured."""
        return self.measured is not None and self.libtpu is None and not self.before and not self.repeats

    @property
    def ratio(self) -> float | None:
        """Predicted / measured."""
        estimate = self.fact["estimate"]
        return estimate / self.measured if estimate is not None and self.measured else None

    @property
    def inside(self) -> bool | None:
        """Whether the measurement is in the range; None without one of both."""
        low, high = self.fact["low"], self.fact["high"]
        return None if self.measured is None or low is None or high is None else low <= self.measured <= high

    @property
    def held(self) -> bool | None:
        """Whether the measurement is not below the bound."""
        bound = self.fact["bound"]
        return None if self.measured is None or bound is None else self.measured >= bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """What was said of one predicted row against another, and how it came. `measured`: how many times as fast as the
    base; None where not both were measured."""

    entry: str
    base: Check
    other: Check
    word: str
    ratio: float | None

    @property
    def is_claim(self) -> bool:
        return self.word in ("wins", "loses")

    @property
    def measured(self) -> float | None:
        if self.base.measured is None or not self.other.measured:
            return None
        return self.base.measured / self.other.measured

    @property
    def right(self) -> bool | None:
        """Whether a claimed direction is the measured one, which a tie is not; None where none was claimed, or
        measured."""
        found = self.measured
        if found is None or not self.is_claim:
            return None
        return found > 1 if self.word == "wins" else found < 1

    @property
    def counts(self) -> bool:
        return self.base.counts and self.other.counts


def checks_of(thread: Thread) -> Checks:
    """Those of a thread."""
    return Checks(thread.summaries, {i for i, standing in thread.standing.items() if standing.counts})


@dataclass(frozen=True)
class Checks:
    """All predictions, in order, with what was measured of their cases. Of the summaries of all entries those count
    whose IDs are in `counted`."""

    summaries: Sequence[Summary]
    counted: Collection[str]

    @cached_property
    def _counting(self) -> list[tuple[int, Summary]]:
        return [(at, s) for at, s in enumerate(self.summaries) if s["id"] in self.counted]

    @cached_property
    def _timed(self) -> dict[str, list[tuple[_When, str, TimedFact]]]:
        """By case the runs that measured it, the first one first."""
        found: dict[str, list[tuple[_When, str, TimedFact]]] = {}
        for at, summary in self._counting:
            for fact in summary["timed"]:
                when = (fact["at"], at, fact["run"])
                found.setdefault(fact["key"], []).append((when, summary["id"], fact))
        return {key: sorted(own, key=lambda one: one[0]) for key, own in found.items()}

    @cached_property
    def all(self) -> list[Check]:
        found = [
            (self._check(at, s["id"], place, fact), (fact["at"], at, fact["run"], place))
            for at, s in self._counting
            for place, fact in enumerate(s["predicted"])
        ]
        first: dict[tuple[str, str], tuple[Any, ...]] = {}
        for check, when in sorted(found, key=lambda one: one[1]):
            first.setdefault((check.fact["key"], check.fact["by"]), when)
        return [replace(c, repeats=first[c.fact["key"], c.fact["by"]] != when) for c, when in found]

    def _check(self, at: int, entry: str, place: int, fact: PredictedFact) -> Check:
        timed = self._timed.get(fact["key"], [])
        # Times have whole seconds: among equal ones the order of the entries and their runs tells.
        made = (fact["at"], at, fact["run"])
        after = [(i, t) for when, i, t in timed if when > made]
        # What another libtpu ran is another program: it is told where nothing else is there.
        alike = [(i, t) for i, t in after if t["libtpu"] in (None, fact["libtpu"])]
        after = alike or after
        own = [t for i, t in after if i == after[0][0]]
        return Check(
            entry=entry,
            place=place,
            fact=fact,
            measured=median([t["seconds"] for t in own]) if own else None,
            by=after[0][0] if after else None,
            runs=len(own),
            libtpu=own[0]["libtpu"] if own and not alike else None,
            before=tuple(dict.fromkeys(i for when, i, _ in timed if when <= made)),
        )

    @cached_property
    def of_entry(self) -> dict[str, list[Check]]:
        found: dict[str, list[Check]] = {}
        for one in self.all:
            found.setdefault(one.entry, []).append(one)
        return found

    @cached_property
    def directions(self) -> list[Direction]:
        return [
            Direction(entry=s["id"], base=own[base], other=own[other], word=word, ratio=ratio)
            for _, s in self._counting
            if (own := self.of_entry.get(s["id"]))
            for base, other, word, ratio in s["claimed"]
        ]

    @cached_property
    def directions_of(self) -> dict[str, list[Direction]]:
        """By entry."""
        found: dict[str, list[Direction]] = {}
        for one in self.directions:
            found.setdefault(one.entry, []).append(one)
        return found

    @cached_property
    def _checking(self) -> dict[str, list[Check]]:
        found: dict[str, list[Check]] = {}
        for one in self.all:
            if one.by is not None:
                found.setdefault(one.by, []).append(one)
        return found

    def checked_by(self, entry_id: str) -> list[Check]:
        """The predictions that an entry checks: they had been made when it measured their cases."""
        return self._checking.get(entry_id, [])

    def touched(self, entry_ids: Iterable[str]) -> set[str]:
        """The entries whose pages change with what these predict or measure."""
        ids = {*entry_ids}
        keys = {fact["key"] for s in self.summaries if s["id"] in ids for fact in (*s["predicted"], *s["timed"])}
        return {s["id"] for s in self.summaries if any(fact["key"] in keys for fact in (*s["predicted"], *s["timed"]))}

    def tally(self) -> dict[str, Any]:
        """How predictions came true: only those count that were made before the measurement, each model's first of a
        case."""
        counted = [c for c in self.all if c.counts and c.ratio is not None]
        errors = [abs((c.ratio or 0.0) - 1) for c in counted]
        ranges = [c.inside for c in counted if c.inside is not None]
        bounds = [c.held for c in self.all if c.counts and c.held is not None]
        claims = [d for d in self.directions if d.is_claim and not (d.base.repeats and d.other.repeats)]
        held = [d.right for d in claims if d.counts and d.right is not None]
        return {
            "made": sum(not c.repeats for c in self.all),
            "with_estimate": sum(not c.repeats and c.fact["estimate"] is not None for c in self.all),
            "checked": len(counted),
            "made_late": sum(bool(c.before) for c in self.all),
            "other_libtpu": sum(c.libtpu is not None for c in self.all),
            "repeated": sum(c.repeats for c in self.all),
            "taken_back": sum(len(s["predicted"]) for s in self.summaries if s["id"] not in self.counted),
            "median_error": statistics.median(errors) if errors else None,
            "largest_error": max(errors, default=None),
            "inside_range": sum(ranges),
            "with_range": len(ranges),
            "bound_held": sum(bounds),
            "with_bound": len(bounds),
            "directions_claimed": len(claims),
            "directions_checked": len(held),
            "directions_right": sum(held),
            "said_not_to_fit": sum(not c.fact["fits"] and not c.repeats for c in self.all),
            "ran_nevertheless": sum(not c.fact["fits"] and c.counts for c in self.all),
        }
