"""How far a claim is borne out: exploratory, replicated or stable, with the reasons.

exploratory   one run, or runs that do not agree
replicated    independent repeats that agree: they settle a verdict other than inconclusive; or, where nothing is
              compared, they scatter no more than noise does
stable        the same verdict in two settings or more that differ in shape, seed or device
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from logbook_agent.evidence.verdict import Runs, Verdict
from logbook_agent.model.entry import Confidence
from logbook_agent.stats.noise import noise_floor

# Two runs of the same noise lie so far apart in 5% of cases that their deviation is 1.96 times the true one; with
# more runs it is less. So from twice the floor on it is not the same noise.
AGREEMENT = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a claim was tried on. None: unknown, which never makes a difference to another setting."""

    shape: str | None = None
    seed: str | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The claim in one setting: the runs that bear it, and their verdict (None: nothing was compared).

    `floor` is the noise floor known from other repeats of one configuration there (None: not known).
    """

    setting: Setting
    runs: Runs
    verdict: Verdict | None = None
    floor: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    confidence: Confidence
    reasons: tuple[str, ...]


def confidence(trials: Sequence[Trial], *, minimum_effect: float = 0.01) -> Conclusion:
    """What the trials of one claim add up to. No trial is exploratory: nothing was run."""
    if not trials:
        return Conclusion(confidence="exploratory", reasons=("nothing was run",))
    settled = [t for t in trials if t.verdict not in (None, Verdict.INCONCLUSIVE) and len(t.runs) > 1]
    if settled:
        return _of_verdicts(settled, open_trials=len(trials) - len(settled))
    found = [_agreement(trial, minimum_effect) for trial in trials]
    agreed = [reason for agrees, reason in found if agrees]
    if agreed:
        return Conclusion(confidence="replicated", reasons=tuple(agreed))
    return Conclusion(confidence="exploratory", reasons=tuple(reason for _, reason in found))


def _of_verdicts(settled: Sequence[Trial], open_trials: int) -> Conclusion:
    """Of trials that each have a verdict."""
    reasons = [f"{t.verdict} by {len(t.runs)} runs{_at(t.setting)}" for t in settled]
    if open_trials:
        reasons.append(f"not settled in {open_trials} more")
    pairs = [(a, b, _differences(a.setting, b.setting)) for a, b in combinations(settled, 2)]
    against = [axes for a, b, axes in pairs if a.verdict != b.verdict]
    held = [axis for a, b, axes in pairs if a.verdict == b.verdict for axis in axes]
    if not all(against):
        return Conclusion(confidence="exploratory", reasons=("verdicts on the same setting contradict", *reasons))
    if against:
        return Conclusion(confidence="replicated", reasons=("the verdict depends on the setting", *reasons))
    if held:
        axes = " and ".join(dict.fromkeys(held))
        return Conclusion(confidence="stable", reasons=(f"it holds over another {axes}", *reasons))
    return Conclusion(confidence="replicated", reasons=tuple(reasons))


def _differences(one: Setting, two: Setting) -> list[str]:
    """In which of shape, seed and device two settings are known to differ."""
    pairs = {
        "shape": (one.shape, two.shape),
        "seed": (one.seed, two.seed),
        "device": (one.device, two.device),
    }
    return [name for name, (a, b) in pairs.items() if a is not None and b is not None and a != b]


def _agreement(trial: Trial, minimum_effect: float) -> tuple[bool, str]:
    """Whether the runs of a trial without a verdict agree, and the reason."""
    at = _at(trial.setting)
    if len(trial.runs) < 2:
        return False, f"{'one run' if trial.runs else 'no run'}{at}"
    if trial.verdict is not None:
        return False, f"{len(trial.runs)} runs{at} settle no verdict"
    spread = noise_floor(trial.runs)
    if spread is None:
        return False, f"the runs{at} have values without a ratio"
    allowed, why = minimum_effect, "the minimum effect"
    if trial.floor is not None and AGREEMENT * trial.floor > minimum_effect:
        allowed, why = AGREEMENT * trial.floor, f"{AGREEMENT:g} noise floors"
    agrees = spread <= allowed
    return agrees, (
        f"{len(trial.runs)} runs{at} scatter by {spread:.2%}, {'within' if agrees else 'more than'} {why} "
        f"({allowed:.2%})"
    )


def _at(setting: Setting) -> str:
    """` at tokens=512, seed 1, cpu`; what is not known is left out."""
    known = [setting.shape, f"seed {setting.seed}" if setting.seed is not None else None, setting.device]
    named = ", ".join(word for word in known if word)
    return f" at {named}" if named else ""
