"""Logbooks in Markdown: which headings begin an entry, and what it says."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import structs

from logbook_agent.imports.cells import moment_of, plain, verdict_of
from logbook_agent.imports.document import Document, ReportedEntry, SourceSpan
from logbook_agent.imports.pieces import Mark, SourcePiece, pieces_of, pipe_tables, read_mark
from logbook_agent.imports.sections import NOTE, commands_in, label_of, parts_of, tables_of
from logbook_agent.imports.tables import entries_of, table_of
from logbook_agent.model.entry import DECISION, NEGATIVE_RESULT
from logbook_agent.model.header import Metric

# An item of a list, or bold words alone, that begin with a date or an ID.
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])[ \t]+(?P<text>\S.*)|(?P<bold>\*\*[^*]+\*\*:?)[ \t]*")
_BEGINS = re.compile(r"\W*(?:\d{4}[-/.]\d|\d{1,2} |[A-Z][A-Za-z0-9_-]* ?#?\d|#\d)")
_ITEM_LEVEL = 7
# Headings that name no experiment.
_APART = re.compile(
    r"(?i)(?:\d+[.)] )?(?:scope|links?|baseline|stop criteria|goals?|overview|summary|conclusions?|set-?up|background"
    r"|introduction|about|next steps?|to-?do|notes?|prerequisites|experiment (?:log|matrix|id prefix)|leaderboard"
    r"|results? (?:summary|table)|(?:table of )?contents|appendix|references|environment|method(?:s|ology)?|glossary"
    r"|command templates?|negative results?|open questions|legend|changelog|metrics?|status|rules)\b.*"
)
_NEGATIVE = re.compile(
    r"(?i)\b(?:not adopted|reject(?:ed)?|reverted|discarded|does not fit|negative result|(?:did|does) not help"
    r"|no (?:gain|improvement|win)\b)"
)
_COMMIT = re.compile(r"(?i)\bcommit\b[\s:=`'\"*]{1,6}(?:(?P<commit>[0-9a-f]{7,40})|HEAD)\b")
_PREFIX = re.compile(r"(?P<prefix>[A-Z][A-Z0-9]*(?:-[A-Z][A-Z0-9]*)*)-\d{1,6}")


def _is_marked(mark: Mark) -> bool:
    """Whether a heading has an ID or a date, as those of entries have."""
    return bool(mark.name or (mark.opened and not _APART.fullmatch(mark.title)))


def _is_day(mark: Mark) -> bool:
    """Whether a heading is a date, and nothing else."""
    return bool(mark.opened) and not mark.name and not mark.title


def parse(lines: Sequence[str], _: Sequence[str], declared: Mapping[str, Metric]) -> Document:
    """A log in Markdown as entries."""
    pieces = [*pieces_of([line.replace("\r", "") for line in lines])]
    marks = [read_mark(at, piece.level, piece.title) for at, piece in enumerate(pieces) if piece.level]
    begins = _entry_marks(marks, pieces) or _marked_items(pieces)
    ranked = sorted([*begins, *marks], key=lambda m: m.at)
    inside = {at for m in begins for at in range(m.at, _end(m, ranked, len(pieces)))}
    spans, metrics = _row_entries([piece for at, piece in enumerate(pieces) if at not in inside], declared)
    if not begins and not spans:
        begins = [m for m in marks[:1] if _is_measured(pieces[m.at + 1 : _end(m, marks, len(pieces))], declared)]
    for mark in begins:
        end = _end(mark, ranked, len(pieces))
        entry, more = _entry(mark, pieces[mark.at : end], {**declared, **metrics})
        last = pieces[end].line - 1 if end < len(pieces) else len(lines)
        spans.append(SourceSpan(first=pieces[mark.at].line, last=last, entry=entry))
        for metric in more:
            metrics.setdefault(metric.name, structs.replace(metric, primary=not metrics))
    spans.sort(key=lambda span: span.first)
    names = [span.entry.name for span in spans if span.entry is not None]
    prefixes = Counter(m["prefix"] for name in names if (m := _PREFIX.fullmatch(name)))
    front = pieces[0].text if pieces and pieces[0].language == "front matter" else ""
    stated = re.search(r"(?im)^title\s*:\s*['\"]?(.*?)['\"]?\s*$", front)
    title = stated[1] if stated is not None else next((m.text for m in marks if m.level == 1), "")
    goal = next((m[1] for line in lines if (m := re.match(r"- \**Goal\**: (.*)", line))), None)
    return Document(
        spans=tuple(spans),
        metrics=tuple(metrics.values()),
        title=re.sub(r"(?i):? research logbook$", "", plain(title)) or None,
        goal=goal,
        prefix=next((prefix for prefix, _ in prefixes.most_common(1)), None),
    )


# -- which headings are entries ------------------------------------------------------------------------------


def _entry_marks(marks: Sequence[Mark], pieces: Sequence[SourcePiece]) -> list[Mark]:
    """The headings that begin entries: those with an ID or a date, else those with an experiment below them, of the
    most common level; and those above that level that have none of them inside. A heading that is a date gives it to
    the entries below it."""
    several = sum(m.level == 1 for m in marks) > 1
    inner = [m for m in marks if m.level > 1 or several]
    chosen = [m for m in inner if _is_marked(m)]
    if chosen and all(_is_day(m) for m in chosen):
        below = [m for m in inner if m.level > chosen[0].level and not label_of(m.text)]
        first = min((m.level for m in below), default=0)
        chosen += [m for m in below if m.level == first]
    elif len(chosen) < 2:
        ends = [_end(m, inner, len(pieces)) for m in inner]
        spans = zip(inner, ends, strict=True)
        chosen = [m for m, end in spans if m in chosen or _is_experiment(m, pieces[m.at + 1 : end])]
    levels = Counter(m.level for m in chosen if not _is_day(m)) or Counter(m.level for m in chosen)
    level = levels.most_common(1)[0][0] if levels else 0
    lines = {m.at for m in chosen}
    found: list[Mark] = []
    above: Mark | None = None
    day = None
    for mark in inner:
        if mark.level < level:
            found += [above] if above is not None else []
            above = mark if mark.at in lines else None
            day = mark.opened if above is not None else None
        elif mark.level == level and mark.at in lines:
            found.append(structs.replace(mark, opened=mark.opened or day))
            above = None
    return [*found, *([above] if above is not None else [])]


def _is_experiment(mark: Mark, body: Sequence[SourcePiece]) -> bool:
    """Whether a table, a command, or two labelled fields stand below a mark."""
    parts = parts_of(body)
    known = [part for part in parts if label_of(part.label) and part.label != NOTE]
    is_numbered = len(parts) > 1 and re.match(r"\d+[.):]? ", mark.text)
    has_more = len(known) > 1 or is_numbered or any(pipe_tables(body)) or any(True for _ in commands_in(parts))
    return bool(has_more) and not _APART.fullmatch(plain(mark.text)) and label_of(mark.text) is None


def _is_measured(body: Sequence[SourcePiece], declared: Mapping[str, Metric]) -> bool:
    """Whether a log without any entry is the log of one experiment: it has numbers, or two labelled fields."""
    parts = parts_of(body)
    return bool(tables_of(parts, declared)[0]) or sum(label_of(part.label) is not None for part in parts) > 2


def _marked_items(pieces: Sequence[SourcePiece]) -> list[Mark]:
    """The items of lists and the bold lines that begin with a date or an ID."""
    found = []
    for at, piece in enumerate(pieces):
        if piece.language is None and (item := _ITEM.fullmatch(piece.text)) is not None:
            text = item["text"] or item["bold"]
            mark = read_mark(at, _ITEM_LEVEL, text)
            found += [mark] if (mark.name or mark.opened) and _BEGINS.match(text) else []
    return found


def _end(mark: Mark, others: Sequence[Mark], count: int) -> int:
    """The piece after an entry: the next one that begins an entry, or a heading of the same rank."""
    start = bisect_right(others, mark.at, key=lambda m: m.at)
    return next((m.at for m in others[start:] if m.level <= mark.level), count)


# -- what an entry is ----------------------------------------------------------------------------------------


def _entry(
    mark: Mark, pieces: Sequence[SourcePiece], declared: Mapping[str, Metric]
) -> tuple[ReportedEntry, list[Metric]]:
    first, *body = pieces
    parts = parts_of(body)
    tables, metrics = tables_of(parts, declared)
    fields = {part.label: part.text for part in parts if part.text.strip()}
    times = (moment_of(fields.get(label, "")) for label in ("Date", "Time"))
    verdict = verdict_of(fields.get(DECISION) or fields.get("Status") or "")
    whole = "\n".join(piece.text for piece in body)
    negative = next((line for line in whole.split("\n") if _NEGATIVE.search(line)), None)
    if negative is not None:
        fields.setdefault(NEGATIVE_RESULT, negative.strip(" -*+"))
    commits = [m["commit"] for m in _COMMIT.finditer(whole)]
    entry = ReportedEntry(
        title=mark.title or mark.name or plain(mark.text),
        name=mark.name,
        heading=first.text.strip(),
        opened=mark.opened or next(filter(None, times), None),
        confidence=mark.confidence,
        kept=verdict == "keep" if verdict in ("keep", "discard") else None,
        commit=next(filter(None, commits), "").lower() or None,
        fields=tuple(fields.items()),
        commands=tuple(commands_in(parts)),
        tables=tuple(tables),
        problems=("HEAD is no commit",) if None in commits else (),
    )
    return entry, metrics


def _row_entries(
    pieces: Sequence[SourcePiece], declared: Mapping[str, Metric]
) -> tuple[list[SourceSpan], dict[str, Metric]]:
    """The rows of tables as entries, in a log without other entries: of tables that say what was tried, or when."""
    spans: list[SourceSpan] = []
    metrics: dict[str, Metric] = {}
    for headings, rows in pipe_tables(pieces):
        table = table_of(headings, rows, declared)
        roles = {column.role for column in table.columns}
        if rows and roles & {"status", "commit", "time", "title", "name"} and "metric" in roles:
            spans += entries_of(table)
            metrics = {**{one.name: one for one in table.metrics}, **metrics}
    return spans, metrics


def is_markdown(lines: Sequence[str]) -> bool:
    """Whether a text has headings, a fenced block or a table."""
    return any(re.match(r"#{1,6} |```|\|.*\|\s*$|---\s*$", line) for line in lines)
