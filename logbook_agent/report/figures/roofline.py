"""Measured rows under the roofline of their devices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from logbook_agent.model.record import Record
from logbook_agent.model.run import Row
from logbook_agent.model.stats import median
from logbook_agent.model.values import Key, row_key
from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries, key
from logbook_agent.report.figures.figure_words import name_of, shown, span_of
from logbook_agent.report.figures.over_axis import SPREAD
from logbook_agent.text.markdown import cut_line

_TIME = "time_s"
_SAID_CHARS = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What one device does in a call: FLOPs, bytes of its memory, and their peaks per second."""

    flops: float
    bytes: float
    peak_flops: float
    peak_bytes: float

    @property
    def intensity(self) -> float:
        return self.flops / self.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timed:
    """A measured case of which the record holds the work. `rates`: TF/s of one device in each run."""

    name: str
    work: _Work
    rates: tuple[float, ...]


def roofline(record: Record) -> Figure | None:
    """The rows of an entry under the roofline of one device, as bench-core reported it. None where no row says the
    least times of its FLOPs and bytes."""
    timed = list(_timed(record))
    if not timed:
        return None
    roofs = {(one.work.peak_flops, one.work.peak_bytes): None for one in timed}
    places = [*(one.work.intensity for one in timed), *(flops / rate for flops, rate in roofs)]
    left, right = min(places) / 2, max(places) * 2
    series = [_roof(record.id, flops, rate, left, right) for flops, rate in roofs]
    series.append(PlotSeries(name="measured", shape="points", points=tuple(_measured(record.id, one) for one in timed)))
    runs = [len(one.rates) for one in timed]
    bars = f"Medians over {span_of(runs, 'run')}; {SPREAD}" if max(runs) > 1 else "1 run of each case: no interval"
    return Figure(
        key=key(record.id, "roofline", "tflops"),
        kind=FigureKind.ROOFLINE,
        title=f"{record.id}: one device under its roofline",
        x=PlotAxis(name="model FLOPs per byte of memory traffic", unit="FLOP/byte", log=True),
        y=PlotAxis(name="model FLOPs per second of one device", unit="TF/s", log=True),
        series=tuple(series),
        note=f"{bars}. Peaks as the rows report them; links between devices are not drawn.",
        entries=(record.id,),
        entry=record.id,
    )


def _roof(entry: str, flops: float, rate: float, left: float, right: float) -> PlotSeries:
    ridge = flops / rate
    places = [(left, rate * left), (ridge, flops), (right, flops)]
    said = f"{entry} peaks: {flops / 1e12:,.4g} TF/s and {rate / 1e9:,.4g} GB/s, which meet at {ridge:.4g} FLOP/byte"
    points = tuple(PlotPoint(x=x, y=y / 1e12, said=said, entry=entry) for x, y in places)
    name = f"roofline {flops / 1e12:,.4g} TF/s, {rate / 1e9:,.4g} GB/s"
    return PlotSeries(name=name, shape="rule", points=points, beside=True)


def _measured(entry: str, one: _Timed) -> PlotPoint:
    low, high = (min(one.rates), max(one.rates)) if len(one.rates) > 1 else (None, None)
    value, n = median(one.rates), len(one.rates)
    said = f"{entry} {one.name}: measured {shown(value, 'tflops', 'TF/s', low, high)} of one device, n={n}"
    return PlotPoint(
        x=one.work.intensity, y=value, low=low, high=high, n=n, said=cut_line(said, _SAID_CHARS), entry=entry
    )


def _timed(record: Record) -> Iterator[_Timed]:
    found: dict[Key, list[Row]] = {}
    for row in _rows(record):
        found.setdefault(row_key(row.config), []).append(row)
    configs = [rows[0].config for rows in found.values()]
    varied = [n for n in dict.fromkeys(n for c in configs for n in c) if len({str(c.get(n)) for c in configs}) > 1]
    for rows in found.values():
        seconds = [median(row.metrics[_TIME].samples) for row in rows]
        if (work := _work(rows[0])) is not None and all(math.isfinite(s) and s > 0 for s in seconds):
            told: dict[str, object] = {name: rows[0].config.get(name) for name in varied}
            rates = tuple(work.flops / s / 1e12 for s in seconds)
            yield _Timed(name=name_of(told) or "the case", work=work, rates=rates)


def _rows(record: Record) -> Iterator[Row]:
    """The rows of runs that finished, with the seconds of each call."""
    for status in record.runs:
        for row in status.run.rows if status.counts and status.state == "finished" else ():
            time = row.metrics.get(_TIME)
            if time is not None and time.samples and time.unit in (None, "s") and row.failed is None:
                yield row


def _work(row: Row) -> _Work | None:
    """The work of one device; None where the row does not say it."""
    seen = row.observations
    used = sum(device.used or 0 for device in row.devices)
    moved_by = "roofline_hbm_bytes", "model_bytes_per_device", *(["model_bytes"] if used == 1 else [])
    per_device = next((seen[name] for name in moved_by if seen.get(name)), None)
    numbers = [seen.get("flops"), per_device, seen.get("roofline_mxu_s"), seen.get("roofline_hbm_s")]
    flops, moved, mxu_s, hbm_s = (value if value and math.isfinite(value) and value > 0 else None for value in numbers)
    if not used or flops is None or moved is None or mxu_s is None or hbm_s is None:
        return None
    # To the digits that a published peak has, so that equal devices have one roof.
    return _Work(
        flops=flops / used,
        bytes=moved,
        peak_flops=float(f"{flops / used / mxu_s:.6g}"),
        peak_bytes=float(f"{moved / hbm_s:.6g}"),
    )
