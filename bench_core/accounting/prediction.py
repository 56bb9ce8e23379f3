"""What a prediction of a step time says, and what two of them say together. No JAX.

A prediction is made by `bench-core predict` from a compiled program, and is never a measurement.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

DECIDES = 1.2
"""The predicted ratio of two times from which a direction is claimed."""
ACROSS = {True: 1.3, False: 2.6}
"""The same for several devices against fewer, for published programs and for those of this version. In all published
pairs the several were faster, and by less than predicted: at the most by this factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The predicted time of one call of one case on a slice that need not be there.

    `estimate`, `low`, `high` and `bound` are seconds: the estimate, the ends of its range where measured rows test it,
    and what no call can be faster than. Each is None where it cannot be said; `refused` says why there is no estimate.
    `published`: of the program that the published logbooks describe, not of this version's own. `terms` are the seconds
    that `estimate` adds up from, by name; `hidden` those of collectives among them that may run beside other work,
    which are counted as if they did not. `fits`: whether its memory fits into the HBM of a device; None where that is
    not known. `vmem`: `not checked`, `fits` or `does not fit`. `program` is a digest of the multiset of scheduled
    operations and of the values that they get: equal digests are one program. `calibration` names the factors and what
    they were fitted on. `unknown` are operations that the model does not know, `cautions` what a reader has to know
    about the estimate.
    """

    target: str
    device_kind: str
    devices: int
    libtpu: str
    model: int
    calibration: str | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    bound: float | None = None
    terms: Mapping[str, float] = field(default_factory=dict)
    hidden: float = 0.0
    fits: bool | None = None
    vmem: str = "not checked"
    program: str | None = None
    unknown: tuple[str, ...] = ()
    refused: str | None = None
    cautions: tuple[str, ...] = ()
    published: bool = False

    def json(self) -> dict[str, Any]:
        """As `RESULT_JSON` carries it, under the key `prediction`."""
        return {
            **asdict(self),
            "terms": dict(self.terms),
            "unknown": list(self.unknown),
            "cautions": list(self.cautions),
        }


class Word(StrEnum):
    """What is said of B against A."""

    WINS = "wins"
    LOSES = "loses"
    UNDECIDED = "undecided"
    SAME_PROGRAM = "same program"
    DOES_NOT_FIT = "does not fit"
    NO_PREDICTION = "no prediction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`ratio`: how many times as fast as A the model has B, None where it has no time of one of them. `why` is a
    clause for the reader."""

    word: Word
    ratio: float | None
    why: str


def outcome(a: Prediction, b: Prediction) -> Outcome:
    """What the predictions of two cases say about B against A: a direction from a ratio of 1.2 on, and else none.

    Between unlike numbers of devices it takes more, see `ACROSS`, and only that more of them are faster is claimed.

    The ratio has to be as large without what the slower side may hide: nobody knows how much of that takes time.
    """
    if unlike := [name for name in _KIND if getattr(a, name) != getattr(b, name)]:
        why = ", ".join(f"{name} {getattr(a, name)} and {getattr(b, name)}" for name in unlike)
        return Outcome(word=Word.NO_PREDICTION, ratio=None, why=f"they are not of one kind: {why}")
    unfit = [name for name, side in (("A", a), ("B", b)) if side.fits is False or side.vmem == "does not fit"]
    if unfit:
        return Outcome(word=Word.DOES_NOT_FIT, ratio=None, why=" and ".join(unfit))
    if a.estimate is None or b.estimate is None:
        without = "; ".join(f"{n}: {s.refused}" for n, s in (("A", a), ("B", b)) if s.estimate is None)
        return Outcome(word=Word.NO_PREDICTION, ratio=None, why=without)
    if a.program is not None and a.program == b.program:
        return Outcome(word=Word.SAME_PROGRAM, ratio=1.0, why="both compile to the same operations")
    ratio = a.estimate / b.estimate
    slower, faster = (a, b) if ratio > 1 else (b, a)
    decides = DECIDES if a.devices == b.devices else ACROSS[a.published]
    if max(ratio, 1 / ratio) < decides:
        return Outcome(word=Word.UNDECIDED, ratio=ratio, why=f"a ratio below {decides} decides nothing{_across(a, b)}")
    if slower.devices > faster.devices:
        why = f"no published row tests a claim that {faster.devices} of {slower.devices} devices are faster"
        return Outcome(word=Word.UNDECIDED, ratio=ratio, why=why)
    if ((slower.estimate or 0.0) - slower.hidden) / (faster.estimate or 1.0) < decides:
        why = f"it is below {decides} if collectives that may run beside other work take no time"
        return Outcome(word=Word.UNDECIDED, ratio=ratio, why=why)
    why = f"from {decides} on a direction is claimed{_across(a, b)}"
    return Outcome(word=Word.WINS if ratio > 1 else Word.LOSES, ratio=ratio, why=why)


_KIND = ("target", "libtpu", "model", "calibration", "published")


def _across(a: Prediction, b: Prediction) -> str:
    return "" if a.devices == b.devices else f" between {a.devices} and {b.devices} devices"
