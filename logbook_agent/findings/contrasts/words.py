"""Answers to comparisons as Markdown for an entry, and as plain data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from logbook_agent.findings.contrasts.answers import Answer, Line
from logbook_agent.findings.contrasts.likeness import DifferenceStanding, differences_text
from logbook_agent.findings.contrasts.numbers import Compared, Numbers
from logbook_agent.findings.evidence.family import claims_alone
from logbook_agent.findings.evidence.layout import WHY
from logbook_agent.findings.evidence.noise import Noise, noise_of
from logbook_agent.findings.evidence.verdict import CLAIMS, Basis, Verdict
from logbook_agent.findings.trust import Answered
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import Comparison
from logbook_agent.model.stats.sequential import ALPHA
from logbook_agent.model.stats.summary import mad, mean, quantile, standard_deviation
from logbook_agent.model.units import format_value, known
from logbook_agent.text import markdown as md

WITHHELD = "withheld"
# Of what nothing withholds but the order in which the runs were made.
NOT_SETTLED = "not settled"
_SHOWN_LINES = 12
_SHOWN_LEVELS = 6
# What the reader of an entry is told of beside verdicts.
_STATED = (DifferenceStanding.ALLOWED, DifferenceStanding.IMPLIED, DifferenceStanding.NOTED)


def lines(kept: Answered, own_id: str) -> str:
    """What a question of the entry `own_id` comes to: a line for each metric of each pair, then what is stated; or why
    it cannot be answered from the records as they stand."""
    asked, answers, error = kept.asked, kept.answers, kept.error
    if error is not None:
        why = f" ({error.cause})" if error.cause else ""
        return f"{_subject(asked, own_id)}: cannot be compared: {md.escape(error.message + why)}"
    noise = noise_of(answers)
    found = [_line(asked, answer, line, m, noise) for answer in answers for line in answer.lines for m in line.metrics]
    noted = map(md.escape, notes(answers, noise))
    more = len(found) - _SHOWN_LINES
    shown = found[:_SHOWN_LINES] + ([f"and {more} more, which `logbook compare` shows"] if more > 0 else [])
    void = [f"This settles nothing: it rests on {md.escape(' and '.join(kept.uncounted))}"] if kept.uncounted else []
    return f"{_subject(asked, own_id)}:\n{md.items([*void, *shown, *noted])}"


def _subject(asked: Comparison, own_id: str) -> str:
    references = [md.escape(r) for r in asked.references]
    where = ", ".join(f"{k}={v}" for k, v in asked.where.items())
    only = f", only {md.inline_code(where)}" if where else ""
    if asked.axis is None:
        return f"{' → '.join(references)}{only}"
    of = "" if asked.references == (own_id,) else f" in {', '.join(references)}"
    return f"{md.inline_code(asked.axis)}{of}{only}"


def _line(asked: Comparison, answer: Answer, line: Line, m: Compared, noise: Noise) -> str:
    case = md.inline_code(" ".join(f"{k}={v}" for k, v in line.pair.case.items())) if line.pair.case else ""
    sides = md.escape(f"{answer.base} → {answer.other}") if asked.axis is not None else ""
    about = ", ".join(t for t in (sides, case, md.inline_code(m.metric)) if t)
    numbers = f"{number(m, m.base)} → {number(m, m.other)}" + (f" {m.unit}" if m.unit else "")
    evidence = evidence_text(m, noise)
    return f"{about}: {md.escape(numbers)}, {md.escape(change_text(m))} ({md.escape(evidence)}): {_outcome(m)}"


def _outcome(m: Compared) -> str:
    if verdict_text(m) == NOT_SETTLED:
        return f"not settled, {md.escape(str(m.withheld_by[0].why))}"
    if m.withheld_by:
        return f"verdict withheld, differs in {md.escape(differences_text(m.withheld_by))}"
    return f"**{verdict_text(m)}**" if m.judgement is not None else "no verdict"


# -- pieces that the table of `logbook compare` has, too ---------------------------------------------


def number(m: Compared, side: Numbers) -> str:
    """A median with the lowest and highest run; `?` when there is none."""
    decimals = known(m.metric).decimals
    if side.runs < 2 or side.low is None or side.high is None:
        return format_value(side.median, decimals=decimals)
    spread = side.high - side.low
    text, low, high = (format_value(v, decimals=decimals, spread=spread) for v in (side.median, side.low, side.high))
    return f"{text} [{low}, {high}]"


def delta_text(m: Compared) -> str:
    return "?" if m.ratio is None else f"{m.ratio - 1:+.2%}"


def change_text(m: Compared) -> str:
    """The change beside the numbers of both sides. Of pairs it is the median of their ratios; where that is not what
    the two medians come to, both stand there by their names."""
    text, of_medians = delta_text(m), m.ratio_of_medians
    if not m.interleaved or m.ratio is None or of_medians is None or f"{of_medians - 1:+.2%}" == text:
        return text
    return f"{text} by pairs, {of_medians - 1:+.2%} by medians"


def interval_text(m: Compared) -> str:
    """The interval of the change; one over the samples of single processes says so. Empty when there is none."""
    effect = m.judgement.effect if m.judgement is not None else None
    if effect is None or effect.interval is None:
        return ""
    text = f"{effect.interval.low - 1:+.2%} to {effect.interval.high - 1:+.2%}"
    return f"{text} within-process" if effect.basis is Basis.WITHIN_PROCESS else text


def evidence_text(m: Compared, noise: Noise) -> str:
    """`+5.68% to +6.29%, 6 pairs, order effect +0.02%`: the interval and what it rests on."""
    effect = m.judgement.effect if m.judgement is not None else None
    pairs = len(m.layout.pairs) if m.layout is not None else 0
    parts = [
        interval_text(m),
        f"{pairs} pair{'s' * (pairs != 1)}" if m.interleaved else f"{m.base.runs} and {m.other.runs} runs",
    ]
    if effect is not None and effect.interval is None and effect.basis is Basis.BETWEEN_RUNS:
        parts.append("too few for an interval")
    if effect is not None and effect.p_value is not None and effect.interval is not None:
        parts.append(f"p = {effect.p_value:.2g} by {'signed ranks' if m.interleaved else 'Mann-Whitney'}")
    if m.layout is not None and m.layout.looks > 1:
        parts.append(f"{m.layout.looks} looks")
    parts += m.marks
    if effect is not None and effect.order_effect is not None:
        parts.append(f"order effect {effect.order_effect:+.2%}")
    if noise.marks(m):
        parts.append(f"within the noise of {noise.floors[m.metric].part:.2%}")
    return ", ".join(part for part in parts if part)


def verdict_text(m: Compared) -> str:
    if m.withheld_by:
        return NOT_SETTLED if m.is_alike else WITHHELD
    return m.judgement.verdict.value if m.judgement is not None else "none"


def notes(answers: Sequence[Answer], noise: Noise) -> list[str]:
    """What stands beside the verdicts: differences that are meant or noted, what is not known, what was left out,
    why nothing could be concluded, and means over cases."""
    every = [line for answer in answers for line in answer.lines]
    metrics = [m for line in every for m in line.metrics]
    of_pairs: Counter[str] = Counter()
    for like in (line.pair.likeness for line in every):
        stated = [d for d in like.differences if d.standing in _STATED]
        of_pairs.update(f"{d.standing.value}: {differences_text([d])}" for d in stated)
        of_pairs.update([f"not known for either side: {', '.join(like.not_known)}"] if like.not_known else [])
    of_metrics = Counter(f"allowed: order ({WHY[m.layout.lay]})" for m in metrics if m.is_allowed and m.layout)
    of_metrics.update(reason for m in metrics for reason in doubts(m))
    found = [text + _part(n, len(every), "pair") for text, n in of_pairs.items()]
    found += [text + _part(n, len(metrics), "row") for text, n in of_metrics.items()]
    scatter = [
        f"noise of {m}: runs of one configuration scatter by {floor.part:.2%}" for m, floor in noise.floors.items()
    ]
    return [
        *_family(metrics),
        *found,
        *_means(answers),
        *_left_out(answers),
        *_contended(answers),
        *_levels(answers),
        *scatter,
    ]


def _family(metrics: Sequence[Compared]) -> list[str]:
    """How many effects are claimed, beside how many tests were made."""
    alone, tests = claims_alone(metrics)
    if not tests:
        return []
    claims = sum(m.judgement is not None and m.judgement.tests > 1 and m.judgement.verdict in CLAIMS for m in metrics)
    # Those of a narrower question are corrected with the others of their entries, which are not shown.
    every = max(m.judgement.tests for m in metrics if m.judgement is not None)
    which = f"{every:,} tests" + (
        f", of which {tests:,} {'is' if tests == 1 else 'are'} shown," if tests < every else ""
    )
    text = f"{which} corrected together (Benjamini-Hochberg): {claims:,} claim{'s' * (claims == 1)} an effect"
    if alone > claims:
        by_chance = min(alone, max(1, round(tests * ALPHA)))
        text += f"; judged one by one, {alone:,} would, up to {by_chance:,} of them by chance alone"
    return [text]


def doubts(m: Compared) -> tuple[str, ...]:
    """Why a verdict is inconclusive, or there is none; nothing where it is withheld, which says enough."""
    if m.judgement is None:
        return m.reasons
    if m.withheld_by or m.judgement.verdict is not Verdict.INCONCLUSIVE:
        return ()
    effect = m.judgement.effect
    # The last reason of an effect that could be tested repeats its numbers.
    tested = effect is not None and effect.basis is Basis.BETWEEN_RUNS and not effect.missing_runs
    return m.reasons[:1] if tested else m.reasons


def _part(count: int, total: int, noun: str) -> str:
    return "" if count == total else f" ({count} of {total} {noun}s)"


def _means(answers: Sequence[Answer]) -> Iterator[str]:
    for answer in answers:
        for name in dict.fromkeys(m.metric for line in answer.lines for m in line.metrics):
            mean = answer.mean(name)
            if mean is not None:
                sides = f"{answer.base} → {answer.other}, " if len(answers) > 1 else ""
                yield f"geometric mean of {sides}{name} over {mean[1]} pairs: {mean[0] - 1:+.2%}"


def _left_out(answers: Sequence[Answer]) -> Iterator[str]:
    groups = [g for a in answers for line in a.lines for g in (line.pair.base, line.pair.other)]
    if rows := sum(g.left_out for g in groups):
        yield f"{rows} row{'s' * (rows > 1)} of runs that did not finish left out"
    failed = [reasons for g in groups if (reasons := g.failed) and len(reasons) < len(g.items)]
    if failed:
        reasons = [reason for one in failed for reason in one]
        yield f"{len(reasons)} failed row{'s' * (len(reasons) > 1)} left out: {', '.join(dict.fromkeys(reasons))}"
    for answer in answers:
        why: dict[tuple[str, str], list[str]] = {}
        for one in answer.unpaired:
            side = {"base": answer.base, "other": answer.other}.get(one.side, "neither side")
            case = " ".join(f"{k}={v}" for k, v in one.case.items())
            why.setdefault((side, one.why), []).append(case or f"{one.runs} run{'s' * (one.runs != 1)}")
        for (side, reason), cases in why.items():
            shown = "; ".join(cases[:3]) + (f" and {len(cases) - 3} more" if len(cases) > 3 else "")
            yield f"{len(cases)} case{'s' * (len(cases) > 1)} of {side} not compared ({shown}): {reason}"


def _contended(answers: Sequence[Answer]) -> Iterator[str]:
    groups = [g for a in answers for line in a.lines for g in (line.pair.base, line.pair.other)]
    runs = {item.run: item.case.contended for g in groups for item in g.items}
    if any(runs.values()):
        yield f"{sum(runs.values())} of {len(runs)} runs started while others held an accelerator"


def _levels(answers: Sequence[Answer]) -> list[str]:
    """The sides whose level changed while they were measured; a side that stands in several pairs once."""
    found: dict[str, None] = {}
    for answer, line in ((a, line) for a in answers for line in a.lines):
        case = "".join(f" {k}={v}" for k, v in line.pair.case.items())
        for m in line.metrics:
            for name, side in ((answer.base, m.base), (answer.other, m.other)):
                if side.level is not None:
                    found[f"{name}{case}: {side.level.text(of_entry=True)}"] = None
    more = len(found) - _SHOWN_LEVELS
    return [*list(found)[:_SHOWN_LEVELS], *([f"and {more} more levels that changed"] if more > 0 else [])]


# -- data --------------------------------------------------------------------------------------------


def data(asked: Comparison, answers: Sequence[Answer]) -> dict[str, Any]:
    """A question with its answers, complete."""
    noise = noise_of(answers)
    return {
        "references": list(asked.references),
        "axis": asked.axis,
        "where": dict(asked.where),
        "allowed": list(asked.allowed),
        "implied": list(asked.implied),
        "minimum_effect": asked.minimum_effect,
        "apart_s": asked.apart_s,
        "comparisons": [_answer_data(answer, noise) for answer in answers],
    }


def kept_data(kept: Answered) -> dict[str, Any]:
    """A question that an entry keeps with its answers, or with the `error` of one that has none."""
    found = data(kept.asked, kept.answers)
    if kept.uncounted:
        found["uncounted"] = list(kept.uncounted)
    return {**found, "error": kept.error.message} if kept.error is not None else found


def _answer_data(answer: Answer, noise: Noise) -> dict[str, Any]:
    return {
        "base": answer.base,
        "other": answer.other,
        "pairs": [_pair_data(line, noise) for line in answer.lines],
        "not_compared": [encode(one) for one in answer.unpaired],
    }


def _pair_data(line: Line, noise: Noise) -> dict[str, Any]:
    like = line.pair.likeness
    return {
        "case": dict(line.pair.case),
        "differences": [encode(d) for d in like.differences],
        "not_known": list(like.not_known),
        "left_out_rows": line.pair.base.left_out + line.pair.other.left_out,
        "contended_runs": line.pair.base.contended + line.pair.other.contended,
        "metrics": [_metric_data(m, noise) for m in line.metrics],
    }


def _metric_data(m: Compared, noise: Noise) -> dict[str, Any]:
    effect = m.judgement.effect if m.judgement is not None else None
    interval = effect.interval if effect is not None else None
    return {
        "metric": m.metric,
        "unit": m.unit,
        "direction": m.direction,
        "base": _side_data(m.base),
        "other": _side_data(m.other),
        "delta": None if m.ratio is None else m.ratio - 1,
        "interval": None if interval is None else [interval.low - 1, interval.high - 1],
        "p_value": effect.p_value if effect is not None else None,
        "basis": effect.basis.value if effect is not None else None,
        "interleaved": m.interleaved,
        "order": m.layout.lay.value if m.layout is not None else None,
        "test": None
        if effect is None or effect.p_value is None
        else "signed-rank"
        if m.interleaved
        else "mann-whitney",
        "looks": m.layout.looks if m.layout is not None else None,
        "alpha": effect.alpha if effect is not None else None,
        "tests": m.judgement.tests if m.judgement is not None else None,
        "order_effect": effect.order_effect if effect is not None else None,
        "noise_floor": floor.part if (floor := noise.floors.get(m.metric)) is not None else None,
        "within_noise": noise.holds(m),
        "missing_runs": effect.missing_runs if effect is not None else None,
        "verdict": None if m.withheld_by or m.judgement is None else m.judgement.verdict.value,
        "withheld_by": [d.name for d in m.withheld_by],
        "reasons": list(m.reasons),
    }


def _side_data(side: Numbers) -> dict[str, Any]:
    values = side.values if all(map(math.isfinite, side.values)) else ()
    return {
        "median": side.median,
        "low": side.low,
        "high": side.high,
        "quartiles": [quantile(values, 0.25), quantile(values, 0.75)] if values else None,
        "mean": mean(values) if values else None,
        "standard_deviation": standard_deviation(values) if len(values) > 1 else None,
        "mad": mad(values) if len(values) > 1 else None,
        "runs": side.runs,
        "samples": side.samples,
        "failed": list(side.failed),
        "level_change": encode(side.level) if side.level is not None else None,
    }
