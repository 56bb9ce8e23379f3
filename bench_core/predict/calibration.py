"""Two factors between published rates and measured times, and how far predictions with them were off. No JAX."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from bench_core.errors import UsageError
from bench_core.predict.model import MODEL, Seconds

FORMAT = 1
MOST_ROWS = 3
"""A calibration is fitted on so many rows: with more, its factors would take over what the model leaves out."""
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Factors of the model, and what they belong to.

    `libtpu` compiled the programs whose terms they were fitted with, `measured_with` ran them (`unknown` for the
    published logbooks, which do not say). `constants` are the rates that the terms were divided by. `low` and `high`
    are what an estimate is multiplied with for the ends of its range: of the rows of `range_of`, which the factors were
    not fitted on, nine in ten lie within, none took less than `shortest` seconds, and collectives are at most the share
    `most_sent` of any estimate. `rows` are those that they were fitted on, `tiles` those of their grouped matmuls.
    """

    name: str
    model: int
    libtpu: str
    measured_with: str
    device_kind: str
    constants: Mapping[str, float | None]
    matmul_factor: float
    routed_factor: float
    low: float
    high: float
    range_of: str
    shortest: float
    most_sent: float
    tiles: tuple[str, ...]
    rows: tuple[str, ...]

    def estimate(self, parts: Seconds) -> float:
        """The seconds of a call."""
        return self.matmul_factor * parts.matmul + self.routed_factor * parts.routed + parts.unscaled

    def terms(self, parts: Seconds) -> dict[str, float]:
        """What the estimate adds up from, with the factors in it."""
        found = {
            "matmul": self.matmul_factor * parts.matmul,
            "grouped_matmul": self.routed_factor * parts.grouped,
            "memory": self.routed_factor * parts.memory,
            "send": parts.send,
        }
        return found | ({"move_arguments": parts.move} if parts.move else {})

    def json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}


def fit(parts: Sequence[Seconds], measured_s: Sequence[float]) -> tuple[float, float]:
    """The two factors with the least squares of relative errors.

    Raises:
        UsageError: the rows do not tell the factors apart, or a factor is not positive.
    """
    xx = xy = yy = xt = yt = 0.0
    for part, time_s in zip(parts, measured_s, strict=True):
        x, y, t = part.matmul / time_s, part.routed / time_s, 1 - part.unscaled / time_s
        xx, xy, yy, xt, yt = xx + x * x, xy + x * y, yy + y * y, xt + x * t, yt + y * t
    area = xx * yy - xy * xy
    if area <= 1e-6 * xx * yy or not xx:
        raise UsageError(
            "these rows do not tell the factors of a calibration apart",
            cause="one is about plain matmuls, the other about all else; the rows have them in one proportion",
            hint="use a row with a shared expert and one without",
        )
    factors = (xt * yy - yt * xy) / area, (yt * xx - xt * xy) / area
    if min(factors) <= 0:
        raise UsageError(
            f"these rows give the factors {factors[0]:.3g} and {factors[1]:.3g}, and a factor is positive",
            cause="the times do not grow with the work of the programs",
            hint="use rows that were measured on one device alone",
        )
    return factors


def seeds() -> Calibration:
    """The factors that come with bench_core: those of the published logbooks."""
    text = resources.files("bench_core.predict").joinpath("seeds.json").read_text(encoding="utf-8")
    return _of(json.loads(text), "the calibration that comes with bench_core")


def read(path: Path) -> Calibration:
    """The calibration of a file that `bench-core predict --calibrate` wrote.

    Raises:
        UsageError: it cannot be read, or belongs to another model.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--calibration {path} cannot be read: {error}",
            cause="it is a file that bench-core predict --calibrate has written",
            hint="bench-core predict --calibrate ROWS.json --out FILE",
        ) from error
    return _of(document, f"--calibration {path}")


def _of(document: Any, what: str) -> Calibration:
    again = "bench-core predict --calibrate ROWS.json --out FILE"
    found = document if isinstance(document, dict) else {}
    if found.get("format") != FORMAT or found.get("model") != MODEL:
        raise UsageError(
            f"{what} is of format {found.get('format')} and model {found.get('model')}",
            cause=f"this version reads format {FORMAT} of model {MODEL}",
            hint=again,
        )
    fields = {name: value for name, value in found.items() if name != "format"}
    try:
        lists = {name: tuple(fields[name]) for name in ("rows", "tiles") if name in fields}
        return Calibration(**{**fields, **lists})
    except TypeError as error:
        raise UsageError(f"{what} is not whole: {error}", cause="a field is missing or unknown", hint=again) from error
