"""When an A/B of interleaved pairs has run long enough.

The rule looks at how precise the result is and never at which way it points: stopping as soon as a difference shows
would find one in any noise. `benchmarks/calibration.py` runs the verdict under this rule.
"""

from __future__ import annotations

from logbook_agent.findings.evidence.verdict import ALPHA, Runs, judge
from logbook_agent.model.stats.ranks import missing_paired

# The fewest pairs on which a verdict can rest.
FEWEST_PAIRS = missing_paired(0, ALPHA)


def enough(base: Runs, other: Runs, *, width: float, minimum_pairs: int = FEWEST_PAIRS) -> bool:
    """Whether the interval of the ratio is narrower than `width` (0.01: one percent, from end to end).

    Asked after each block AB BA, so only for an even number of pairs: within a block a steady drift cancels. Values
    that have no ratio are never enough; the caller's budget of pairs ends those.
    """
    if width <= 0:
        raise ValueError(f"an interval cannot become narrower than {width}")
    pairs = min(len(base), len(other))
    if len(base) != len(other) or pairs % 2 or pairs < max(minimum_pairs, FEWEST_PAIRS):
        return False
    effect = judge(base, other, direction=None, paired=True).effect
    return effect is not None and effect.interval is not None and effect.interval.width < width
