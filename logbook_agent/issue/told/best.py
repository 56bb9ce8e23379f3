"""The best results so far, as `findings.best` has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from logbook_agent.findings.best import CaseBest, MetricBest, bests
from logbook_agent.findings.measured import baseline_cases, unit_of
from logbook_agent.findings.thread import Thread
from logbook_agent.issue.told.texts import counted, entry_link, number, words
from logbook_agent.model.header import Metric
from logbook_agent.text import markdown as md
from logbook_agent.text.links import Links

_CASE_BYTES = 300
# Of those that measured one case.
_MOST_ENTRIES = 4
_BETTER = {"max": "higher is better", "min": "lower is better"}


def best_lines(thread: Thread, links: Links) -> list[dict[str, Any]]:
    """One line for each best case of a primary metric with a direction."""
    has_baseline = bool(baseline_cases(thread.header))
    found = []
    for best in bests(thread):
        found += [_line(thread, best, top, links, "the baseline's case") for top in best.of_baseline.values()]
        about = "not the baseline's case" if has_baseline else ""
        found += [_line(thread, best, best.other, links, about)] if best.other is not None else []
    return found


def _line(thread: Thread, of: MetricBest, best: CaseBest, links: Links, about: str) -> dict[str, Any]:
    entries, metric = best["entries"], of.metric
    shown = [entry_link(links, i) for i in entries[:_MOST_ENTRIES]]
    more = [f"{len(entries) - len(shown)} more"] if len(entries) > len(shown) else []
    summary = thread.by_id[best["entry"]]
    # What is the median of several entries is in the state of none of them, and no surer than each.
    one = len(entries) == 1
    notes = [_BETTER[str(metric.direction)], about, _evidence(metric, best)]
    if one and summary["state"] not in ("finished", "noted"):
        notes.insert(0, summary["state"])
    if of.unranked:
        cases = counted(of.unranked, "case")
        notes.append(f"{cases} of sweeps {'is' if of.unranked == 1 else 'are'} not ranked, for want of a fresh run")
    spread = best["high"] - best["low"]
    return {
        "metric": md.inline_code(metric.name),
        "value": number(metric.name, best["value"], best["unit"] or unit_of(metric), spread),
        "entry": ", ".join([*shown, *more]),
        "notes": [note for note in notes if note],
        "case": words(case_text(best), _CASE_BYTES),
    }


def case_text(best: Mapping[str, Any], *, without: Collection[str] = ()) -> str:
    """Label, config and whatever else tells a case apart, without the keys of `without`."""
    found = [f"{name}={value}" for name, value in best["config"].items() if name not in without]
    found += [f"{name}={text}" for name, text in best["apart"].items()]
    if best["config_left_out"]:
        found.append(f"and {counted(best['config_left_out'], 'more key')}")
    return ", ".join(t for t in (best["label"], " ".join(found)) if t)


def _evidence(metric: Metric, best: Mapping[str, Any]) -> str:
    run = "fresh run" if best.get("fresh") or best.get("in_sweep") is not None else "run"
    if best["runs"] == 1:
        return f"a single {run}"
    low, high = (number(metric.name, best[key], None, best["high"] - best["low"]) for key in ("low", "high"))
    entries = f" in {len(best['entries'])} entries" if len(best.get("entries", ())) > 1 else ""
    return f"median of {counted(best['runs'], run)}{entries} [{low}, {high}]"
