"""The best case of each problem by a metric, over all its runs that count, in whatever entries they were made.

A problem is what is computed: all config, or where the header has a matrix its axes and the keys of the baseline;
without the keys in which the sides of a comparison differ. Where no config is left, the words of the command are it.
Cases of two problems are never ranked against each other. A case that lost a comparison or failed in it, was found
equal to its base, or was marked as a negative result is not the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from logbook_agent.findings.attempts import MARKED
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.findings.comparison.words import freed, subject
from logbook_agent.findings.summaries import baseline_cases, is_case, unit_of
from logbook_agent.findings.thread import Thread
from logbook_agent.model.comparison import CODE_AXIS, COMMIT
from logbook_agent.model.gates import REPORTED, is_far
from logbook_agent.model.header import Metric
from logbook_agent.model.stats import median
from logbook_agent.model.summary import Summary, Trial
from logbook_agent.model.units import common
from logbook_agent.model.values import Key, Scalar, row_key, varied
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.phrases import listed

# What an entry measured of a case, with the entry.
Tried: TypeAlias = tuple[Summary, Trial]
# So many problems of a case are shown.
_PROBLEMS = 2
# Of a value so many characters are shown.
_VALUE_CHARS = 200
# So many are shown where there is room for few.
SHOWN = 12
# So many entries that settled the same are named.
_SHOWN = 3
_AGAINST = {
    Outcome.BETTER: "better than",
    Outcome.WORSE: "worse than",
    Outcome.NO_DIFFERENCE: "no difference from",
    Outcome.OPEN: "open against",
}
_SAME = "same config, but not compared with the baseline"
_NOT_COMPARED = "not compared with the baseline"
_ELSEWHERE = "the baseline has another config"
_TURNED = {Outcome.BETTER: Outcome.WORSE, Outcome.WORSE: Outcome.BETTER}


class BestCase(Struct, frozen=True, kw_only=True):
    """The best case of a problem by a metric: `value` is its median run, a number that was measured, between `low` and
    `high`. `problem` holds the keys in which problems differ, `flags` those in which the `cases` of this one do;
    `apart` tells the case from others beyond config. `against` says what comparisons found of it and the baseline,
    `problems` what is wrong with its runs."""

    metric: str
    direction: str
    unit: str | None
    value: float
    low: float
    high: float
    runs: int
    entries: tuple[str, ...]
    run: int
    label: str | None
    config: dict[str, str]
    apart: dict[str, str]
    problem: dict[str, str]
    flags: dict[str, str]
    cases: int
    is_baseline: bool
    against: str
    problems: tuple[str, ...] = ()


class ReportedBest(Struct, frozen=True, kw_only=True):
    """The best number of a metric that an imported source reports. Nobody measured it here, so that nothing rests on
    it."""

    metric: str
    value: float
    unit: str | None
    entry: str


class Step(Struct, frozen=True, kw_only=True):
    """The best case of an entry, and of all entries up to it."""

    own: BestCase
    so_far: BestCase


def bests(thread: Thread, answers: Sequence[Answer]) -> list[BestCase]:
    """The best of each problem by each primary metric with a direction: the baseline's problem first, then the one that
    was measured last."""
    metrics = [m for m in thread.header.metrics if m.primary and m.direction is not None]
    return [best for metric in metrics for best in _Ranking(thread, answers, metric).bests()]


def best_reported(thread: Thread) -> list[ReportedBest]:
    """The best number that was reported of each primary metric with a direction."""
    found: list[ReportedBest] = []
    for metric in (m for m in thread.header.metrics if m.primary and m.direction is not None):
        end: Literal["low", "high"] = "low" if metric.direction == "min" else "high"
        own = [
            ReportedBest(metric=metric.name, value=of[end], unit=of["unit"], entry=s["id"])
            for s in thread.counted
            if (of := s["measured"].get(metric.name)) is not None and of.get("states") == [REPORTED]
        ]
        if own:
            found.append((min if end == "low" else max)(own, key=lambda one: one.value))
    return found


def choices(found: Sequence[BestCase]) -> list[BestCase]:
    """Those of problems that had several cases to choose from."""
    return [best for best in found if best.cases > 1]


def course(thread: Thread, answers: Sequence[Answer], metric: Metric) -> list[Step]:
    """The best case after each entry, of the problem that most entries measured."""
    return _Ranking(thread, answers, metric).course()


class _Compared(NamedTuple):
    """What a comparison found of the cases, by key, that its `base` and its `side` measured."""

    base: set[str]
    side: set[str]
    answer: Answer
    finding: Finding


class _Ranking:
    """The cases of a thread by one metric. A case is named by its key (`findings.case_repeats`)."""

    def __init__(self, thread: Thread, answers: Sequence[Answer], metric: Metric) -> None:
        self._thread, self._metric = thread, metric
        self._places = {entry: place for place, entry in enumerate(thread.by_id)}
        self._config = {t["key"]: t["config"] for entry in thread.by_id for t in self._trials(entry)}
        self._compared = [
            _Compared(self._of_side(a, a.question.base, f), self._of_side(a, f.side, f), a, f)
            for a in answers
            for f in a.findings
            if f.metric == metric.name
        ]
        self._cases = self._counted()
        self._rank = {key: self._ranked(of) for key, of in self._cases.items()}
        self._axes = {a.question.axis for a in answers}
        for one in self._compared:
            self._axes |= {n for a in one.base for b in one.side for n in varied((self._config[a], self._config[b]))}
        names = {name for key in self._cases for name in self._config[key]} - self._axes
        declared = [name for name in (thread.header.case_keys if thread.header.matrix else ()) if name in names]
        self._problems: dict[Key, list[str]] = {}
        words = self._words()
        for key in self._cases:
            own = {name: self._config[key][name] for name in declared or sorted(names) if name in self._config[key]}
            own = own or ({} if thread.header.matrix else {"command": words[key]})
            self._problems.setdefault(row_key(own), []).append(key)
        self._between = varied(map(dict, self._problems))

    def bests(self) -> list[BestCase]:
        lost, found = self._lost(), list[tuple[tuple[bool, bool, bool, int], BestCase]]()
        for place, keys in self._problems.items():
            if standing := [key for key in keys if key not in lost]:
                top = max(standing, key=self._rank.__getitem__)
                best = self._best(top, place, self._cases[top])
                # A problem of a single case has nothing to choose from.
                rank = not any(map(self._is_baseline, keys)), best.against == _ELSEWHERE, best.cases == 1
                found.append(((*rank, -self._places[best.entries[-1]]), best))
        return [best for _, best in sorted(found, key=lambda one: one[0])]

    def course(self) -> list[Step]:
        def entries(place: Key) -> int:
            return len({s["id"] for key in self._problems[place] for s, _ in self._cases[key]})

        place = max(self._problems, key=entries, default=())
        of: dict[str, dict[str, Tried]] = {}
        for key in self._problems.get(place, ()):
            for summary, case in self._cases[key]:
                of.setdefault(summary["id"], {})[key] = summary, case
        lost, known, steps = self._lost(), dict[str, None](), list[Step]()
        for entry in sorted(of, key=self._places.__getitem__):
            known.update(dict.fromkeys(of[entry]))
            standing = [key for key in known if lost.get(key, math.inf) > self._places[entry]]
            top = max(standing or known, key=self._rank.__getitem__)
            own = max(of[entry], key=lambda key: self._ranked([of[entry][key]]))
            so_far = self._best(top, place, self._cases[top])
            steps.append(Step(own=self._best(own, place, [of[entry][own]]), so_far=so_far))
        return steps

    # -- cases -----------------------------------------------------------------------------------------

    def _trials(self, entry: str) -> Sequence[Trial]:
        measured = self._thread.by_id[entry]["measured"] if entry in self._thread.by_id else {}
        of_metric = measured.get(self._metric.name)
        return of_metric.get("trials", ()) if of_metric is not None else ()

    def _of_side(self, answer: Answer, side: str, finding: Finding) -> set[str]:
        """The cases that a side of a comparison measured, by key."""
        found = (trial for trial in self._trials(answer.entry) if trial["side"] == side)
        return {t["key"] for t in found if _is_of({"case": t["case"], **t["config"]}, finding.case)}

    def _counted(self) -> dict[str, list[Tried]]:
        """What counts of each case, by key. Of an entry that is a negative result, only the base of its comparison
        does."""
        found: list[Tried] = []
        discarded: set[str] = set()
        for summary in self._thread.counted:
            is_negative = any(item["kind"] == MARKED for item in summary["tried"])
            for case in self._trials(summary["id"]):
                if not is_negative or (case["side"] is not None and case["side"] == _base(summary)):
                    found.append((summary, case))
                elif case["side"] is not None:
                    discarded.add(case["key"])
        found = self._without_zeros(found)
        kept = common({case["unit"] for _, case in found}, unit_of(self._metric))
        cases: dict[str, list[Tried]] = {}
        for summary, case in found:
            if case["unit"] in kept and case["key"] not in discarded:
                cases.setdefault(case["key"], []).append((summary, case))
        return cases

    def _without_zeros(self, found: list[Tried]) -> list[Tried]:
        """What counts, without zeros that are far from every other value of the thread."""
        unit = next((case["unit"] for _, case in found if case["unit"] is not None), self._metric.unit)
        others = [value for _, case in found for value in case["values"] if value]
        if not is_far(self._metric.name, others, self._metric.direction, unit):
            return found
        return [(s, case) for s, case in found if case["accepted"] or 0 not in case["values"]]

    def _words(self) -> dict[str, str]:
        """The words of the command of each case; those of cases that were compared are one."""
        words = {key: of[0][1]["words"] for key, of in self._cases.items()}
        for one in self._compared:
            alike = {words[key] for key in one.base | one.side if key in words}
            words = {key: min(alike) if text in alike else text for key, text in words.items()}
        return words

    def _lost(self) -> dict[str, int]:
        """The cases that lost a comparison or failed in it, or whose output was another, with the place of the entry
        that has its answer."""
        lost: dict[str, int] = {}
        for base, side, answer, f in self._compared:
            losers = base - side if f.outcome is Outcome.BETTER else set[str]()
            is_apart = any(one.kind in ("worse", "label") and one.side == f.side for one in answer.apart)
            if is_apart or (f.outcome is not Outcome.BETTER and (f.is_settled or f.side in answer.failed)):
                losers |= side - base
            for key in losers:
                lost.setdefault(key, self._places.get(answer.entry, 0))
        return lost

    def _ranked(self, tried: Sequence[Tried]) -> float:
        value = median([v for _, case in tried for v in case["values"]])
        return -value if self._metric.direction == "min" else value

    # -- what is said of one ---------------------------------------------------------------------------

    def _best(self, key: str, place: Key, own: Sequence[Tried]) -> BestCase:
        """The best case `key` of the problem at its place, measured by the runs in `own`."""
        apart, config = own[-1][1]["apart"], own[-1][1]["config"]
        values = [value for _, case in own for value in case["values"]]
        labels = {case["label"] for _, case in own}
        problems = dict.fromkeys(text for _, case in own if not case["accepted"] for text in case["problems"])
        return BestCase(
            metric=self._metric.name,
            direction=str(self._metric.direction),
            unit=next((case["unit"] for _, case in own if case["unit"] is not None), None),
            value=median(values),
            low=min(values),
            high=max(values),
            runs=len(values),
            entries=tuple(dict.fromkeys(summary["id"] for summary, _ in own)),
            run=own[0][1]["runs"][0],
            label=labels.pop() if len(labels) == 1 else None,
            config=_brief(config, config),
            # The name of a code has its commit.
            apart=_brief(apart, (name for name in apart if name != COMMIT or CODE_AXIS not in {**config, **apart})),
            problem=_brief({**dict(place), **config}, (n for n, _ in place if n in self._between)),
            flags=_brief(config, varied(self._config[other] for other in self._problems[place])),
            cases=len(self._problems[place]),
            is_baseline=self._is_baseline(key),
            against=self._against(key),
            problems=(*problems,)[:_PROBLEMS],
        )

    def _is_baseline(self, key: str) -> bool:
        """Whether runs of the baseline measured a case."""
        baseline = self._thread.header.baseline
        return baseline is not None and any(
            baseline.is_of(summary["id"], case["runs"]) for summary, case in self._cases.get(key, ())
        )

    def _against(self, key: str) -> str:
        """What the latest comparison found of a case and the baseline; else what comparisons settled of it and another,
        with the entries that settled the same: `better than none (MOE-007, MOE-005)`."""
        if self._is_baseline(key):
            return ""
        settled: dict[str, list[str]] = {}
        for outcome, name, others, entry in self._verdicts(key):
            if any(self._is_other(key, other) for other in others):
                return f"{_AGAINST[outcome]} the baseline ({entry})"
            if outcome is not Outcome.OPEN:
                settled.setdefault(f"{_AGAINST[outcome]} {name}", []).append(entry)
        beside = self._beside_baseline(key)
        kept = dict.fromkeys(by for tried in self._cases[key] for by in self._kept_by(*tried))
        settled = settled or ({"kept": [*kept]} if kept else {})
        found = [f"{text} ({listed(entries, _SHOWN)})" for text, entries in [*settled.items()][:1]]
        return beside if beside == _ELSEWHERE else "; ".join(filter(None, [*found, beside]))

    def _verdicts(self, key: str) -> Iterator[tuple[Outcome, str, set[str], str]]:
        """What comparisons found of a case, the latest first: beside which side, whose cases have these keys, and in
        which entry, with what may differ there."""
        for base, side, answer, f in reversed(self._compared):
            where = "; ".join(filter(None, [answer.entry, freed(answer, f.side)]))
            if key in side - base:
                yield f.outcome, subject(answer, answer.question.base), base, where
            if key in base - side:
                yield _TURNED.get(f.outcome, f.outcome), subject(answer, f.side), side, where

    def _kept_by(self, summary: Summary, trial: Trial) -> tuple[str, ...]:
        """The decisions that keep the code of what an entry measured, if it is not that of its base."""
        is_base = trial["side"] is not None and trial["side"] == _base(summary)
        return () if is_base else self._thread.standing[summary["id"]].kept_by

    def _is_other(self, key: str, case: str) -> bool:
        """Whether a case is the baseline, which the one of the key is not."""
        places = baseline_cases(self._thread.header)
        named = any(_is_of(self._config[case], place) and not _is_of(self._config[key], place) for place in places)
        return named or self._is_baseline(case)

    def _beside_baseline(self, key: str) -> str:
        """What a case that was not compared with the baseline is to it."""
        header, config = self._thread.header, self._config[key]
        if header.baseline is None:
            return ""
        places = baseline_cases(header)
        if any(_is_of(config, place) for place in places):
            return _SAME
        sizes = [{k: v for k, v in place.items() if k not in self._axes} for place in places]
        is_same = not places or any(_is_of(config, size) for size in sizes)
        return _NOT_COMPARED if is_same else _ELSEWHERE


def _base(summary: Summary) -> str | None:
    """The base of the comparison that an entry states."""
    base: str | None = (summary["comparison"] or {}).get("question", {}).get("base")
    return base


def _brief(config: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The values of some names, each cut where it is too long for a line."""
    return {name: cut_line(config[name], _VALUE_CHARS) for name in names if name in config}


def _is_of(config: Mapping[str, Scalar], case: Mapping[str, Scalar]) -> bool:
    return not case or is_case(config, case)
