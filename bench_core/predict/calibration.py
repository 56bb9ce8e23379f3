"""Two factors between published rates and measured times, and how far predictions with them were off. No JAX."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
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
    """The calibration of a file that `bench-core predict --calibrate` wrote. Its name ends with a digest of all that it
    says: predictions by two files are of two calibrations, whatever these are called.

    Raises:
        UsageError: it cannot be read, is no calibration, or belongs to another model.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--calibration {path} cannot be read: {error}",
            cause="it is a file that bench-core predict --calibrate has written",
            hint="bench-core predict --calibrate ROWS.json --out FILE",
        ) from error
    found = _of(document, f"--calibration {path}")
    said = hashlib.sha256(json.dumps(found.json(), sort_keys=True).encode()).hexdigest()[:8]
    return replace(found, name=f"{found.name}, {said}")


def _of(document: Any, what: str) -> Calibration:
    again = "bench-core predict --calibrate ROWS.json --out FILE"
    found = document if isinstance(document, dict) else {}
    if found.get("format") != FORMAT or found.get("model") != MODEL:
        raise UsageError(
            f"{what} is of format {found.get('format')} and model {found.get('model')}",
            cause=f"this version reads format {FORMAT} of model {MODEL}",
            hint=again,
        )
    said = {name: value for name, value in found.items() if name != "format"}
    if wrong := _wrong(said):
        raise UsageError(f"{what} is no calibration: {wrong}", cause="it was changed, or is not whole", hint=again)
    return Calibration(**{**said, "rows": tuple(said["rows"]), "tiles": tuple(said["tiles"])})


_WORDS = ("name", "libtpu", "measured_with", "device_kind", "range_of")
_FACTORS = ("matmul_factor", "routed_factor", "low", "high")


def _wrong(found: Mapping[str, Any]) -> str:
    """What is wrong with the fields of a calibration; empty where nothing is."""
    names = {field.name for field in fields(Calibration)}
    if found.keys() != names:
        return f"it lacks or does not know {', '.join(sorted(found.keys() ^ names))}"
    wrong = [name for name in _WORDS if not isinstance(found[name], str)]
    wrong += [name for name in _FACTORS if not _is_number(found[name]) or not found[name] > 0]
    wrong += [name for name in ("shortest", "most_sent") if not _is_number(found[name]) or found[name] < 0]
    wrong += [name for name in ("rows", "tiles") if not _is_list_of_words(found[name])]
    if not isinstance(found["constants"], dict):
        wrong.append("constants")
    if wrong:
        return f"{', '.join(wrong)} cannot be {', '.join(repr(found[name]) for name in wrong)}"
    if not found["low"] <= 1 <= found["high"]:
        return f"an estimate is outside of its own range of {found['low']:g} to {found['high']:g}"
    return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_list_of_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
