"""The answer to each comparison of a thread, from the pairs that its entry measured (`pairs`) by the rule (`rule`).

A question has one entry, and an entry one answer: nothing outside of the entry changes it. A second sitting that
settles it the same way by its own test replicates it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from logbook_agent.findings.comparison.answer import (
    Answer,
    Apart,
    ApartKind,
    EntryPairs,
    EntrySeries,
    Finding,
    Lacks,
    Outcome,
)
from logbook_agent.findings.comparison.judgement import findings, frozen, left_out, pairs_left_out, sittings
from logbook_agent.findings.comparison.side_checks import NOT_REPORTED
from logbook_agent.model.comparison import CODE_AXIS, Question, code_name
from logbook_agent.model.entry import Confidence
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.units import KNOWN
from logbook_agent.model.values import canonical, finite, is_digest_name, parse_scalar


def answer_for(one: EntryPairs, tried: Sequence[EntryPairs], declared: Sequence[Metric] = ()) -> Answer:
    """The answer of one entry; those `tried` before it may have asked the same."""
    counting = [] if one.is_void else one.series
    own = {(s.side, s.case, s.metric): s for s in counting}
    lost: dict[str, set[str]] = {}
    for side, _, label in (pair for s in counting for pair in s.failed):
        lost.setdefault(side, set()).add(label)
    judged = findings(one.question, own, declared, fixed=one.fixed)
    apart = tuple(differences(own, declared, one, {f.metric for f in judged}))
    found = tuple(_failed(_opened(f, apart), one.question.base, lost) for f in judged)
    times = sorted({(p.started, p.ended) for s in counting for p in s.pairs})
    borne_out, reasons = confidence(found)
    failed: dict[str, Counter[str]] = {}
    for side, text, _ in (pair for s in counting for pair in s.failed):
        failed.setdefault(side, Counter())[text] += 1
    beside = [s for s in counting if not s.metric]
    return Answer(
        entry=one.entry,
        question=one.question,
        findings=found,
        pairs=max((f.pairs for f in found), default=0),
        sittings=len(sittings(times)),
        confidence=borne_out,
        reasons=reasons,
        code=one.code,
        times=tuple(times),
        earlier=_earlier(one, tried),
        fixed=one.fixed,
        is_typed=one.is_typed,
        is_void=one.is_void,
        left_out=pairs_left_out(left_out(beside)),
        apart=apart,
        failed=failed,
        evaluator=tuple(one.evaluator),
        stopped=tuple(one.stopped),
        first=tuple(dict.fromkeys(text for f in found if not f.is_watched for text in frozen(f, one.question.base))),
        notes=tuple(dict.fromkeys(text for s in beside for text in s.cautions)),
    )


def _earlier(one: EntryPairs, tried: Sequence[EntryPairs]) -> tuple[str, ...]:
    """The entries before this one that asked the same: of other code, but where code is what is compared; of that, also
    where its branches and tags have moved on."""
    before = tried[: next((at for at, other in enumerate(tried) if other.entry == one.entry), len(tried))]
    is_code, names = one.question.axis == CODE_AXIS, _code_names(one.question)
    return tuple(
        other.entry
        for other in before
        if not other.is_void
        and one.asks
        and one.asks == other.asks
        and (not is_code or one.code == other.code or (names and names == _code_names(other.question)))
    )


def _code_names(question: Question) -> list[str]:
    """The branches and tags that a question compares; empty where a side has no name that lasts."""
    names = [code_name(value) for value in question.values]
    return [] if any(name == "WORK" or " " in name or name.startswith('"') for name in names) else names


# So many pairs show that a value is constant.
_CONSTANT_PAIRS = 3


def differences(
    own: Mapping[tuple[str, str, str], EntrySeries],
    declared: Sequence[Metric],
    of: EntryPairs,
    judged: Collection[str],
) -> Iterator[Apart]:
    """What is constant on each side of a case and differs between them, and counts that lie apart, but for what a gate
    mentions, and metrics that are `judged` by their ratio; metrics that got worse come first, then usual ones."""
    found = []
    cases = {case for _, case, metric in own if not metric and case}
    names = {m.name: m for m in declared}
    for (side, case, metric), series in own.items():
        if metric or series.reports < _CONSTANT_PAIRS:
            continue
        for name, (base, other) in {**_far_counts(series), **series.constants}.items():
            if name in {*of.known} - {*of.free}:
                continue
            mine, theirs = (finite(parse_scalar(text)) for text in (base, other))
            if name in judged and min(mine or 0, theirs or 0) > 0:
                continue
            kind: ApartKind = "free" if name in of.free else "label" if is_digest_name(name) else ""
            if name in names and not kind:
                direction = None if mine is None or theirs is None else "min" if theirs > mine else "max"
                way = metric_named(name, declared).direction
                kind = "worse" if (other == NOT_REPORTED if direction is None else way == direction) else ""
            found.append(Apart(side, case if len(cases) > 1 else "", name, base, other, kind))
    # A loss or an accuracy that nobody declared tells more than a count.
    yield from sorted(found, key=lambda one: (one.kind != "worse", one.kind != "label", one.name not in KNOWN))


def _far_counts(series: EntrySeries) -> dict[str, tuple[str, str]]:
    """The counts of which no run of one side reaches those of the other side."""
    found = {}
    for name, (base, other) in series.spans.items():
        if base[1] < other[0]:
            found[name] = f"at most {canonical(base[1])}", f"at least {canonical(other[0])}"
        elif other[1] < base[0]:
            found[name] = f"at least {canonical(base[0])}", f"at most {canonical(other[1])}"
    return found


def _opened(finding: Finding, apart: Sequence[Apart]) -> Finding:
    """The finding, open where the outputs of its sides differ and nobody said whether they may."""
    one = next((one for one in apart if one.kind == "label" and one.side == finding.side), None)
    if one is None or not (finding.is_settled or finding.lacks_pairs):
        return finding
    return replace(finding, outcome=Outcome.OPEN, is_replicated=None, lacks=Lacks("decision", name=one.name))


def _failed(finding: Finding, base: str, lost: Mapping[str, Collection[str]]) -> Finding:
    """The finding; of a side, or base, that failed in each of its pairs one that no further pair would settle. `lost`
    has the labels in which each side that failed differs from the base; an empty one where it failed otherwise."""
    side = next((name for name in (base, finding.side) if name in lost and not finding.pairs), None)
    if side is None:
        return finding
    label = min(lost[side])
    return replace(finding, lacks=Lacks("gate", name=label) if label else Lacks("side", name=side))


def confidence(findings: Sequence[Finding]) -> tuple[Confidence, tuple[str, ...]]:
    """The confidence in an answer and its reasons, by the goal that is borne out the least."""
    goals = [f for f in findings if not f.is_watched]
    left = sum(not f.is_settled for f in goals)
    if not goals or left == len(goals):
        return "exploratory", ("nothing is settled yet",)
    if left:
        return "exploratory", (f"{left} of {len(goals)} answers are open",)
    if any(f.is_replicated is False for f in goals):
        return "exploratory", ("a second sitting settled it otherwise",)
    if not all(f.is_replicated for f in goals):
        return "exploratory", ("settled in one sitting",)
    return "replicated", ("settled in two sittings",)


# Of what is named in a sentence.
_CHARS = 40


def apart(tried: Iterable[EntryPairs], declared: Collection[str]) -> set[str]:
    """The config keys that tell comparisons apart: those in which they differ, and those that the logbook declares."""
    return {name for name, values in _values(tried).items() if len(values) > 1 or name in declared}


def placed(answer: Answer, one: EntryPairs, apart: Collection[str]) -> Answer:
    """The answer with the config that all its rows share and that tells comparisons `apart` added to each case."""
    own = _values([one])
    shared: dict[str, str] = {}
    room = _CHARS
    for name, values in own.items():
        if name not in apart or len(values) > 1:
            continue
        [value] = values
        room -= len(name) + len(value) + 2
        if room >= 0:
            shared[name] = value
    cases = [{**f.case, **{n: v for n, v in shared.items() if n not in f.case}} for f in answer.findings]
    findings = tuple(replace(f, case=case) for f, case in zip(answer.findings, cases, strict=True))
    return replace(answer, findings=findings)


def _values(tried: Iterable[EntryPairs]) -> dict[str, set[str]]:
    """The values of each config key in the rows of comparisons, without their axes."""
    found: dict[str, set[str]] = {}
    for series in (s for one in tried for s in one.series):
        for name, value in series.config.items():
            found.setdefault(name, set()).add(canonical(value))
    return found


def settled(answers: Sequence[Answer], metrics: Sequence[str] = ()) -> list[tuple[Answer, Finding]]:
    """What the comparisons of a thread settled: goals before watched metrics, by the order of `metrics`, and of one
    metric the latest question first."""
    found = [(a, f) for a in reversed(answers) for f in a.findings if f.is_found]
    rank = {name: at for at, name in enumerate(metrics)}
    return sorted(found, key=lambda one: (one[1].is_watched, rank.get(one[1].metric, len(rank))))


def unsettled(answers: Sequence[Answer]) -> list[tuple[Answer, Finding]]:
    """The goals that are open, those first that the fewest pairs would settle, else the latest question first."""
    found = [(a, f) for a in reversed(answers) for f in a.goals if not f.is_settled]
    return sorted(found, key=lambda one: missing_pairs(one[1]))


def last_to_settle(answer: Answer) -> Finding | None:
    """The open goal that lacks the most pairs, of those that a practical number would settle, if there are some: the
    forecast of every reader."""
    lacking = [f for f in answer.goals if f.lacks_pairs]
    return max([f for f in lacking if math.isfinite(missing_pairs(f))] or lacking, key=missing_pairs, default=None)


def needed(answer: Answer) -> Lacks | None:
    """What an answer with open goals needs first; None where none is open."""
    last = last_to_settle(answer)
    return last.lacks if last is not None else next((f.lacks for f in answer.goals if f.lacks is not None), None)


def missing_pairs(finding: Finding) -> float:
    """How many more pairs would probably settle a finding; infinite where no practical number would."""
    return finding.lacks.pairs if finding.lacks is not None else math.inf
