"""Verdicts of one question corrected together: who asks many times finds something in any noise.

A question with several values, metrics or cases is answered by many tests. Their p-values are corrected together by the
procedure of Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical
Society B 57 (1995): of the effects that are claimed at most 5% are expected to be none, and where nothing differs at
all, some effect is claimed in at most 5% of questions. Metrics that rise and fall together, such as a rate and its
time, cost nothing by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from logbook_agent.findings.evidence.compared import Compared
from logbook_agent.findings.evidence.verdict import CLAIMS, Verdict
from logbook_agent.model.stats.sequential import ALPHA


def adjusted(p_values: Sequence[float]) -> list[float]:
    """The p-values of Benjamini and Hochberg, in the same order: the smallest level at which each would be claimed."""
    size = len(p_values)
    found = [1.0] * size
    lowest = 1.0
    for rank, at in zip(range(size, 0, -1), sorted(range(size), key=p_values.__getitem__, reverse=True), strict=True):
        lowest = min(lowest, p_values[at] * size / rank)
        found[at] = lowest
    return found


def held_together(family: Sequence[Compared], others: Sequence[Compared] = ()) -> list[Compared]:
    """The same with claims taken back that the number of tests makes too likely in noise. `others` are tests out of
    which these were chosen, and may hold them, too."""
    tested = [at for at, m in enumerate(family) if is_tested(m)]
    known = {_numbers(family[at]) for at in tested}
    beside = [m for m in others if is_tested(m) and _numbers(m) not in known]
    tests = len(tested) + len(beside)
    if tests < 2:
        return list(family)
    held = adjusted([*(_scaled(family[at]) for at in tested), *map(_scaled, beside)])
    found = list(family)
    for at, p_value in zip(tested, held, strict=False):
        found[at] = _held(family[at], p_value, tests)
    return found


def _numbers(m: Compared) -> tuple[str, tuple[float, ...], tuple[float, ...]]:
    """What tells one test from another."""
    return m.metric, m.base.values, m.other.values


def claims_of_one(family: Sequence[Compared]) -> bool:
    """Whether one of them would claim an effect, were it the only one."""
    return any(is_tested(m) and m.judgement is not None and m.judgement.verdict in CLAIMS for m in family)


def is_tested(m: Compared) -> bool:
    """Whether a verdict on it could claim an effect."""
    effect = m.judgement.effect if m.judgement is not None else None
    return effect is not None and effect.interval is not None and m.direction is not None and not m.withheld_by


def _scaled(m: Compared) -> float:
    """The p-value as if it were held against 5%: one that is looked at more often is held against less."""
    effect = m.judgement.effect if m.judgement is not None else None
    if effect is None or effect.p_value is None:
        return 1.0
    return min(1.0, effect.p_value * ALPHA / effect.alpha)


def _held(m: Compared, p_value: float, tests: int) -> Compared:
    judged = m.judgement
    assert judged is not None  # noqa: S101  only what is tested comes here
    judged = replace(judged, tests=tests, alone=judged.verdict)
    if judged.verdict in CLAIMS and p_value > ALPHA:
        doubt = f"corrected for the {tests} tests of this question (Benjamini-Hochberg), p = {p_value:.2g}"
        judged = replace(judged, verdict=Verdict.INCONCLUSIVE, reasons=(doubt, *judged.reasons))
    return replace(m, judgement=judged, reasons=judged.reasons)


def claims_alone(family: Sequence[Compared]) -> tuple[int, int]:
    """How many of the tests would claim an effect, were each the only one, and how many tests there are."""
    judged = [m.judgement for m in family if m.judgement is not None and m.judgement.tests > 1]
    return sum(j.alone in CLAIMS for j in judged), len(judged)
