"""Predictions in words that nobody takes for a measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logbook_agent.text.markdown import cut_line

if TYPE_CHECKING:
    from bench_core.accounting.prediction import Outcome, Prediction

_REFUSED_CHARS = 300
_SHOWN_UNKNOWN = 5
# Seconds in a unit, and its name.
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def seconds_text(*seconds: float) -> list[str]:
    """The times in the unit of the first, `7.9 ms`, `6.1` and `10.3`: the unit stands once."""
    scale, unit = next(((s, u) for s, u in _UNITS if seconds[0] >= s), _UNITS[-1])
    first, *others = (_digits(value / scale) for value in seconds)
    return [f"{first} {unit}", *others]


def _digits(value: float) -> str:
    """Three digits, and all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def short_text(said: Prediction) -> str:
    """`7.9 ms (6.1 to 10.3)`; why there is no estimate where there is none."""
    if said.estimate is None:
        return f"nothing: {cut_line(said.refused or 'no reason was given', _REFUSED_CHARS)}"
    if said.low is None or said.high is None:
        return seconds_text(said.estimate)[0]
    time, low, high = seconds_text(said.estimate, said.low, said.high)
    return f"{time} ({low} to {high})"


def predicted_text(said: Prediction) -> str:
    """`predicted 7.9 ms (6.1 to 10.3), at least 3.0 ms; VMEM not checked; libtpu 0.0.42.1, calibration NAME; ...`."""
    return "; ".join(predicted_parts(said))


def predicted_parts(said: Prediction) -> list[str]:
    """The parts of this text: the times, then what predictions of one entry mostly share."""
    times = f"predicted {short_text(said)}"
    if said.bound is not None:
        times += f", at least {seconds_text(said.bound)[0]}" if said.bound > 0 else ""
    memory = [] if said.fits is None else ["fits into HBM" if said.fits else "does not fit into HBM"]
    calibration = f"calibration {said.calibration}" if said.calibration is not None else "not calibrated"
    parts = [
        times,
        ", ".join([*memory, f"VMEM {said.vmem}"]),
        f"libtpu {said.libtpu}, {calibration}",
        f"model {said.model}, {said.devices} x {said.device_kind} of {said.target}",
    ]
    if said.unknown:
        shown = ", ".join(said.unknown[:_SHOWN_UNKNOWN])
        more = len(said.unknown) - _SHOWN_UNKNOWN
        parts.append(f"operations that the model does not know: {shown}" + (f" and {more} more" if more > 0 else ""))
    return [cut_line(part, _REFUSED_CHARS) for part in parts]


def terms_text(said: Prediction) -> str:
    """`grouped_matmul 4.1 ms, send 2.3 ms`: what the estimate adds up from, the largest first, without what is 0; empty
    where that is not told."""
    ordered = sorted(((name, value) for name, value in said.terms.items() if value), key=lambda term: -term[1])
    return ", ".join(f"{cut_line(name, 60)} {seconds_text(value)[0]}" for name, value in ordered)


def outcome_text(outcome: Outcome) -> str:
    """`wins, 1.31 times as fast by the model (from 1.2 on a direction is claimed)`."""
    ratio = f", {outcome.ratio:.2f} times as fast by the model" if outcome.ratio is not None else ""
    return f"{outcome.word.value}{ratio} ({cut_line(outcome.why, _REFUSED_CHARS)})"
