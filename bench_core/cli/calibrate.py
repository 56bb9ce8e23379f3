"""`bench-core predict --calibrate`: the factors of the model, from measured rows."""

import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import typer

from bench_core.aot.targets import TARGETS, AotTarget
from bench_core.cli import hillclimb
from bench_core.errors import UsageError
from bench_core.harness.case import Case
from bench_core.predict import calibration
from bench_core.predict.calibration import MOST_ROWS, Calibration, fit
from bench_core.predict.model import MODEL, Seconds, seconds
from bench_core.predict.predicting import case_terms, tile_of
from bench_core.predict.scheduled import Scheduled, schedule
from bench_core.predict.slice import slice_rates

_HINT = "give at most 3 rows of RESULT_JSON that bench-core hillclimb measured on one TPU device"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """A measured case of one device, the median of its times, and all of them."""

    case: Case
    time_s: float
    samples: tuple[float, ...]
    device_kind: str
    libtpu: str
    name: str

    @property
    def told(self) -> str:
        """`row 1: 0.0164 s, the median of 6 calls of 0.0163 to 0.0168 s`."""
        count = len(self.samples)
        ends = f"{min(self.samples):.6g} to {max(self.samples):.6g} s"
        return f"{self.name}: {self.time_s:.6g} s" + (f", the median of {count} calls of {ends}" if count > 1 else "")


def calibrate(rows: Path, out: Path | None) -> None:
    """Fit the factors to the rows of a file, and write them.

    Raises:
        UsageError: the rows cannot be used, or no file is named for the factors.
    """
    if out is None:
        raise UsageError(
            f"--calibrate {rows} needs --out",
            cause="the factors are written to a file, which --calibration then names",
            hint=f"add --out {rows.stem}.calibration.json",
        )
    wrong = ""
    if not os.access(out.parent, os.W_OK | os.X_OK):
        wrong = f"{out.parent} is missing or not writable"
    elif out.is_dir() or out.resolve() == rows.resolve():
        wrong = "it is a folder" if out.is_dir() else "it is the file with the rows"
    if wrong:
        raise UsageError(f"--out {out} cannot be written", cause=wrong, hint="name another file")
    found, fitted = _calibrated(_read(rows), rows.name, out.stem)
    out.write_text(json.dumps(found.json(), indent=2) + "\n", encoding="utf-8")
    for line in _said(found, fitted, out):
        typer.echo(line, err=True)


def _said(found: Calibration, fitted: Sequence[float], out: Path) -> Iterator[str]:
    """The factors beside those that are shipped, and the rows beside what the factors give: whether they make sense is
    for the reader to see."""
    shipped = calibration.seeds()
    yield (
        f"{out}: {found.matmul_factor:.3f} for plain matmuls ({shipped.matmul_factor:.3f} on the published rows), "
        f"{found.routed_factor:.3f} for grouped ones and HBM traffic ({shipped.routed_factor:.3f}), "
        f"from {len(found.rows)} rows"
    )
    for row, time_s in zip(found.rows, fitted, strict=True):
        yield f"  {row}; with these factors {time_s:.6g} s"


def _calibrated(measured: list[MeasuredRow], name: str, title: str) -> tuple[Calibration, list[float]]:
    """The calibration called `title` of the rows of the file `name`, and the seconds that it gives for each of them."""
    kinds, versions = {row.device_kind for row in measured}, {row.libtpu for row in measured}
    if len(kinds) > 1 or len(versions) > 1:
        raise _unusable(name, f"they are of {' and '.join(sorted(kinds))} with libtpu {' and '.join(sorted(versions))}")
    [kind], [libtpu] = kinds, versions
    target = next((target for target in TARGETS.values() if target.device_kind == kind), None)
    if target is None:
        raise _unusable(name, f"{kind} is no TPU that this version compiles for")
    for first, second in itertools.combinations(measured, 2):
        if replace(first.case, iters=1, warmup=0) == replace(second.case, iters=1, warmup=0):
            raise _unusable(name, f"{first.name} and {second.name} are of one case, which would count twice")
    _refuse_other_libtpu(libtpu, name)
    parts = [_parts(row, found, target, name) for row, found in zip(measured, _schedule(measured, target), strict=True)]
    factors = fit(parts, [row.time_s for row in measured])
    shipped, rates = calibration.seeds(), slice_rates(target)
    assert rates is not None  # noqa: S101  _parts has asked
    found = Calibration(
        name=f"{title} ({len(measured)} rows, libtpu {libtpu})",
        model=MODEL,
        libtpu=libtpu,
        measured_with=libtpu,
        device_kind=kind,
        constants=rates.constants(),
        matmul_factor=factors[0],
        routed_factor=factors[1],
        # Three rows that are fitted tell nothing about errors.
        low=shipped.low,
        high=shipped.high,
        range_of=shipped.range_of,
        shortest=shipped.shortest,
        most_sent=shipped.most_sent,
        tiles=tuple(sorted({str(tile) for row in measured if (tile := tile_of(row.case)) is not None})),
        rows=tuple(row.told for row in measured),
    )
    return found, [found.estimate(part) for part in parts]


def _refuse_other_libtpu(libtpu: str, name: str) -> None:
    """A program of another libtpu is another program."""
    try:
        installed = metadata.version("libtpu")
    except metadata.PackageNotFoundError:
        installed = "none"
    if installed != libtpu:
        raise _unusable(name, f"libtpu {libtpu} ran them, and installed is {installed}")


def _schedule(measured: list[MeasuredRow], target: AotTarget) -> list[Any]:
    return list(schedule([row.case for row in measured], target))


def _parts(row: MeasuredRow, found: object, target: AotTarget, name: str) -> Seconds:
    if not isinstance(found, Scheduled):
        raise _unusable(name, f"{row.name} does not compile: {getattr(found, 'message', found)}")
    rates, terms = slice_rates(target), case_terms(row.case, found)
    if rates is None:
        raise _unusable(name, f"not all peaks of {target.device_kind} are published")
    if terms.unknown:
        raise _unusable(name, f"of {row.name} the model does not know {'; '.join(terms.unknown)}")
    return seconds(terms, rates)


def _unusable(name: str, cause: str) -> UsageError:
    return UsageError(f"the rows of {name} make no calibration", cause=cause, hint=_HINT)


def _read(path: Path) -> list[MeasuredRow]:
    """The rows of a file: `{"rows": [...]}` as $LOGBOOK_RESULT_FILE has them, or a list of rows.

    Raises:
        UsageError: it is none, there are too many, or a row was not measured on one TPU device.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unusable(path.name, f"{path} cannot be read: {error}") from error
    rows = document.get("rows") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not 2 <= len(rows) <= MOST_ROWS:
        count = len(rows) if isinstance(rows, list) else "no list of"
        raise _unusable(path.name, f"{path} has {count} rows; two factors take 2 to {MOST_ROWS}")
    return [_row(row, f"row {index}", path.name) for index, row in enumerate(rows, start=1)]


def _row(row: Any, name: str, file: str) -> MeasuredRow:
    try:
        used = [device for device in row["devices"] if device["used"]]
        samples = [float(sample) for sample in row["metrics"]["time_s"]["samples"]]
        libtpu, config = row["software"]["libtpu"], row["config"]
    except (KeyError, TypeError, ValueError) as error:
        raise _unusable(file, f"{name} lacks {error}; a row of hillclimb on a TPU has it") from error
    if not used:
        raise _unusable(file, f"{name} does not say which device it was measured on")
    if len(used) != 1 or used[0]["used"] != 1:
        raise _unusable(file, f"{name} was measured on several devices; the factors are those of one device's work")
    if not samples or not all(0 < sample < math.inf for sample in samples):
        raise _unusable(file, f"{name} has no times")
    return MeasuredRow(
        case=_case(config, name, file),
        time_s=median(samples),
        samples=tuple(samples),
        device_kind=used[0]["kind"],
        libtpu=libtpu,
        name=name,
    )


def _case(config: Mapping[str, Any], name: str, file: str) -> Case:
    """The case that reports this config."""
    known = {flag.name: flag for flag in hillclimb.FLAGS}
    strange = [key for key in config if key not in known]
    if strange:
        raise _unusable(file, f"{name} has {', '.join(strange)}, which no case of hillclimb has")
    given = {key: str(value).split() if known[key].flag.repeated else value for key, value in config.items()}
    case = hillclimb.read_request(given).cases[0].over(1)
    if case.config() != dict(config):
        raise _unusable(file, f"{name} is a case of another version of bench_core")
    return case
