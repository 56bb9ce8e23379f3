"""The values of the templates of the sections about the whole thread."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from datetime import datetime

from markupsafe import Markup

from logbook_agent import __version__
from logbook_agent.findings.best import SHOWN as SHOWN_BEST
from logbook_agent.findings.best import BestCase, bests
from logbook_agent.findings.cases import cases, without_mended
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.words import about, method, sentence
from logbook_agent.findings.comparisons import SHOWN
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.summary import Summary
from logbook_agent.model.units import format_value, known
from logbook_agent.pages.blocks import baseline_text, header_values
from logbook_agent.report.figures.catalogue import of_thread
from logbook_agent.report.page.entry_section import Around
from logbook_agent.report.page.pictures import pictures, why_not
from logbook_agent.text.as_html import is_web
from logbook_agent.text.markdown import escape, one_line
from logbook_agent.text.shell_words import assignments
from logbook_agent.text.times import minute, stamp

_SHOWN_ROWS = 500
_SHOWN_WARNINGS = 10


def values(around: Around, damaged: Sequence[str]) -> Iterator[tuple[str, dict[str, object]]]:
    """The sections of the thread by name, in the order of the page. `damaged` says what could not be read."""
    yield "summary", _summary(around, damaged)
    yield "criteria", {"criteria": [_criterion(around, c) for c in around.findings.header.stop_criteria]}
    best = bests(around.findings.thread, around.findings.answers)
    yield "best", {"best": [*map(_best, best[:SHOWN_BEST])]}
    yield "plots", _plots(around)
    yield "open", {"groups": list(_open(around))}
    yield "timeline", {"days": _days(around)}
    yield "results", _results(around)


def _plots(around: Around) -> dict[str, object]:
    """The curves and plots of the whole thread, and where those of its entries are."""
    charts = around.curves.of_thread()
    if (why := why_not(len(around.ids))) is not None:
        return {"charts": charts, "figures": (), "note": why}
    found = pictures(of_thread(around.findings), most=None)
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
    first, cards = findings.opening, _answers(around)
    doubts = [*findings.doubts, *(f"cannot be read: {message}" for message in damaged[:_SHOWN_WARNINGS])]
    if len(damaged) > _SHOWN_WARNINGS:
        doubts.append(f"{len(damaged) - _SHOWN_WARNINGS:,} more cannot be read: logbook doctor names them")
    return {
        "title": one_line(header.title),
        "asked": around.html(first.asked) if header.goal else None,
        "not_settled": first.not_settled,
        "command": first.command,
        "cards": cards[:SHOWN],
        "more_cards": max(0, len(cards) - SHOWN),
        "next_of": first.next_of,
        "next": around.line(first.next),
        "counts": counts(header, findings.summaries, len(damaged)),
        "words": around.html(header.summary) if header.summary else None,
        "closed": _closed(around),
        "warnings": doubts,
        "scope": _scope(around),
        "links": links(header),
    }


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


def card_values(answer: Answer, title: str) -> dict[str, object]:
    """The card of a comparison: a row for each finding, and how it was found."""
    rows = [
        {
            "outcome": finding.outcome.value,
            "text": sentence(answer, finding),
            "notes": [*finding.left_out, *finding.notes],
            "to_settle": "" if finding.to_settle in sentence(answer, finding) else f"needs {finding.to_settle}",
        }
        for finding in answer.findings[:SHOWN]
    ]
    return {
        "entry": answer.entry,
        "title": one_line(title),
        "rows": rows,
        "more": max(0, len(answer.findings) - SHOWN),
        "about": [*about(answer), *method(answer)],
    }


def _answers(around: Around) -> list[dict[str, object]]:
    """A card for each comparison that has findings: the settled ones first, of these the latest."""
    findings = around.findings
    commands = {line.entry: line.command for line in findings.opening.open if line.command}
    found = [a for a in reversed(findings.answers) if a.findings]
    return [
        card_values(answer, findings.thread.by_id[answer.entry]["title"]) | {"command": commands.get(answer.entry)}
        for answer in sorted(found, key=lambda a: not any(f.is_settled for f in a.findings))
    ]


def _closed(around: Around) -> dict[str, object] | None:
    closing = around.findings.header.closing
    if closing is None:
        return None
    return {
        "at": minute(closing.at, around.findings.header.zone),
        "conclusion": around.html(closing.conclusion),
        "limitations": [around.html(text) for text in closing.limitations],
    }


def _scope(around: Around) -> list[tuple[str, list[Markup]]]:
    """Metrics, constraints, baseline and matrix of the thread, as labels with texts."""
    header = around.findings.header
    told = header_values(header)
    baseline = [escape(baseline_text(header.baseline, header.metrics))] if header.baseline is not None else []
    moves = [f"{m['at']}: {m['reason']}; before: {escape(m['before'])}" for m in told["baseline_moves"]]
    matrix = [" ".join(t for t in (f"`{a.axis}`:", ", ".join(a.values), a.text or "") if t) for a in header.matrix]
    found = {
        "Metrics": [*told["metrics"], *told["secondary_metrics"]],
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
        evidence = f" [{computed.runs_text}]" if computed.evidence else ""
        why.append(around.line(escape(f"computed: {computed.state}, {computed.reason}{evidence}")))
    if criterion.met:
        word = "met"
    elif judgement is None and computed is not None:
        word = "open" if computed.state == "unmet" else computed.state
    else:
        word = "not met" if judgement is not None else "open"
    return {"word": word, "text": around.html(criterion.text), "why": why}


def _best(best: BestCase) -> dict[str, object]:
    def told(value: float) -> str:
        return format_value(value, decimals=known(best.metric).decimals)

    config = {**best.problem, **best.flags, **best.config, **best.apart}
    return {
        "metric": best.metric,
        "value": told(best.value),
        "unit": best.unit,
        "range": f"{told(best.low)} to {told(best.high)}" if best.runs > 1 else "",
        "runs": best.runs,
        "entries": best.entries,
        "notes": [
            *(["the baseline"] if best.is_baseline else [best.against] if best.against else []),
            *([f"best of {best.cases} cases"] if best.cases > 1 else ["the only case"]),
        ],
        "case": " ".join(t for t in (best.label, assignments(config)) if t),
    }


def _open(around: Around) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """Lists of entries, those that are not empty."""
    findings = around.findings
    groups = (
        ("Unfinished", [_line(around, s, None, state=s["state"]) for s in findings.thread.open]),
        ("Next actions", [_line(around, s, s["next"]) for s in findings.thread.next_actions]),
        ("Decisions", [_line(around, s, s["decision"]) for s in findings.thread.decisions]),
        ("Negative results", [_line(around, s, s["negative"]) for s in findings.thread.negative]),
    )
    return ((label, lines) for label, lines in groups if lines)


def _line(around: Around, summary: Summary, text: str | None, *, state: str | None = None) -> dict[str, object]:
    later = around.findings.thread.superseded_by(summary["id"])
    return {
        "id": summary["id"],
        "title": one_line(summary["title"]),
        "text": around.line(text) if text else None,
        "state": state,
        "later": later,
    }


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


def _results(around: Around) -> dict[str, object]:
    """The rows of all entries that count, in one table."""
    found = cases(*map(without_mended, around.findings.counting))
    table = tabulate(found, TableSpec(), declared=around.findings.header.metrics)
    notes = list(table.notes)
    if table.constants:
        notes.insert(0, f"same in all rows: {assignments(table.constants)}")
    if len(table.rows) > _SHOWN_ROWS:
        rows = len(table.rows)
        notes.insert(0, f"the first {_SHOWN_ROWS} of {rows:,} rows; all of them: logbook table --csv")
    return {
        "columns": table.columns,
        "rows": [[_cell(around, text) for text in row] for row in table.rows[:_SHOWN_ROWS]],
        "notes": notes,
    }


def _cell(around: Around, text: str) -> str | Markup:
    return around.line(text) if text in around.ids else text
