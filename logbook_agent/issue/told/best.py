"""The best results so far, as `findings.best` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logbook_agent.findings.best import SHOWN, BestCase
from logbook_agent.findings.measurements import unit_of
from logbook_agent.findings.thread import Thread
from logbook_agent.issue.told.texts import counted, entry_link, number, words
from logbook_agent.model.header import Metric
from logbook_agent.text import markdown as md
from logbook_agent.text.links import Links
from logbook_agent.text.words import assignments

_CASE_BYTES = 300
# Of those that measured one case.
_MOST_ENTRIES = 4
_BETTER = {"max": "higher is better", "min": "lower is better"}


def best_lines(best: Sequence[BestCase], thread: Thread, links: Links) -> list[dict[str, Any]]:
    """One line for the best case of each problem."""
    return [_line(one, thread, links) for one in best[:SHOWN]]


def _line(best: BestCase, thread: Thread, links: Links) -> dict[str, Any]:
    shown = [entry_link(links, entry) for entry in best.entries[:_MOST_ENTRIES]]
    more = [f"{len(best.entries) - len(shown)} more"] if len(best.entries) > len(shown) else []
    state = thread.by_id[best.entries[0]]["state"] if len(best.entries) == 1 else ""
    unit = best.unit or unit_of(Metric(name=best.metric))
    low, high = (number(best.metric, end, None, best.high - best.low) for end in (best.low, best.high))
    notes = [
        state if state not in ("finished", "noted") else "",
        _BETTER[best.direction],
        "the baseline" if best.is_baseline else best.against,
        "a single run" if best.runs == 1 else f"median of {counted(best.runs, 'run')} [{low}, {high}]",
        f"of {counted(best.cases, 'case')}" if best.cases > 1 else "",
    ]
    return {
        "metric": md.inline_code(best.metric),
        "value": number(best.metric, best.value, unit, best.high - best.low),
        "entry": ", ".join([*shown, *more]),
        "notes": [note for note in notes if note],
        "case": words(case_text(best), _CASE_BYTES),
    }


def case_text(best: BestCase) -> str:
    """Label, the keys of the problem and of the case in front of its other config, and whatever else tells it apart."""
    config: Mapping[str, str] = {**best.problem, **best.flags, **best.config, **best.apart}
    left = [f"and {counted(best.config_left_out, 'more key')}"] if best.config_left_out else []
    return ", ".join(text for text in (best.label, " ".join([assignments(config), *left])) if text)
