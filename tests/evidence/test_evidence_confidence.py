"""How sure one may be of a claim, by the runs of the settings in which it was tested."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from logbook_agent.findings.evidence.confidence import InSetting, Setting, confidence
from logbook_agent.findings.evidence.verdict import Verdict

# Ten runs that scatter by about 1%.
NOISE = [0.987, 0.991, 0.994, 0.997, 0.999, 1.001, 1.003, 1.006, 1.009, 1.013]


# What two sittings measured, as logarithms of ratios: about +5% in each, and nothing in each.
TWICE = ((0.05, 0.051, 0.049), (0.052, 0.048))
NOTHING = ((0.001, -0.002, 0.0), (0.003, -0.001))


def runs(values: list[float]) -> list[list[float]]:
    return [[v] for v in values]


def settled(setting: Setting, verdict: Verdict, *, sittings: Sequence[Sequence[float]] | None = None) -> InSetting:
    """Ten runs that settle a verdict, in two sittings where nothing else is said."""
    found = (NOTHING if verdict is Verdict.NEUTRAL else TWICE) if sittings is None else sittings
    return InSetting(setting=setting, runs=runs(NOISE), verdict=verdict, sittings=found)


CPU = Setting(shape="tokens=512", seed="0", device="cpu")
TPU = Setting(shape="tokens=512", seed="0", device="TPU v5e")


@pytest.mark.parametrize(
    ("trials", "expected", "reason"),
    [
        ([], "exploratory", "nothing was run"),
        ([InSetting(setting=CPU, runs=[NOISE])], "exploratory", "one run at tokens=512, seed 0, cpu"),
        (
            [InSetting(setting=CPU, runs=runs([1.0, 1.004, 0.998, 1.001]), sittings=((0.0, 0.004), (-0.002, 0.001)))],
            "replicated",
            "4 runs at tokens=512, seed 0, cpu scatter by 0.25%, within the minimum effect (1.00%)",
        ),
        (
            [InSetting(setting=CPU, runs=runs([1.0, 1.004, 0.998, 1.001]), sittings=((0.0, 0.004, -0.002, 0.001),))],
            "exploratory",
            "4 runs at tokens=512, seed 0, cpu scatter by 0.25%, within the minimum effect (1.00%), "
            "in one sitting: another, 10 minutes or more later, would replicate it",
        ),
        (
            [InSetting(setting=CPU, runs=runs([1.0, 1.1]))],
            "exploratory",
            "2 runs at tokens=512, seed 0, cpu scatter by 6.74%, more than the minimum effect (1.00%)",
        ),
        (
            [InSetting(setting=CPU, runs=[NOISE], verdict=Verdict.NEUTRAL)],
            "exploratory",
            "one run at tokens=512, seed 0, cpu",
        ),
        (
            [
                *(settled(s, Verdict.BENEFICIAL) for s in (CPU, TPU)),
                *(InSetting(setting=CPU, runs=runs(NOISE), verdict=v) for v in (Verdict.INCONCLUSIVE, None)),
            ],
            "replicated",
            "not settled in 2 of 4 settings",
        ),
        (
            [InSetting(setting=CPU, runs=runs(NOISE), verdict=Verdict.INCONCLUSIVE)],
            "exploratory",
            "10 runs at tokens=512, seed 0, cpu do not settle a verdict",
        ),
        (
            [settled(CPU, Verdict.NEUTRAL)],
            "replicated",
            "neutral by 10 runs at tokens=512, seed 0, cpu",
        ),
        # One sitting, with or without a run in another, is no replication.
        *(
            (
                [settled(CPU, Verdict.BENEFICIAL, sittings=once)],
                "exploratory",
                "beneficial by 10 runs at tokens=512, seed 0, cpu, "
                "in one sitting: another, 10 minutes or more later, would replicate it",
            )
            for once in ((), (TWICE[0],), (TWICE[0], (0.05,)))
        ),
        # The other sitting says the opposite, or an effect where the runs of all are neutral.
        *(
            (
                [settled(CPU, verdict, sittings=(TWICE[0], again))],
                "exploratory",
                f"{verdict} by 10 runs at tokens=512, seed 0, cpu, but sittings disagree",
            )
            for verdict, again in (
                (Verdict.BENEFICIAL, (-0.01, -0.02)),
                (Verdict.REGRESSIVE, (-0.01, -0.02)),
                (Verdict.NEUTRAL, NOTHING[1]),
            )
        ),
        (
            [settled(s, Verdict.BENEFICIAL) for s in (CPU, TPU)],
            "stable",
            "it also holds with another device",
        ),
        # The same setting twice, or one that is not known, is no other setting.
        (
            [settled(s, Verdict.NEUTRAL) for s in (CPU, CPU, Setting())],
            "replicated",
            "neutral by 10 runs at tokens=512, seed 0, cpu",
        ),
        (
            [
                settled(CPU, Verdict.NEUTRAL),
                settled(TPU, Verdict.BENEFICIAL),
            ],
            "replicated",
            "the verdict depends on the setting",
        ),
        (
            [settled(CPU, v) for v in (Verdict.NEUTRAL, Verdict.BENEFICIAL)],
            "exploratory",
            "verdicts on the same setting contradict",
        ),
    ],
)
def test_confidence_follows_from_the_trials(trials: list[InSetting], expected: str, reason: str) -> None:
    found = confidence(trials)
    assert (found.confidence, found.reasons[0]) == (expected, reason)
