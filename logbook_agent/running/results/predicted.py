"""What a run that predicts has measured, and its predictions, each once.

A command that predicts a case prints a short line for it, too, as one that measures does. Such a line looks like a
measurement and is none; so beside a prediction lines make no rows. What such a command does measure it says in
RESULT_JSON, in a row without a prediction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from logbook_agent.model.codec import encode
from logbook_agent.model.run import PredictedRow, Row
from logbook_agent.running.results.lines import cut

_SHOWN = 5


def measured_only(rows: Sequence[Row], stated: int, loose: Sequence[Row], problem: Callable[[str], None]) -> list[Row]:
    """The first `stated` of the rows, which are JSON rows. A problem names the metrics of lines that are left out: of
    the other rows, and of METRIC lines (`loose`)."""
    left_out = dict.fromkeys(name for row in (*rows[stated:], *loose) for name in row.metrics)
    if left_out:
        names = [cut(name, 40) for name in list(left_out)[:_SHOWN]]
        more = f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
        problem(
            f"the command predicts, so {', '.join(names)}{more} on its RESULT and METRIC lines measure nothing and were"
            " left out; print what is measured as RESULT_JSON"
        )
    return list(rows[:stated])


def fold_predicted(rows: Sequence[PredictedRow]) -> tuple[PredictedRow, ...]:
    """Each of the rows once, in order of first report."""
    found: dict[str, PredictedRow] = {}
    for row in rows:
        found.setdefault(json.dumps(encode(row), sort_keys=True), row)
    return tuple(found.values())
