"""Predictions, read from the plain data of a run.

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
KEYS = frozenset(f.name for f in dataclasses.fields(Prediction))


def prediction_of(plain: Mapping[str, object]) -> Prediction:
    """The prediction that these data say, as `Prediction.json` wrote them. Keys that it does not know are left out.

    Raises CodecError for data that are none: a type that does not fit, or a time that is no time.
    """
    found = decode(Prediction, {key: value for key, value in plain.items() if key in KEYS})
    times = {"estimate": found.estimate, "low": found.low, "high": found.high}
    parts = {"bound": found.bound, "hidden": found.hidden, **{f"terms.{name}": s for name, s in found.terms.items()}}
    for least, seconds in ((SHORTEST_S, times), (0.0, parts)):
        for name, value in seconds.items():
            if value is not None and not least <= value <= LONGEST_S:
                raise CodecError(f"expected {least:g} to {LONGEST_S:g} seconds, got {value:g}", f".{name}")
    return found
