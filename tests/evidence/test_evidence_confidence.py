"""How sure one may be of a claim, by the runs of the settings in which it was tested."""

from __future__ import annotations

import math
from typing import Any

import pytest

from logbook_agent.findings.evidence.confidence import InSetting, Setting, confidence
from logbook_agent.findings.evidence.verdict import Verdict

# Ten runs that scatter by about 1%.
NOISE = [0.987, 0.991, 0.994, 0.997, 0.999, 1.001, 1.003, 1.006, 1.009, 1.013]


def runs(values: list[float]) -> list[list[float]]:
    return [[v] for v in values]


# The logarithms of the ratios of pairs, two sittings of them, that a verdict has.
SITTINGS = {
    Verdict.BENEFICIAL: [[0.05, 0.06], [0.04, 0.05, 0.05]],
    Verdict.REGRESSIVE: [[-0.05, -0.06], [-0.04, -0.05, -0.05]],
    Verdict.NEUTRAL: [[0.001, -0.002], [0.0, 0.003]],
}


def claimed(**more: Any) -> InSetting:
    """A claim in one setting, its runs or pairs made in two sittings."""
    logs = [math.log(value) for [value] in more["runs"] if value > 0] if len(more["runs"]) > 1 else []
    sittings = SITTINGS.get(more.get("verdict"), [[*logs, *logs], [*logs, *logs]])
    return InSetting(**{"sittings": sittings, **more})


CPU = Setting(shape="tokens=512", seed="0", device="cpu")
TPU = Setting(shape="tokens=512", seed="0", device="TPU v5e")


@pytest.mark.parametrize(
    ("trials", "expected", "reason"),
    [
        ([], "exploratory", "nothing was run"),
        ([claimed(setting=CPU, runs=[NOISE])], "exploratory", "one run at tokens=512, seed 0, cpu"),
        (
            [claimed(setting=CPU, runs=runs([1.0, 1.004, 0.998]))],
            "replicated",
            "3 runs at tokens=512, seed 0, cpu scatter by 0.31%, within the minimum effect (1.00%)",
        ),
        (
            [claimed(setting=CPU, runs=runs([1.0, 1.1]))],
            "exploratory",
            "2 runs at tokens=512, seed 0, cpu scatter by 6.74%, more than the minimum effect (1.00%)",
        ),
        (
            [claimed(setting=CPU, runs=[NOISE], verdict=Verdict.NEUTRAL)],
            "exploratory",
            "one run at tokens=512, seed 0, cpu",
        ),
        (
            [
                *(claimed(setting=s, runs=runs(NOISE), verdict=Verdict.BENEFICIAL) for s in (CPU, TPU)),
                *(claimed(setting=CPU, runs=runs(NOISE), verdict=v) for v in (Verdict.INCONCLUSIVE, None)),
            ],
            "replicated",
            "not settled in 2 of 4 settings",
        ),
        (
            [claimed(setting=CPU, runs=runs(NOISE), verdict=Verdict.INCONCLUSIVE)],
            "exploratory",
            "10 runs at tokens=512, seed 0, cpu do not settle a verdict",
        ),
        (
            [claimed(setting=CPU, runs=runs(NOISE), verdict=Verdict.NEUTRAL)],
            "replicated",
            "neutral in 10 runs against the base at tokens=512, seed 0, cpu",
        ),
        (
            [claimed(setting=s, runs=runs(NOISE), verdict=Verdict.BENEFICIAL) for s in (CPU, TPU)],
            "stable",
            "it also holds with another device",
        ),
        # The same setting twice, or one that is not known, is no other setting.
        (
            [claimed(setting=s, runs=runs(NOISE), verdict=Verdict.NEUTRAL) for s in (CPU, CPU, Setting())],
            "replicated",
            "neutral in 10 runs against the base at tokens=512, seed 0, cpu",
        ),
        (
            [
                claimed(setting=CPU, runs=runs(NOISE), verdict=Verdict.NEUTRAL),
                claimed(setting=TPU, runs=runs(NOISE), verdict=Verdict.BENEFICIAL),
            ],
            "replicated",
            "the verdict depends on the setting",
        ),
        (
            [claimed(setting=CPU, runs=runs(NOISE), verdict=v) for v in (Verdict.NEUTRAL, Verdict.BENEFICIAL)],
            "exploratory",
            "verdicts on the same setting contradict",
        ),
    ],
)
def test_confidence_follows_from_the_trials(trials: list[InSetting], expected: str, reason: str) -> None:
    found = confidence(trials)
    assert (found.confidence, found.reasons[0]) == (expected, reason)


@pytest.mark.parametrize(
    ("sittings", "expected", "reason"),
    [
        (
            [[0.05] * 6],
            "exploratory",
            "beneficial in 10 runs against the base, in one sitting: another, 10 minutes or more later,",
        ),
        ([[0.05] * 5, [0.05]], "exploratory", "beneficial in 10 runs against the base, in one sitting"),
        ([[0.05] * 3, [-0.01] * 3], "exploratory", "beneficial in 10 runs against the base, but sittings disagree"),
        ([[0.05] * 3, [0.01] * 3], "replicated", "beneficial in 10 runs against the base"),
        ([], "exploratory", "beneficial in 10 runs against the base, in one sitting"),
    ],
)
def test_replication_takes_two_sittings_that_agree(sittings: list[list[float]], expected: str, reason: str) -> None:
    found = confidence([InSetting(setting=Setting(), runs=runs(NOISE), verdict=Verdict.BENEFICIAL, sittings=sittings)])
    assert found.confidence == expected
    assert found.reasons[0].startswith(reason)


def test_what_is_not_compared_takes_two_sittings_too() -> None:
    close = runs([1.0, 1.001, 0.999, 1.0])
    one, two = [[0.0] * 4], [[0.0] * 2, [0.001] * 2]
    assert confidence([InSetting(setting=Setting(), runs=close, sittings=one)]).confidence == "exploratory"
    assert confidence([InSetting(setting=Setting(), runs=close, sittings=two)]).confidence == "replicated"
    later = confidence([InSetting(setting=Setting(), runs=close, sittings=one)], apart_s=3600)
    assert later.reasons[0].endswith("in one sitting: another, 60 minutes or more later, may replicate it")
