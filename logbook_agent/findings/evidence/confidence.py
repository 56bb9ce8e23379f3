"""How far a claim is borne out: exploratory, replicated or stable, with the reasons.

exploratory   one run, or runs that do not agree, or that were all made in one sitting
replicated    separate processes that agree in two sittings, set apart in time: they settle a verdict other than
              inconclusive; or, where nothing is compared, they scatter by no more than the minimum effect
stable        the same verdict in all settings tried, of which two differ in shape, seed or device

Repetition belongs where variation arises: what the machine, its caches and the compiler did in one sitting, all runs of
it share. T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import combinations

from logbook_agent.findings.evidence.coarse import printed_step
from logbook_agent.findings.evidence.verdict import Runs, Verdict
from logbook_agent.model.entry import APART_S, Confidence
from logbook_agent.model.stats import median
from logbook_agent.model.stats.noise import noise_floor


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a claim was tried on. None: unknown, which never makes a difference to another setting."""

    shape: str | None = None
    seed: str | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InSetting:
    """The claim in one setting: the runs that bear it, and their verdict (None: nothing was compared). `sittings` are
    the logarithms of what they measured, or of the ratios of their pairs, those of one sitting together."""

    setting: Setting
    runs: Runs
    verdict: Verdict | None = None
    sittings: Sequence[Sequence[float]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    confidence: Confidence
    reasons: tuple[str, ...]


def confidence(claim: Sequence[InSetting], *, minimum_effect: float = 0.01, apart_s: float = APART_S) -> Conclusion:
    """What the settings in which one claim was tested add up to. None is exploratory: nothing was run. `apart_s` is
    what set their sittings apart, in seconds."""
    if not claim:
        return Conclusion(confidence="exploratory", reasons=("nothing was run",))
    settled = [t for t in claim if t.verdict not in (None, Verdict.INCONCLUSIVE) and len(t.runs) > 1]
    if settled:
        alone = [t for t in settled if not _again(t, minimum_effect)]
        if alone:
            reasons = tuple(dict.fromkeys(_once(t, apart_s) for t in alone))
            return Conclusion(confidence="exploratory", reasons=reasons)
        return _of_verdicts(settled, still_open=len(claim) - len(settled))
    found = [_agreement(tested, minimum_effect, apart_s) for tested in claim]
    agreed = [reason for agrees, reason in found if agrees]
    if agreed:
        return Conclusion(confidence="replicated", reasons=tuple(agreed))
    return Conclusion(confidence="exploratory", reasons=tuple(reason for _, reason in found))


def _of_verdicts(settled: Sequence[InSetting], still_open: int) -> Conclusion:
    """Of settings that each have a verdict, beside so many that have none."""
    reasons = [f"{t.verdict} in {len(t.runs)} runs against the base{_at(t.setting)}" for t in settled]
    if still_open:
        reasons.insert(0, f"not settled in {still_open} of {len(settled) + still_open} settings")
    pairs = [(a, b, _differences(a.setting, b.setting)) for a, b in combinations(settled, 2)]
    against = [axes for a, b, axes in pairs if a.verdict != b.verdict]
    held = [axis for a, b, axes in pairs if a.verdict == b.verdict for axis in axes]
    if not all(against):
        return Conclusion(confidence="exploratory", reasons=("verdicts on the same setting contradict", *reasons))
    if against:
        return Conclusion(confidence="replicated", reasons=("the verdict depends on the setting", *reasons))
    if held and not still_open:
        axes = " and ".join(dict.fromkeys(held))
        return Conclusion(confidence="stable", reasons=(f"it also holds with another {axes}", *reasons))
    return Conclusion(confidence="replicated", reasons=tuple(reasons))


def _differences(one: Setting, two: Setting) -> list[str]:
    """In which of shape, seed and device two settings are known to differ."""
    pairs = zip(("shape", "seed", "device"), astuple(one), astuple(two), strict=True)
    return [name for name, a, b in pairs if a is not None and b is not None and a != b]


def _agreement(tested: InSetting, minimum_effect: float, apart_s: float) -> tuple[bool, str]:
    """Whether runs without a verdict agree, and the reason."""
    at = _at(tested.setting)
    if len(tested.runs) < 2:
        return False, f"{'one run' if tested.runs else 'no run'}{at}"
    if tested.verdict is not None:
        return False, f"{len(tested.runs)} runs{at} do not settle a verdict"
    spread = noise_floor(tested.runs)
    if spread is None:
        return False, f"the runs{at} have values without a ratio"
    agrees = spread <= minimum_effect
    text = (
        f"{len(tested.runs)} runs{at} scatter by {spread:.2%}, {'within' if agrees else 'more than'} "
        f"the minimum effect ({minimum_effect:.2%})"
    )
    if agrees and (step := printed_step([x for run in tested.runs for x in run])) > minimum_effect:
        return False, f"{text}, but their values come in steps of {100 * step:.3g}%: print more digits"
    if agrees and len(_full(tested)) < _SITTINGS:
        return False, f"{text}, {_another(apart_s)}"
    return agrees, text


# So many sittings, with so many runs or pairs each, make a replication.
_SITTINGS, _IN_EACH = 2, 2


def _another(apart_s: float) -> str:
    return f"in one sitting: another, {apart_s / 60:g} minutes or more later, may replicate it"


def _full(tested: InSetting) -> list[Sequence[float]]:
    return [sitting for sitting in tested.sittings if len(sitting) >= _IN_EACH]


def _again(tested: InSetting, minimum_effect: float) -> bool:
    """Whether what one sitting showed came out in another one, too."""
    centres = [median(list(sitting)) for sitting in _full(tested)]
    if len(centres) < _SITTINGS:
        return False
    if tested.verdict is Verdict.NEUTRAL:
        return all(abs(centre) <= math.log1p(minimum_effect) for centre in centres)
    return len({centre > 0 for centre in centres}) == 1


def _once(tested: InSetting, apart_s: float) -> str:
    found = f"{tested.verdict} in {len(tested.runs)} runs against the base{_at(tested.setting)}"
    return f"{found}, but sittings disagree" if len(_full(tested)) >= _SITTINGS else f"{found}, {_another(apart_s)}"


def _at(setting: Setting) -> str:
    """` at tokens=512, seed 1, cpu`; what is not known is left out."""
    known = [setting.shape, f"seed {setting.seed}" if setting.seed is not None else None, setting.device]
    named = ", ".join(word for word in known if word)
    return f" at {named}" if named else ""
