"""A comparison in one sentence, over all its metrics, sides and cases; and why it is open. `words` has the sentence of
a single finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from logbook_agent.findings.comparison import answer_lines, words
from logbook_agent.findings.comparison.answer import SETTLED, Answer, Finding, Outcome
from logbook_agent.findings.comparison.answers import last_to_settle, missing_pairs
from logbook_agent.model.comparison import BLOCK_PAIRS
from logbook_agent.text.phrases import assignments, counted, listed

# Of cases and metrics that a sentence names.
_SHOWN = 4

# The findings of one side and case, goals first.
_Case: TypeAlias = Sequence[Finding]


def synopsis(answer: Answer) -> str:
    """`tiled takes 90.6% less time than ragged_dot (10.6x as fast; 95%: -94.4 to -84.2%; 10 pairs in 1 sitting); tflops
    +966%`, or where
    several sides and cases were compared `int8 against none in tflops: better at topk=4 (+3.1%); open at topk=1 (8
    pairs in 1 sitting)`. The answer has findings."""
    cases = cases_of(answer)
    found = _of_one(answer, cases[0]) if len(cases) == 1 else _of_several(answer, cases)
    twins = listed(answer.twins[::-1], answer_lines.SHOWN_SAME)
    again = [f"the same was asked in {twins}"] if twins else []
    by = [f"measured with {listed(answer.evaluator, answer_lines.SHOWN_SAME)} of the base"] if answer.evaluator else []
    return "; ".join([*answer_lines.first_words(answer, answer_lines.SHORTLY), found, *by, *again])


def cases_of(answer: Answer) -> list[_Case]:
    """The findings of each side and case."""
    found: dict[tuple[object, ...], list[Finding]] = {}
    for f in answer.findings:
        found.setdefault((f.side, *f.case.items()), []).append(f)
    return [*found.values()]


def outcome(answer: Answer) -> str:
    """What the goals have in common: `better`, `open`, `better in part` where others are open, else `mixed`, as where
    something else got worse."""
    found = {f.outcome for f in answer.goals or answer.findings}
    settled = [one for one in SETTLED if one in found]
    # Where one metric gained and another is as it was, the side is better.
    if Outcome.OPEN not in found and len(settled) == 2:
        settled = [one for one in settled if one is not Outcome.NO_DIFFERENCE]
    if not settled:
        return Outcome.OPEN.value
    if len(settled) > 1 or (answer.got_worse and settled == [Outcome.BETTER]):
        return "mixed"
    return f"{settled[0].value} in part" if Outcome.OPEN in found else settled[0].value


def why_open(answer: Answer) -> str:
    """Why the goal that is nearest to an answer has none, and what it needs, with that goal where others are settled;
    empty where no goal is open."""
    f = nearest(answer)
    if f is None:
        return ""
    last = last_to_settle(answer) if f.lacks_pairs else None
    needs = f"it needs {words.to_settle(answer, last or f)}" if f.lacks is not None else ""
    why = "; ".join(filter(None, [_reason(answer, f), needs]))
    if any(one.is_settled for one in answer.goals):
        return ": ".join(filter(None, [words.claim(answer, f), why]))
    # The sentence about an open comparison says the rest already.
    cases = cases_of(answer)
    if len(cases) == 1:
        return why
    shared = _shared([found[0].case for found in cases])
    return f"{_name(answer, f, shared)} in {f.metric} is the nearest to an answer: {why}"


def nearest(answer: Answer) -> Finding | None:
    """The open goal that the fewest pairs would settle."""
    return min((f for f in answer.goals if not f.is_settled), key=missing_pairs, default=None)


def _reason(answer: Answer, f: Finding) -> str:
    if f.failed_side or (f.lacks is not None and f.lacks.what == "decision"):
        return ""
    if f.low is None or f.high is None:
        few = (
            f"its {answer.fixed} pairs are judged once"
            if answer.fixed
            else f"a comparison is judged after each {BLOCK_PAIRS} pairs"
        )
        return few if not f.judged else "the pairs are too few, or their clock too coarse, for an interval"
    if f.low <= 0 <= f.high:
        return "the interval includes 0, so either side may be better"
    if abs(f.change or 0.0) < answer.question.minimum_effect:
        return f"the change is below the minimum effect of {words.percent(answer.question.minimum_effect)}%"
    return ""


def is_same(f: Finding, other: Finding) -> bool:
    """Whether two metrics of one side and case have the same change, interval, pairs and outcome, as shown."""
    return f.change is not None and _shown(f) == _shown(other)


def _shown(f: Finding) -> tuple[object, ...]:
    return words.signed(f.change), words.interval(f), f.pairs, f.judged, f.outcome, f.lacks, f.is_watched


# -- one side and case -------------------------------------------------------------------------------------


def _of_one(answer: Answer, found: _Case) -> str:
    first = next((f for f in found if f.is_settled and not f.is_watched), found[0])
    alike = [f.metric for f in found if f is not first and is_same(f, first)]
    others = [f"the same in {listed(alike, _SHOWN)}"] if alike else []
    # What got worse comes before.
    alike += [f.metric for f in found if f.is_watched and f.outcome is Outcome.WORSE]
    others += [_beside(answer, f, first) for f in found if f is not first and f.metric not in alike]
    return "; ".join([f"{words.claim(answer, first)} ({words.basis(answer, first, first.sittings)})", *_some(others)])


def _beside(answer: Answer, f: Finding, first: Finding) -> str:
    """`tflops +966%`, with the outcome where it is another than that of the first finding."""
    if f.outcome is Outcome.NO_DIFFERENCE:
        return f"{words.no_difference(answer)} in {f.metric}"
    if f.is_constant:
        return f"{f.metric} is the same"
    if f.change is None:
        return f"no number of {f.metric}"
    text = f"{f.metric} {words.signed(f.change)}"
    return text if f.outcome is first.outcome else f"{text} ({f.outcome.value})"


# -- several -----------------------------------------------------------------------------------------------


def _of_several(answer: Answer, cases: Sequence[_Case]) -> str:
    first = [found[0] for found in cases]
    metric, q = first[0].metric, answer.question
    shared = _shared([f.case for f in first])
    sides = listed([words.subject(answer, side) for side in q.sides], _SHOWN)
    where = f" at {assignments(shared)}" if shared else ""
    texts = [*_by_outcome(answer, first, shared), *_some(_of_metrics(cases, metric))]
    return (
        f"{sides} against {words.label(answer, q.base)}{where} in {metric}: {'; '.join(texts)} {_basis(answer, first)}"
    )


def _shared(cases: Sequence[Mapping[str, str]]) -> dict[str, str]:
    return {name: value for name, value in cases[0].items() if all(case.get(name) == value for case in cases)}


def _by_outcome(answer: Answer, found: Sequence[Finding], shared: Mapping[str, str]) -> Iterator[str]:
    """`better at topk=4 (+3.1%)`, of several sides `int8 (+3.1%) is better`, for each outcome that there is."""
    for one in Outcome:
        names = [_case_text(answer, f, shared) for f in found if f.outcome is one]
        if names and len(answer.question.sides) == 1:
            yield f"{one.value} at {listed(names, _SHOWN)}"
        elif names:
            verb = "is" if len(names) == 1 else "are"
            yield f"{listed(names, _SHOWN)} {verb} {'no different' if one is Outcome.NO_DIFFERENCE else one.value}"


def _case_text(answer: Answer, f: Finding, shared: Mapping[str, str]) -> str:
    name = _name(answer, f, shared)
    return name if f.outcome is Outcome.NO_DIFFERENCE or f.change is None else f"{name} ({words.signed(f.change)})"


def _name(answer: Answer, f: Finding, shared: Mapping[str, str]) -> str:
    """`int8 topk=4`: what tells a side and case from the others."""
    own = assignments({name: value for name, value in f.case.items() if name not in shared})
    side = words.subject(answer, f.side) if len(answer.question.sides) > 1 else ""
    return " ".join(filter(None, [side, own])) or words.subject(answer, f.side)


def _of_metrics(cases: Sequence[_Case], first: str) -> Iterator[str]:
    """What the further metrics say: `the same in tokens_per_s`, or how many cases had which outcome."""
    of: dict[str, list[bool]] = {}
    counts: dict[str, Counter[Outcome]] = {}
    for found in cases:
        for f in found[1:]:
            of.setdefault(f.metric, []).append(f.outcome is found[0].outcome)
            counts.setdefault(f.metric, Counter())[f.outcome] += 1
    for metric, alike in of.items():
        if metric == first:
            continue
        several = ", ".join(f"{counts[metric][one]} {one.value}" for one in Outcome if counts[metric][one])
        yield f"the same in {metric}" if all(alike) else f"{metric}: {several}"


def _some(texts: Iterator[str] | Sequence[str]) -> list[str]:
    found = list(texts)
    more = len(found) - _SHOWN
    return found[:_SHOWN] + ([counted(more, "more metric")] if more > 0 else [])


def _basis(answer: Answer, found: Sequence[Finding]) -> str:
    """`(95% intervals; 10 to 12 pairs each in 2 sittings)`."""
    counts = sorted({f.judged or f.pairs for f in found})
    pairs = counted(counts[-1], "pair") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} pairs each"
    level = f"{found[0].level:.0%} intervals" if any(f.low is not None for f in found) else ""
    sittings = f" in {counted(answer.sittings, 'sitting')}" if answer.sittings else ""
    sittings = ", replicated in another sitting" if all(f.is_replicated for f in found) else sittings
    other = words.freed(answer, *answer.question.sides)
    return f"({'; '.join(filter(None, [level, f'{pairs}{sittings}', other]))})"
