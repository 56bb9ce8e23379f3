"""Is there a best case of a sweep, or only a luckiest one?

The best of many equal cases looks good by being chosen. So a case is named the winner only

    by fresh runs    of it and its rival, made after it was chosen: these alone are judged, as any two sides
    against a base   by the sweep's own runs, with alpha divided by the number of cases it was chosen from (Bonferroni)
    without a base   when it is better than every other case, each at alpha: then the choice needs no correction
                     (S. Gutmann and Z. Maymin, "Is the selected population the best?", Annals of Statistics 15, 1987)
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from logbook_agent.evidence.verdict import ALPHA, Judgement, Runs, Verdict, judge
from logbook_agent.evidence.verdict import problems as problems_of
from logbook_agent.stats import median
from logbook_agent.units import Direction

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(Generic[K]):
    """The outcome of looking for a winner.

    `best` has the best median; it is the `winner` only when `judgement` (of best against `rival`) bears it out.
    `left_out` are cases whose values have no ratio. `confirmed`: judged by fresh runs alone.
    """

    winner: K | None
    best: K | None
    rival: K | None
    judgement: Judgement | None
    confirmed: bool
    left_out: tuple[K, ...]
    reasons: tuple[str, ...]


def winner(
    cases: Mapping[K, Runs],
    *,
    direction: Direction | None,
    minimum_effect: float = 0.01,
    base: K | None = None,
    fresh: Mapping[K, Runs] | None = None,
    paired: bool = False,
    alpha: float = ALPHA,
) -> Selection[K]:
    """The winner among the cases of a sweep, or none; `base` is the key of the case to beat.

    `fresh` has runs of the best case and its rival (the base, else the second best) that are in `cases` nowhere;
    `paired` says that they ran interleaved. KeyError for a base that is no case.
    """
    if base is not None and base not in cases:
        raise KeyError(base)
    values = {key: median([median(run) for run in runs]) for key, runs in cases.items() if not problems_of("", runs)}
    left_out = tuple(key for key in cases if key not in values)
    ranked = sorted(values, key=values.__getitem__, reverse=direction == "max")
    best = ranked[0] if ranked and direction is not None else None

    def found(reason: str, judgement: Judgement | None = None, rival: K | None = None) -> Selection[K]:
        reasons = (reason, *(judgement.reasons if judgement else ()))
        won = judgement is not None and judgement.verdict is Verdict.BENEFICIAL
        if left_out:
            reasons = (*reasons, f"left out: {len(left_out)} of {len(cases)} cases, whose values have no ratio")
        return Selection(
            winner=best if won else None,
            best=best,
            rival=rival,
            judgement=judgement,
            confirmed=won and fresh is not None,
            left_out=left_out,
            reasons=reasons,
        )

    if best is None:
        return found("the metric has no direction" if direction is None else "no case has values with a ratio")
    if best == base:
        return found("no case has a better median than the base")
    if base in left_out:
        return found("the base has no values with a ratio")
    rivals = [base] if base is not None else ranked[1:]
    if not rivals:
        return found("one case has nothing to win against")
    if fresh is not None:
        sides = [fresh.get(rivals[0], ()), fresh.get(best, ())]
        judgement = judge(*sides, direction=direction, minimum_effect=minimum_effect, paired=paired, alpha=alpha)
        return found("judged by fresh runs alone", judgement, rivals[0])
    chosen_from = len(values) - 1 if base is not None else 1
    for rival in rivals:
        judgement = judge(
            cases[rival], cases[best], direction=direction, minimum_effect=minimum_effect, alpha=alpha / chosen_from
        )
        if judgement.verdict is not Verdict.BENEFICIAL:
            break
    return found(_how(chosen_from, base is not None), judgement, rival)


def _how(chosen_from: int, has_base: bool) -> str:
    if has_base:
        return f"the best of {chosen_from} cases against the base, corrected for that choice"
    return "the best case against every other"
