"""How far runs of one configuration lie apart in a comparison, and which of its effects are no larger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logbook_agent.findings.evidence.answers import Answer
from logbook_agent.findings.evidence.compared import Compared, sides
from logbook_agent.findings.evidence.verdict import CLAIMS
from logbook_agent.model.stats.noise import Floor, noise_floor, pooled_floor, within_noise


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise floor of each metric, pooled over every configuration of a comparison that has several runs."""

    floors: dict[str, Floor]

    def holds(self, m: Compared) -> bool | None:
        """Whether the effect of a metric is within the noise; None where either is not known.

        It is a mark for the reader: the verdict does not depend on it.
        """
        floor = self.floors.get(m.metric)
        if floor is None or m.ratio is None or not (m.base.runs and m.other.runs):
            return None
        return within_noise(m.ratio, floor, m.base.runs, m.other.runs)

    def marks(self, m: Compared) -> bool:
        """Whether to say so: a verdict that there is an effect rests on pairs or ranks, and stands for itself."""
        claims = m.judgement is not None and not m.withheld_by and m.judgement.verdict in CLAIMS
        return not claims and bool(self.holds(m))


def noise_of(answers: Sequence[Answer]) -> Noise:
    """What the repeats in a comparison tell of its noise. A side that stands in several pairs counts once."""
    found: dict[str, dict[tuple[object, ...], tuple[float, int]]] = {}
    for line in (line for answer in answers for line in answer.lines):
        for m in line.metrics:
            groups = (line.pair.base, line.pair.other)
            for group, runs in zip(groups, sides(line.pair, m.metric), strict=True):
                floor = noise_floor(runs)
                if floor is not None:
                    # Runs alone are not enough: one of them may have printed several cases.
                    own = (*line.pair.case.items(), *(item.run for item in group.items))
                    found.setdefault(m.metric, {})[own] = floor, len(runs)
    pooled = {metric: pooled_floor(list(floors.values())) for metric, floors in found.items()}
    return Noise({metric: floor for metric, floor in pooled.items() if floor is not None})
