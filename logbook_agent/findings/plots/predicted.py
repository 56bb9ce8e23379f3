"""Predicted times beside their bounds and what was measured, and measured rows under the roofline of their devices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.findings.plots.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries
from logbook_agent.findings.plots.sweep import SPREAD
from logbook_agent.findings.plots.words import NAME_CHARS, counted, is_wide, key, name_of, shortest, shown, span_of
from logbook_agent.findings.predictions.checked import Check
from logbook_agent.findings.predictions.rows import TIME, timed_rows
from logbook_agent.model.record import Record
from logbook_agent.model.run import Row
from logbook_agent.model.stats import median
from logbook_agent.text.markdown import cut_line

_WIDE = 30.0
_SAID_CHARS = 240


def predicted(entry_id: str, checks: Sequence[Check]) -> Figure | None:
    """What was predicted of the cases of an entry; None where no case has a time."""
    timed = [c for c in checks if c.fact["estimate"] is not None or c.fact["bound"]]
    if not timed:
        return None
    names = _names(timed)
    named = list(zip(names, timed, strict=True))
    bounds = [_time(entry_id, n, c, c.fact["bound"], "at least") for n, c in named if c.fact["bound"]]
    estimates = [
        _time(entry_id, n, c, c.fact["estimate"], "predicted", (c.fact["low"], c.fact["high"]))
        for n, c in named
        if c.fact["estimate"] is not None
    ]
    measured = [_time(c.by or entry_id, n, c, c.measured, "measured") for n, c in named if c.measured is not None]
    left, unfit = len(checks) - len(estimates), sum(not c.fact["fits"] for c in checks)
    notes = [
        f"{counted(len(estimates), 'predicted case')}; bars: range of the prediction",
        f"{counted(len(measured), 'case')} measured since, as medians over runs"
        if measured
        else "nothing measured yet",
        f"{counted(left, 'case')} without an estimate left out" if left else "",
        f"{counted(unfit, 'case')} predicted not to fit" if unfit else "",
    ]
    values = [p.y for p in (*bounds, *estimates, *measured)]
    return Figure(
        key=key(entry_id, "predicted", TIME),
        kind=FigureKind.PREDICTED,
        title=f"{entry_id}: predicted {'and measured ' if measured else ''}time per call",
        x=PlotAxis(name="case", names=names),
        y=PlotAxis(name=TIME, unit="s", log=is_wide(values, _WIDE)),
        series=tuple(
            PlotSeries(name=name, shape="points", points=tuple(points), beside=beside)
            for name, points, beside in (
                ("lower bound", bounds, True),
                ("predicted", estimates, False),
                ("measured", measured, False),
            )
            if points
        ),
        note="; ".join(filter(None, notes)) + ".",
        entries=tuple(dict.fromkeys((entry_id, *(c.by for c in timed if c.by is not None)))),
        entry=entry_id,
    )


def _names(checks: Sequence[Check]) -> tuple[str, ...]:
    """One for each, told apart by a number where they are the same."""
    found: list[str] = []
    for full in shortest([check.name for check in checks]):
        name, again = cut_line(full, NAME_CHARS) or "the case", 2
        while name in found:
            name = f"{cut_line(full, NAME_CHARS)} ({again})"
            again += 1
        found.append(name)
    return tuple(found)


def _time(
    entry: str,
    name: str,
    check: Check,
    seconds: float,
    what: str,
    ends: tuple[float | None, float | None] = (None, None),
) -> PlotPoint:
    n = check.runs if what == "measured" else 1
    runs = f", n={n}" if what == "measured" else ""
    said = f"{entry} {check.name}: {what} {shown(seconds, TIME, 's', *ends)}{runs}"
    return PlotPoint(x=name, y=seconds, low=ends[0], high=ends[1], n=n, said=cut_line(said, _SAID_CHARS), entry=entry)


# -- roofline ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timed:
    """A measured case of which the record holds the work and the least times. All are of one device: FLOPs, bytes of
    its memory, and their peaks per second. `seconds`: the median of each run."""

    name: str
    flops: float
    bytes: float
    peak_flops: float
    peak_bytes: float
    seconds: tuple[float, ...]
    key: str

    @property
    def intensity(self) -> float:
        return self.flops / self.bytes

    def rate(self, seconds: float) -> float:
        """TF/s of one device."""
        return self.flops / seconds / 1e12


def roofline(record: Record, predictions: Sequence[Check]) -> Figure | None:
    """The rows of an entry under the roofline of their devices, as bench-core reported it, and the predictions that
    they check. None where no row says the least times of its FLOPs and bytes."""
    timed = list(_timed(record))
    if not timed:
        return None
    roofs = {(one.peak_flops, one.peak_bytes): None for one in timed}
    low, high = (pick(one.intensity for one in timed) for pick in (min, max))
    ridges = [flops / rate for flops, rate in roofs]
    left, right = min(low, *ridges) / 2, max(high, *ridges) * 2
    series = [_roof(record.id, flops, rate, left, right) for flops, rate in roofs]
    series.append(PlotSeries(name="measured", shape="points", points=tuple(_measured(record.id, one) for one in timed)))
    points = [p for one in timed for p in _foretold(one, predictions)]
    if points:
        series.append(PlotSeries(name="predicted", shape="points", points=tuple(points)))
    runs = [len(one.seconds) for one in timed]
    bars = f"Medians over {span_of(runs, 'run')}; {SPREAD}" if max(runs) > 1 else "1 run of each case: no interval"
    range_ = "; bars of a prediction: its range" if points else ""
    return Figure(
        key=key(record.id, "roofline", "tflops"),
        kind=FigureKind.ROOFLINE,
        title=f"{record.id}: one device under its roofline",
        x=PlotAxis(name="model FLOPs per byte of memory traffic", unit="FLOP/byte", log=True),
        y=PlotAxis(name="model FLOPs per second of one device", unit="TF/s", log=True),
        series=tuple(series),
        note=f"{bars}{range_}. Peaks as the rows report them; links between devices are not drawn.",
        entries=tuple(dict.fromkeys((record.id, *(p.entry for p in points)))),
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
    rates = [one.rate(seconds) for seconds in one.seconds]
    low, high = (min(rates), max(rates)) if len(rates) > 1 else (None, None)
    value = median(rates)
    said = f"{entry} {one.name}: measured {shown(value, 'tflops', 'TF/s', low, high)} of one device, n={len(rates)}"
    return PlotPoint(
        x=one.intensity, y=value, low=low, high=high, n=len(rates), said=cut_line(said, _SAID_CHARS), entry=entry
    )


def _foretold(one: _Timed, predictions: Sequence[Check]) -> Iterator[PlotPoint]:
    for check in predictions:
        fact = check.fact
        if fact["key"] != one.key or fact["estimate"] is None:
            continue
        low, high = (None if fact[end] is None else one.rate(fact[end]) for end in ("high", "low"))
        value = one.rate(fact["estimate"])
        said = f"{check.entry} {check.name}: predicted {shown(value, 'tflops', 'TF/s', low, high)} of one device"
        yield PlotPoint(
            x=one.intensity, y=value, low=low, high=high, said=cut_line(said, _SAID_CHARS), entry=check.entry
        )


def _timed(record: Record) -> Iterator[_Timed]:
    found: dict[str, list[Row]] = {}
    for case, _, row in timed_rows(record):
        found.setdefault(case, []).append(row)
    configs = [rows[0].config for rows in found.values()]
    varied = [n for n in dict.fromkeys(n for c in configs for n in c) if len({str(c.get(n)) for c in configs}) > 1]
    for case, rows in found.items():
        work = _work(rows[0])
        if work is not None:
            told: Mapping[str, object] = {name: rows[0].config.get(name) for name in varied}
            seconds = tuple(median(row.metrics[TIME].samples) for row in rows)
            if all(math.isfinite(s) and s > 0 for s in seconds):
                flops, moved, per_s, bytes_per_s = work
                yield _Timed(
                    name=name_of(told) or "the case",
                    flops=flops,
                    bytes=moved,
                    peak_flops=per_s,
                    peak_bytes=bytes_per_s,
                    seconds=seconds,
                    key=case,
                )


def _work(row: Row) -> tuple[float, float, float, float] | None:
    """FLOPs, bytes and their peaks of one device; None where the row does not say them."""
    seen = row.observations
    used = sum(device.used or 0 for device in row.devices)
    per_device = seen.get("model_bytes_per_device") or (seen.get("model_bytes") if used == 1 else None)
    numbers = [seen.get("flops"), per_device, seen.get("roofline_mxu_s"), seen.get("roofline_hbm_s")]
    flops, moved, mxu_s, hbm_s = (value if value and math.isfinite(value) and value > 0 else None for value in numbers)
    if not used or flops is None or moved is None or mxu_s is None or hbm_s is None:
        return None
    # To the digits that a published peak has, so that equal devices have one roof.
    return flops / used, moved, float(f"{flops / used / mxu_s:.6g}"), float(f"{moved / hbm_s:.6g}")
