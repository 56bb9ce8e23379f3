"""What a prediction of a step time says, and what two of them say together. No JAX.

A prediction is made by `bench-core predict` from a compiled program, and is never a measurement.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

DECIDES = 1.2
"""The predicted ratio of two times from which a direction is claimed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The predicted time of one call of one case on a slice that need not be there.

    `estimate`, `low`, `high` and `bound` are seconds: the estimate with the ends of its range, and what no call can be
    faster than. All are None where nothing can be said; `refused` says why, in words. `terms` are the seconds that
    `estimate` adds up from, by name; `hidden` those of collectives among them that may run beside other work, which
    are counted as if they did not. `fits`: whether its memory fits into the HBM of a device; None where that is not
    known. `vmem`: `not checked`, `fits` or `does not fit`. `program` is a digest of the multiset of scheduled
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

    The ratio has to be as large without what the slower side may hide: nobody knows how much of that takes time.
    """
    if (a.target, a.devices, a.libtpu, a.model, a.calibration) != (
        b.target,
        b.devices,
        b.libtpu,
        b.model,
        b.calibration,
    ):
        return Outcome(word=Word.NO_PREDICTION, ratio=None, why=f"they are not of one kind: {_unlike(a, b)}")
    unfit = [name for name, side in (("A", a), ("B", b)) if side.fits is False or side.vmem == "does not fit"]
    if unfit:
        return Outcome(word=Word.DOES_NOT_FIT, ratio=None, why=" and ".join(unfit))
    if a.estimate is None or b.estimate is None:
        without = "; ".join(f"{n}: {s.refused}" for n, s in (("A", a), ("B", b)) if s.estimate is None)
        return Outcome(word=Word.NO_PREDICTION, ratio=None, why=without)
    if a.program is not None and a.program == b.program:
        return Outcome(word=Word.SAME_PROGRAM, ratio=1.0, why="both compile to the same operations")
    ratio = a.estimate / b.estimate
    if max(ratio, 1 / ratio) < DECIDES:
        return Outcome(word=Word.UNDECIDED, ratio=ratio, why=f"a ratio below {DECIDES} decides nothing")
    slower, faster = (a, b.estimate) if ratio > 1 else (b, a.estimate)
    if ((slower.estimate or 0.0) - slower.hidden) / faster < DECIDES:
        why = f"it is below {DECIDES} if collectives that may run beside other work take no time"
        return Outcome(word=Word.UNDECIDED, ratio=ratio, why=why)
    return Outcome(
        word=Word.WINS if ratio > 1 else Word.LOSES, ratio=ratio, why=f"from {DECIDES} on a direction is claimed"
    )


def _unlike(a: Prediction, b: Prediction) -> str:
    names = ("target", "devices", "libtpu", "model", "calibration")
    return ", ".join(f"{n} {getattr(a, n)} and {getattr(b, n)}" for n in names if getattr(a, n) != getattr(b, n))
