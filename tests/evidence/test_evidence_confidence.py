"""How sure one may be of a claim, by the runs of the settings in which it was tested."""

from __future__ import annotations

import pytest

from logbook_agent.findings.evidence.confidence import InSetting, Setting, confidence
from logbook_agent.findings.evidence.verdict import Verdict

# Ten runs that scatter by about 1%.
NOISE = [0.987, 0.991, 0.994, 0.997, 0.999, 1.001, 1.003, 1.006, 1.009, 1.013]


def runs(values: list[float]) -> list[list[float]]:
    return [[v] for v in values]


CPU = Setting(shape="tokens=512", seed="0", device="cpu")
TPU = Setting(shape="tokens=512", seed="0", device="TPU v5e")


@pytest.mark.parametrize(
    ("trials", "expected", "reason"),
    [
        ([], "exploratory", "nothing was run"),
        ([InSetting(setting=CPU, runs=[NOISE])], "exploratory", "one run at tokens=512, seed 0, cpu"),
        (
            [InSetting(setting=CPU, runs=runs([1.0, 1.004, 0.998]))],
            "replicated",
            "3 runs at tokens=512, seed 0, cpu scatter by 0.31%, within the minimum effect (1.00%)",
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
                *(InSetting(setting=s, runs=runs(NOISE), verdict=Verdict.BENEFICIAL) for s in (CPU, TPU)),
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
            [InSetting(setting=CPU, runs=runs(NOISE), verdict=Verdict.NEUTRAL)],
            "replicated",
            "neutral by 10 runs at tokens=512, seed 0, cpu",
        ),
        (
            [InSetting(setting=s, runs=runs(NOISE), verdict=Verdict.BENEFICIAL) for s in (CPU, TPU)],
            "stable",
            "it also holds with another device",
        ),
        # The same setting twice, or one that is not known, is no other setting.
        (
            [InSetting(setting=s, runs=runs(NOISE), verdict=Verdict.NEUTRAL) for s in (CPU, CPU, Setting())],
            "replicated",
            "neutral by 10 runs at tokens=512, seed 0, cpu",
        ),
        (
            [
                InSetting(setting=CPU, runs=runs(NOISE), verdict=Verdict.NEUTRAL),
                InSetting(setting=TPU, runs=runs(NOISE), verdict=Verdict.BENEFICIAL),
            ],
            "replicated",
            "the verdict depends on the setting",
        ),
        (
            [InSetting(setting=CPU, runs=runs(NOISE), verdict=v) for v in (Verdict.NEUTRAL, Verdict.BENEFICIAL)],
            "exploratory",
            "verdicts on the same setting contradict",
        ),
    ],
)
def test_confidence_follows_from_the_trials(trials: list[InSetting], expected: str, reason: str) -> None:
    found = confidence(trials)
    assert (found.confidence, found.reasons[0]) == (expected, reason)
