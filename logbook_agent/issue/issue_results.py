"""Results in an issue: the table of entries, the best cases so far, and plots by their address at a pushed commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from logbook_agent.findings.best import SHOWN, BestCase
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.measurements import unit_of
from logbook_agent.findings.read import Findings
from logbook_agent.findings.thread import Thread
from logbook_agent.issue import inert
from logbook_agent.issue.values import Links
from logbook_agent.model.header import Metric
from logbook_agent.model.stats import median
from logbook_agent.model.summary import MeasuredMetric, Summary
from logbook_agent.pages.embedded import NamedPlot
from logbook_agent.store.names import PLOTS
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import assignments, counted

# More columns than this are no table that people read.
_MOST_METRICS = 12
_CASE_BYTES = 120
_SAME_BYTES = 600


def results(of: Findings, links: Links, only: Collection[str] | None = None) -> dict[str, object] | None:
    """The table of some entries (`only`; None: of all), of the newest that have room; None where there are none."""
    thread = of.thread
    found = [s for s in thread.summaries if s["settled"] and s["runs"] and (only is None or s["id"] in only)]
    if not found:
        return None
    metrics = [m.name for m in thread.header.metrics if m.primary][:_MOST_METRICS]
    same = _same(found)
    return {
        "columns": [inert.cell(name) for name in metrics] or ["Result"],
        "rows": [
            {"id": inert.entry_link(links, s["id"]), **_row(of, s, metrics, same)} for s in found[-inert.MOST_ITEMS :]
        ],
        "same": inert.words(assignments(same), _SAME_BYTES),
        "left_out": inert.left_out(links, len(found) - inert.MOST_ITEMS, "earlier entry", "earlier entries"),
    }


def _row(of: Findings, summary: Summary, metrics: Sequence[str], same: Collection[str]) -> dict[str, object]:
    state: str = summary["state"]
    if summary["failed_rows"]:
        state += f", {summary['failed_rows']:,} of {counted(summary['rows'], 'case')} failed"
    if (why := of.thread.standing[summary["id"]].why) != summary["state"]:
        state += f", {why}" if why else ""
    answer = of.comparisons.answer_of(summary["id"]) if summary["comparison"] is not None else None
    if answer is not None and answer.findings:
        cells = [_answer(answer, name) for name in metrics]
    else:
        cells = [_cell(summary["measured"].get(name), name) for name in metrics]
    return {
        "title": inert.cell(inert.words(summary["title"], inert.TITLE_BYTES)),
        "state": state,
        "confidence": summary["confidence"] or "",
        "cells": cells or [inert.cell(inert.words(summary["result"] or "", inert.TITLE_BYTES))],
        "case": _code_cell(words.asked(answer)) if answer and answer.findings else _cases(summary["measured"], same),
    }


def _same(summaries: Sequence[Summary]) -> dict[str, str]:
    """The config that the cases of several entries share."""
    found = [[t["config"] for m in s["measured"].values() for t in m.get("trials", ())] for s in summaries]
    configs = [config for one in found for config in one]
    if sum(map(bool, found)) < 2:
        return {}
    return {k: v for k, v in configs[0].items() if all(c.get(k) == v for c in configs)}


def _answer(answer: Answer, name: str) -> str:
    """What a comparison found of a side, with its change against the base; of several, how many came out how."""
    own = [f for f in answer.findings if f.metric == name]
    if not own:
        return "—"
    if len(own) > 1:
        outcomes = Counter("failed" if f.failed_side else f.outcome.value for f in own)
        return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    [f] = own
    if f.failed_side:
        return f"{inert.cell(inert.words(words.subject(answer, f.failed_side), _CASE_BYTES))} failed"
    spread = (f.other.high or 0.0) - (f.other.low or 0.0)
    value = "?" if f.other.median is None else _no_pipe(inert.number(name, f.other.median, f.unit, spread))
    said = f"{words.signed(f.change)}, {f.outcome.value}"
    side = inert.cell(inert.words(words.subject(answer, f.side), _CASE_BYTES))
    return f"{side}: {value} ({f'**{said}**' if f.is_settled and not f.is_watched else said})"


def _cell(found: MeasuredMetric | None, name: str) -> str:
    """The median run of an entry's case; of several cases, and where no run finished, the span of the values."""
    if found is None or "low" not in found:
        return "—"
    trials = found.get("trials", ())
    if len(trials) == 1:
        [values] = [trial["values"] for trial in trials]
        text = _no_pipe(inert.number(name, median(values), found["unit"]))
        return text + (f" (median of {len(values):,} runs)" if len(values) > 1 else "")
    low, high = (inert.number(name, found[key], None) for key in ("low", "high"))
    unit = f" {inert.cell(found['unit'])}" if found["unit"] else ""
    about = f"{', '.join(found['states'])}, not counted" if "states" in found else f"{found['cases']:,} cases"
    return f"{low if low == high else f'{low} .. {high}'}{unit} ({about})"


def _cases(measured: Mapping[str, MeasuredMetric], same: Collection[str]) -> str:
    """The case of an entry, without what all share; nothing of several cases."""
    trials = [trial for found in measured.values() for trial in found.get("trials", ())]
    if len({trial["key"] for trial in trials}) != 1:
        return ""
    config = {**trials[0]["config"], **trials[0]["apart"]}
    text = assignments({name: value for name, value in config.items() if name not in same})
    return _code_cell(inert.words(", ".join(filter(None, [trials[0]["label"], text])), _CASE_BYTES))


def _code_cell(text: str) -> str:
    return _no_pipe(md.inline_code(text)) if text else ""


def _no_pipe(text: str) -> str:
    """Markdown that cannot end a cell; a backslash before a pipe counts in code spans of a table, too."""
    return text.replace("|", "\\|")


# Of those that measured one case.
_MOST_ENTRIES = 4
_BETTER = {"max": "higher is better", "min": "lower is better"}


def best_lines(best: Sequence[BestCase], thread: Thread, links: Links) -> list[dict[str, object]]:
    """One line for the best case of each problem."""
    return [_line(one, thread, links) for one in best[:SHOWN]]


def _line(best: BestCase, thread: Thread, links: Links) -> dict[str, object]:
    shown = [inert.entry_link(links, entry) for entry in best.entries[:_MOST_ENTRIES]]
    more = [f"{len(best.entries) - len(shown)} more"] if len(best.entries) > len(shown) else []
    state = thread.by_id[best.entries[0]]["state"] if len(best.entries) == 1 else ""
    unit = best.unit or unit_of(Metric(name=best.metric))
    low, high = (inert.number(best.metric, end, None, best.high - best.low) for end in (best.low, best.high))
    notes = [
        state if state not in ("finished", "noted") else "",
        _BETTER[best.direction],
        "the baseline" if best.is_baseline else best.against,
        "a single run" if best.runs == 1 else f"median of {counted(best.runs, 'run')} [{low}, {high}]",
        f"of {counted(best.cases, 'case')}" if best.cases > 1 else "",
    ]
    return {
        "metric": md.inline_code(best.metric),
        "value": inert.number(best.metric, best.value, unit, best.high - best.low),
        "entry": ", ".join([*shown, *more]),
        "notes": [note for note in notes if note],
        "case": inert.words(case_text(best)),
    }


def case_text(best: BestCase) -> str:
    """Label, the keys of the problem and of the case in front of its other config, and whatever else tells it apart."""
    config: Mapping[str, str] = {**best.problem, **best.flags, **best.config, **best.apart}
    return ", ".join(text for text in (best.label, assignments(config)) if text)


# Of one entry, so that a comment about several has room for them.
_MOST_PLOTS = 6
_MOST_FILES = 10


def pictures(links: Links, plots: Sequence[NamedPlot]) -> list[str]:
    """Each plot as a picture, or where others cannot see it, its title with why."""
    more = inert.left_out(links, max(0, len(plots) - _MOST_PLOTS), "more plot", "more plots")
    return [*(_picture(links, plot) for plot in plots[:_MOST_PLOTS]), *([more] if more else [])]


def all_pictured(links: Links, plots: Sequence[NamedPlot], left: Sequence[LeftFile] = ()) -> bool:
    """Whether there are pictures, and all plots are shown. (Files that runs left are shown where they are in git.)"""
    found = [_address(links, plot) for plot in plots]
    pushed = (links.files.get(file.path or "") for file in left[:_MOST_FILES] if file.is_picture)
    found += filter(None, pushed)
    return bool(found) and all(found)


class LeftFile(Protocol):
    """A file that a run left, of the feature that keeps them. `path` is its copy in the folder of the logbook."""

    run: int
    name: str
    about: str
    digest: str
    path: str | None
    is_picture: bool


def files(links: Links, found: Sequence[LeftFile]) -> list[str]:
    """Each file with its size and digest: linked where its copy is pushed, and as a picture where it is one."""
    more = inert.left_out(links, max(0, len(found) - _MOST_FILES), "more file", "more files")
    return [*(_file(links, file) for file in found[:_MOST_FILES]), *([more] if more else [])]


def _file(links: Links, file: LeftFile) -> str:
    name = inert.words(file.name)
    about = inert.escape(inert.words(f"{file.about}, run {file.run}"))
    address = links.files.get(file.path or "")
    if address is None:
        return f"{inert.escape(name)} ({about}, sha256 {file.digest[:16]})"
    return f"{inert.link(name, address)} ({about})" + (f"\n\n!{inert.link(name, address)}" if file.is_picture else "")


def _picture(links: Links, plot: NamedPlot) -> str:
    title = inert.words(plot.title)
    address = _address(links, plot)
    if address is not None:
        return f"!{inert.link(title, address)}"
    pushed = links.why if links.commit is None else "not pushed"
    return f"Not shown ({inert.escape(inert.words(plot.missing or pushed))}): {inert.escape(title)}"


def _address(links: Links, plot: NamedPlot) -> str | None:
    return None if plot.missing else links.files.get(f"{PLOTS}/{plot.key}.svg")
