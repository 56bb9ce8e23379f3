"""How clear a result has to be that is looked at more than once.

Whoever looks at the result after every few pairs and stops when a difference shows finds one in any noise. A constant
threshold keeps the chance of that at 5% over all looks: S. J. Pocock, "Group sequential methods in the design and
analysis of clinical trials", Biometrika 64 (1977). The thresholds are his, two-sided, for looks after equal numbers of
values.
"""

from __future__ import annotations

ALPHA = 0.05
# By the number of looks, from one on: C. Jennison and B. W. Turnbull, Group Sequential Methods (2000), table 2.1, as
# probabilities.
_POCOCK = (
    *(0.0500, 0.0294, 0.0221, 0.0182, 0.0158, 0.0142, 0.0130, 0.0120, 0.0112, 0.0106),
    *(0.0101, 0.0097, 0.0093, 0.0090, 0.0086, 0.0084, 0.0081, 0.0079, 0.0077, 0.0075),
)


# What all looks beyond the first plan may add to its 5%, of which they share most: see `threshold`.
_LATER = 0.01


def threshold(looks: int, plans: int = 1) -> float:
    """The p-value that a claim needs at each of so many looks, so that in noise at most 5% of them make one.

    Beyond twenty looks the last threshold is divided by their number, which is stricter than it has to be. The first
    plan spends the 5%. Whoever goes on after it (`plans`: so many were made) has another chance to claim something, so
    the second plan has 1% for all its looks, and each further one half of that of the one before: with what the first
    has found already the total stays at 5% (tests/stats simulates it).
    """
    if looks < 1:
        raise ValueError(f"a result is looked at once or more, not {looks} times")
    if plans > 1:
        return _LATER * threshold(looks) / ALPHA / 2.0 ** min(plans - 2, 1000)
    most = len(_POCOCK)
    return _POCOCK[looks - 1] if looks <= most else _POCOCK[-1] * most / looks
