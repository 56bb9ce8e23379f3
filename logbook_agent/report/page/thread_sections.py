"""The values of the templates of the sections about the whole thread."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from datetime import datetime

from markupsafe import Markup

from logbook_agent import __version__
from logbook_agent.findings.best import SHOWN as SHOWN_BEST
from logbook_agent.findings.best import BestCase, bests, choices
from logbook_agent.findings.opening import SHOWN_FAILED, Failed, InWords, Opening
from logbook_agent.model.entry import VOID
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.summary import Summary
from logbook_agent.model.units import with_unit
from logbook_agent.pages.blocks import baseline_text, header_values
from logbook_agent.report.figures.catalogue import of_thread
from logbook_agent.report.figures.figure import FigureKind
from logbook_agent.report.page.comparison_section import comparison_values
from logbook_agent.report.page.entry_section import Around
from logbook_agent.report.page.pictures import pictures
from logbook_agent.report.page.results_section import results
from logbook_agent.text.as_html import is_web
from logbook_agent.text.markdown import cut_line, cut_sentence, escape, lead, one_line
from logbook_agent.text.phrases import counted
from logbook_agent.text.shell_words import assignments
from logbook_agent.text.times import minute, stamp

_SHOWN_WARNINGS = 10
# Of many, the newest ones; the others are folded.
_SHOWN_ENTRIES, _SHOWN_LINES, _SHOWN_MOMENTS = 6, 20, 100
# In the box at the top, which is to be read at a glance: settled and open comparisons; characters of a text.
_SHOWN_FOUND, _SHOWN_LEFT = 3, 1
_WORDS_CHARS, _FAILED_CHARS = 600, 240

Lines = list[dict[str, object]]


def values(around: Around, damaged: Sequence[str]) -> Iterator[tuple[str, dict[str, object]]]:
    """The sections of the thread by name, in the order of the page. `damaged` says what could not be read."""
    yield "summary", _summary(around, damaged)
    yield "comparisons", comparison_values(around)
    yield "criteria", {"criteria": [_criterion(around, c) for c in around.findings.header.stop_criteria]}
    best = choices(bests(around.findings.thread, around.findings.answers))
    yield "best", {"best": [*map(_best, best[:SHOWN_BEST])]}
    yield "plots", _plots(around)
    yield "open", {"groups": list(_open(around))}
    yield "timeline", _timeline(around)
    yield "results", results(around)


def _plots(around: Around) -> dict[str, object]:
    """The curves and plots of the whole thread, and where those of its entries are."""
    charts = around.curves.of_thread()
    # All comparisons stand above, as rows of the page.
    found = pictures((f for f in of_thread(around.findings) if f.kind is not FigureKind.FOREST), most=None)
    left = len(around.ids) - len(around.drawn)
    note = (
        f"Only the newest {len(around.drawn)} entries show their plots; logbook plot ID draws those of the others."
        if left
        else None
    )
    return {"charts": charts, "figures": found, "note": note if found else None}


def foot(header: Header, now: datetime) -> str:
    """The last line of a page."""
    made = f"{minute(stamp(now), header.zone)} ({header.zone})"
    return f"Generated {made} from the records of {header.topic} by logbook-agent {__version__}."


def _summary(around: Around, damaged: Sequence[str]) -> dict[str, object]:
    findings, header = around.findings, around.findings.header
    first, closing = findings.opening, header.closing
    doubts = [*findings.doubts, *(f"cannot be read: {message}" for message in damaged[:_SHOWN_WARNINGS])]
    if len(damaged) > _SHOWN_WARNINGS:
        doubts.append(f"{len(damaged) - _SHOWN_WARNINGS:,} more cannot be read: logbook doctor names them")
    return {
        "title": one_line(header.title),
        **answer_values(around, first),
        "limitations": [around.html(text) for text in closing.limitations] if closing is not None else (),
        "counts": counts(header, findings.summaries, len(damaged)),
        "closed": minute(closing.at, header.zone) if closing is not None else None,
        "warnings": doubts,
        "scope": _scope(around),
        "links": links(header),
    }


def answer_values(around: Around, first: Opening) -> dict[str, object]:
    """The box at the top: what was asked, found and left open, what comes next, what failed."""
    left = [*first.left, *(one for one in first.found if one.why)]
    return {
        "asked": _shortened(around, first.asked),
        "found": first.found[:_SHOWN_FOUND],
        "more_found": max(0, len(first.found) - _SHOWN_FOUND),
        "not_settled": first.not_settled,
        "in_words": [_in_words(around, one) for one in first.in_words],
        "best": first.best,
        "left": left[:_SHOWN_LEFT],
        "more_left": max(0, len(left) - _SHOWN_LEFT),
        "command": first.command,
        "to_compare": "No comparison was started. To begin, for example:",
        "nothing_open": _nothing_open(first),
        "next": around.line(first.next),
        "next_of": first.next_of,
        "negative": _entries(around, first.negative),
        "more_negative": max(0, len(first.negative) - SHOWN_FAILED),
        "failed": _entries(around, first.failed),
        "more_failed": max(0, len(first.failed) - SHOWN_FAILED),
        "no_failure": _no_failure(sum(s["runs"] for s in around.findings.summaries if s["state"] != VOID)),
    }


def _entries(around: Around, found: Sequence[Failed]) -> list[dict[str, object]]:
    return [
        {"entry": one.entry, "title": one_line(one.title), "text": around.line(cut_sentence(one.text, _FAILED_CHARS))}
        for one in found[:SHOWN_FAILED]
    ]


def _no_failure(runs: int) -> str:
    if runs < 2:
        return "The one run did not fail." if runs else "Nothing ran yet."
    return f"None of the {counted(runs, 'run')} failed."


def _nothing_open(first: Opening) -> str:
    """What stands where no open comparison and no command does."""
    if first.left or first.command or any(one.why for one in first.found):
        return ""
    return (
        "No comparison was started; the next step says what to measure."
        if first.not_settled
        else "No comparison is open."
    )


def _in_words(around: Around, one: InWords) -> dict[str, object]:
    return {"kind": one.kind, "entry": one.entry, "note": one.note, **_shortened(around, one.text)}


def _shortened(around: Around, text: str) -> dict[str, object]:
    """What a person wrote as `html`, with the whole of a long text as `rest`."""
    if len(text) <= _WORDS_CHARS:
        return {"html": around.html(text), "rest": ""}
    return {"html": around.html(cut_line(lead(text), _WORDS_CHARS)), "rest": around.html(text)}


def counts(header: Header, summaries: Sequence[Summary], unreadable: int) -> list[tuple[str, str]]:
    """The facts below a title, each a name with its number. `unreadable`: how many entries are left out."""
    runs = sum(s["runs"] for s in summaries)
    found = [
        (f"entr{'y' if len(summaries) == 1 else 'ies'}", f"{len(summaries):,}"),
        (f"run{'s' * (runs != 1)}", f"{runs:,}"),
    ]
    if unreadable:
        found.append(("cannot be read", f"{unreadable:,}"))
    if header.stop_criteria:
        met = sum(c.met for c in header.stop_criteria)
        found.append(("criteria met", f"{met} of {len(header.stop_criteria)}"))
    if summaries:
        found.append(("last entry", minute(summaries[-1]["opened"], header.zone)))
    return found


def _scope(around: Around) -> list[tuple[str, list[Markup]]]:
    """Metrics, constraints, baseline and matrix of the thread, as labels with texts."""
    header = around.findings.header
    told = header_values(header)
    baseline = [escape(baseline_text(header.baseline, header.metrics))] if header.baseline is not None else []
    moves = [f"{m['at']}: {m['reason']}; before: {escape(m['before'])}" for m in told["baseline_moves"]]
    matrix = [" ".join(t for t in (f"`{a.axis}`:", ", ".join(a.values), a.text or "") if t) for a in header.matrix]
    found = {
        "Metrics": [*told["metrics"], *told["secondary_metrics"]],
        "Gates": list(map(escape, told["gates"])),
        "Constraints": header.constraints,
        "Baseline": baseline,
        "Baseline moved": moves,
        "Matrix": matrix,
    }
    return [(label, [around.html(text) for text in texts]) for label, texts in found.items()]


def links(header: Header) -> list[dict[str, object]]:
    """The links of a header; those to http(s) are live."""
    return [{**link, "live": is_web(link["url"])} for link in header_values(header)["links"]]


def _criterion(around: Around, criterion: Criterion) -> dict[str, object]:
    judgement, computed = criterion.judgement, criterion.computed
    why = []
    if judgement is not None:
        word = "met" if judgement.met else "not met"
        why.append(around.line(f"judged {word} by {escape(judgement.by)}: {judgement.evidence}"))
    if criterion.doubt is not None:
        why.append(around.line(escape(criterion.doubt)))
    if computed is not None:
        why.append(around.line(escape(f"computed: {computed.text}")))
    if criterion.met:
        word = "met"
    elif judgement is None and computed is not None:
        word = "open" if computed.state == "unmet" else computed.state
    else:
        word = "not met" if judgement is not None else "open"
    return {"word": word, "text": around.html(criterion.text), "why": why}


def _best(best: BestCase) -> dict[str, object]:
    (value, low, high), unit = with_unit((best.value, best.low, best.high), best.unit, best.metric)
    config = {**best.problem, **best.flags, **best.config, **best.apart}
    return {
        "metric": best.metric,
        "value": value,
        "unit": unit,
        "range": f"{low} to {high}" if best.runs > 1 else "",
        "runs": best.runs,
        "entries": best.entries[-_SHOWN_ENTRIES:],
        "more_entries": max(0, len(best.entries) - _SHOWN_ENTRIES),
        "notes": [
            *(["the baseline"] if best.is_baseline else [best.against] if best.against else []),
            f"best of {best.cases} cases",
        ],
        "case": " ".join(t for t in (best.label, assignments(config)) if t),
    }


def _open(around: Around) -> Iterator[tuple[str, Lines, Lines]]:
    """Lists of entries, those that are not empty, each with the lines that are shown and the earlier ones."""
    findings = around.findings
    groups = (
        ("Unfinished", [_line(around, s, None, state=s["state"]) for s in findings.thread.open]),
        ("Next actions", [_line(around, s, s["next"]) for s in findings.thread.next_actions]),
        ("Decisions", [_line(around, s, s["decision"]) for s in findings.thread.decisions]),
        ("Negative results", [_line(around, s, s["negative"]) for s in findings.thread.negative]),
    )
    return ((label, lines[-_SHOWN_LINES:], lines[:-_SHOWN_LINES]) for label, lines in groups if lines)


def _line(around: Around, summary: Summary, text: str | None, *, state: str | None = None) -> dict[str, object]:
    later = around.findings.thread.superseded_by(summary["id"])
    return {
        "id": summary["id"],
        "title": one_line(summary["title"]),
        "text": around.line(text) if text else None,
        "state": state,
        "later": later,
    }


def _timeline(around: Around) -> dict[str, object]:
    """The days of the newest entries, and those before."""
    days = _days(around)
    counts = [*itertools.accumulate(len(moments) for _, moments in reversed(days))]
    shown = sum(count < _SHOWN_MOMENTS for count in counts) + 1
    earlier = days[:-shown]
    return {"days": days[-shown:], "earlier": earlier, "earlier_count": sum(len(moments) for _, moments in earlier)}


def _days(around: Around) -> list[tuple[str, list[dict[str, object]]]]:
    zone = around.findings.header.zone
    told = [(minute(s["opened"], zone), s) for s in around.findings.summaries]
    return [
        (day, [_moment(around, when, s) for when, s in group])
        for day, group in itertools.groupby(told, key=lambda one: one[0][:10])
    ]


def _moment(around: Around, when: str, summary: Summary) -> dict[str, object]:
    return {
        "id": summary["id"],
        "time": when[11:],
        "title": one_line(summary["title"]),
        "state": summary["state"],
        "later": around.findings.thread.superseded_by(summary["id"]),
        "result": one_line(summary["result"] or ""),
    }
