"""Is there a best case of a sweep, or only a luckiest one?

The best of many equal cases looks good by being chosen. So a case is named the winner only

    against a base   with alpha divided by the number of cases it was chosen from (Bonferroni)
    without a base   when it is better than every other case, each at alpha: then the choice needs no correction
                     (S. Gutmann and Z. Maymin, "Is the selected population the best?", Annals of Statistics 15, 1987)

and only where the machine's own changes cannot make it: by pairs, or by runs whose order was drawn by chance. Where all
runs of one case were made before those of the other, no case is named.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from logbook_agent.findings.evidence.layout import WHY, PlacedRun, layout
from logbook_agent.findings.evidence.verdict import Verdict, judge
from logbook_agent.findings.evidence.verdict import problems as problems_of
from logbook_agent.model.stats import median
from logbook_agent.model.stats.ranks import missing_paired
from logbook_agent.model.stats.sequential import ALPHA
from logbook_agent.model.units import Direction

K = TypeVar("K", bound=Hashable)
# The runs of a case, each with its place and its samples, in the order in which they were started.
Placed = Sequence[tuple[PlacedRun, Sequence[float]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(Generic[K]):
    """The outcome of looking for a winner.

    `best` has the best median; it is the `winner` only when the verdict on it against `rival` bears it out.
    `repeats`: these runs could not tell; with so many runs of each case, mixed, others could (None: they could).
    """

    winner: K | None = None
    best: K | None = None
    rival: K | None = None
    repeats: int | None = None
    reasons: tuple[str, ...]


def winner(
    cases: Mapping[K, Placed],
    *,
    direction: Direction | None,
    minimum_effect: float = 0.01,
    base: K | None = None,
    alpha: float = ALPHA,
) -> Selection[K]:
    """The winner among the cases of a sweep, or none; `base` is the key of the case to beat. KeyError for a base that
    is no case."""
    if base is not None and base not in cases:
        raise KeyError(base)
    values = {key: median([median(run) for run in runs]) for key, runs in _sound(cases).items()}
    ranked = sorted(values, key=values.__getitem__, reverse=direction == "max")
    left_out = len(cases) - len(values)
    notes = [f"left out: {left_out} of {len(cases)} cases, whose values have no ratio"] if left_out else []
    best = ranked[0] if ranked and direction is not None else None
    rivals = ([base] if base is not None else ranked[1:]) if best is not None else []
    if best is None or not rivals:
        return Selection(best=best, reasons=(_nothing(direction, ranked), *notes))
    if base is not None and (best == base or base not in values):
        what = "no case has a better median than the base" if best == base else "the base has no values with a ratio"
        return Selection(best=best, reasons=(what, *notes))
    # Without a base the choice needs no correction, see above.
    level = alpha / (len(values) - 1) if base is not None else alpha
    for rival in rivals:
        found = _against(cases, best, rival, direction, minimum_effect, alpha=level)
        if found.winner is None:
            break
    how = [_how(len(values) - 1, has_base=base is not None)] if found.winner is not None else []
    return replace(found, reasons=(*how, *found.reasons, *notes))


def _how(chosen_from: int, *, has_base: bool) -> str:
    if not has_base:
        return "better than every other case"
    if chosen_from == 1:
        return "better than the base"
    return f"the best of {chosen_from} cases against the base, corrected for that choice"


def _sound(cases: Mapping[K, Placed]) -> dict[K, list[Sequence[float]]]:
    """The samples of the cases of which a ratio can be taken."""
    plain = {key: [samples for _, samples in runs] for key, runs in cases.items()}
    return {key: runs for key, runs in plain.items() if not problems_of("", runs)}


def _nothing(direction: Direction | None, ranked: Sequence[K]) -> str:
    """Why there are no two cases to judge."""
    if direction is None:
        return "the metric has no direction"
    return "one case has nothing to win against" if ranked else "no case has values with a ratio"


def _against(
    cases: Mapping[K, Placed],
    best: K,
    rival: K,
    direction: Direction | None,
    minimum_effect: float,
    *,
    alpha: float,
) -> Selection[K]:
    """The best case against one other."""
    first, last = cases[rival], cases[best]
    # Of pairs; runs that are mixed by chance need fewer.
    fewest = missing_paired(0, alpha)
    if min(len(first), len(last)) < 2:
        reason = f"one run of a case is not enough, {fewest} of each could be"
        return Selection(best=best, rival=rival, repeats=fewest, reasons=(reason,))
    lay = layout([p for p, _ in first], [p for p, _ in last])
    if not lay.is_sound:
        repeats = max(fewest, len(first), len(last))
        reason = f"{WHY[lay.lay]}: a drift of the machine would look like an effect"
        return Selection(best=best, rival=rival, repeats=repeats, reasons=(reason,))
    sides = [[samples for _, samples in runs] for runs in (first, last)]
    if lay.is_paired:
        sides = [[side[pair[at]] for pair in lay.pairs] for at, side in enumerate(sides)]
    judgement = judge(
        *sides,
        direction=direction,
        minimum_effect=minimum_effect,
        other_first=lay.other_first if lay.is_paired else None,
        alpha=alpha,
    )
    won = judgement.verdict is Verdict.BENEFICIAL
    return Selection(winner=best if won else None, best=best, rival=rival, reasons=judgement.reasons)
