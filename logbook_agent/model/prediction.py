"""What a prediction is for the logbook: the one place that says which data are one.

A prediction is what `bench-core predict` says of a case that nobody ran. It has times and no measurement, stands in a
list of its own in a run (`Run.predictions`), and so no reader of measured rows can meet one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from bench_core.accounting.prediction import Prediction
from logbook_agent.model.codec import CodecError, decode

# No call of a block takes longer or shorter than this many seconds; ratios of such times are finite.
LONGEST_S, SHORTEST_S = 1e6, 1e-9
_MOST = 1_000_000
_MOST_TERMS = 1_000
KEYS = frozenset(f.name for f in dataclasses.fields(Prediction))


def prediction_of(plain: Mapping[str, object]) -> Prediction:
    """The prediction that these data say, as `Prediction.json` wrote them. Keys that it does not know are left out.

    Raises CodecError for data that are none: a type that does not fit, a time that is no time, an estimate outside of
    its own range, a range or a term without an estimate.
    """
    found = decode(Prediction, {key: value for key, value in plain.items() if key in KEYS})
    for name in ("estimate", "low", "high"):
        _check(name, getattr(found, name), SHORTEST_S)
    _check("bound", found.bound, 0.0)
    _check("hidden", found.hidden, 0.0)
    for name, value in found.terms.items():
        _check(f"terms.{name}", value, 0.0)
    if len(found.terms) > _MOST_TERMS:
        raise CodecError(f"expected at most {_MOST_TERMS}, got {len(found.terms)}", ".terms")
    for name, least in (("devices", 1), ("model", 0)):
        if not least <= getattr(found, name) <= _MOST:
            raise CodecError(f"expected a number from {least} to {_MOST:,}", f".{name}")
    _check_range(found)
    return found


def _check(name: str, value: float | None, least: float) -> None:
    if value is not None and not least <= value <= LONGEST_S:
        raise CodecError(f"expected {least:g} to {LONGEST_S:g} seconds, got {value:g}", f".{name}")


def _check_range(found: Prediction) -> None:
    low, estimate, high = found.low, found.estimate, found.high
    if estimate is None:
        given = next((name for name in ("low", "high") if getattr(found, name) is not None), None)
        if given is not None:
            raise CodecError("a range without an estimate", f".{given}")
    elif found.hidden > estimate:
        raise CodecError(f"{found.hidden:g} s of {estimate:g} s that are estimated", ".hidden")
    elif (low is not None and low > estimate) or (high is not None and high < estimate):
        raise CodecError(f"the estimate {estimate:g} is outside of its range {low} to {high}", ".estimate")
