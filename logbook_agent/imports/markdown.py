"""Logbooks in Markdown: which headings begin an entry, and what stands between the entries."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from itertools import takewhile

from logbook_agent.imports.cells import commit_of, moment_of, plain, verdict_of
from logbook_agent.imports.columns import columns_of
from logbook_agent.imports.delimited import Cells, as_entries
from logbook_agent.imports.document import Document, Named, ReportedEntry, SourceSpan, lines_of, partition
from logbook_agent.imports.headings import Heading, read_heading
from logbook_agent.imports.order import disordered, doubled
from logbook_agent.imports.sections import commands_in, in_code, label_of, parts_of, pipe_tables, tables_of
from logbook_agent.model.entry import DECISION, NEGATIVE_RESULT
from logbook_agent.model.header import Metric

_ATX = re.compile(r"(?P<signs>#{1,6})(?:[ \t]+(?P<text>.*?))?[ \t]*")
_SETEXT = re.compile(r"(?:=+|-{3,})[ \t]*")
# An item of a list, or bold words alone, that begin with a date or an ID.
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])[ \t]+(?P<text>\S.*)|(?P<bold>\*\*[^*]+\*\*:?)[ \t]*")
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
_COMMIT = re.compile(r"(?i)\bcommit\b[\s:=`'\"]{1,4}(?P<commit>[0-9a-f]{7,40})\b")
_PREFIX = re.compile(r"(?P<prefix>[A-Z][A-Z0-9]*(?:-[A-Z][A-Z0-9]*)*)-\d{1,6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A line that may begin an entry: a heading of a `level`; of 7, an item or bold words."""

    line: int
    level: int
    heading: Heading
    text: str


def parse(text: str, *, columns: Sequence[str] = (), declared: Mapping[str, Metric], zone: tzinfo = UTC) -> Document:
    """A log in Markdown as entries."""
    lines = [line.replace("\r", "") for line in lines_of(text)]
    front = _front_matter(lines)
    headings = [*_headings(lines, zone, front)]
    begins = _entry_headings(headings, lines) or _marked_items(lines, zone, front)
    spans: list[SourceSpan] = []
    metrics: dict[str, Metric] = {}
    named: list[Named] = []
    for mark, last in zip(begins, _ends(begins, headings, len(lines)), strict=True):
        entry, more, problems = _entry(mark, lines[mark.line - 1 : last], {**declared, **metrics})
        spans.append(SourceSpan(first=mark.line, last=last, entry=entry))
        named += [Named(mark.line, problem) for problem in problems]
        for one in more:
            metrics.setdefault(one.name, replace(one, primary=not metrics))
    if not spans:
        spans, found, named = _row_spans(lines, declared)
        metrics = {one.name: one for one in found}
    values = {
        key.strip().casefold(): value.strip().strip("'\"")
        for key, _, value in (line.partition(":") for line in lines[1:front])
    }
    title = values.get("title") or next((h.text for h in headings if h.level == 1), None)
    goal = next((m[1] for line in lines if (m := re.match(r"- \**Goal\**: (.*)", line))), None)
    prefixes = Counter(m["prefix"] for _, e in Document(spans=tuple(spans)).entries if (m := _PREFIX.fullmatch(e.name)))
    return Document(
        spans=tuple(_labelled(span, headings) for span in partition(spans, lines)),
        metrics=tuple(metrics.values()),
        named=(*named, *_order(spans)),
        title=re.sub(r"(?i):? research logbook$", "", plain(title)) or None if title else None,
        goal=goal,
        prefix=next((prefix for prefix, _ in prefixes.most_common(1)), None),
    )


def _front_matter(lines: Sequence[str]) -> int:
    """How many lines the front matter has."""
    if not lines or lines[0].strip() != "---":
        return 0
    return next((n + 1 for n, line in enumerate(lines[1:200], 1) if line.strip() in ("---", "...")), 0)


def _headings(lines: Sequence[str], zone: tzinfo, front: int) -> Iterator[Mark]:
    code = in_code(lines)
    for at, line in enumerate(lines):
        if at < front or code[at]:
            continue
        found = _ATX.fullmatch(line)
        if found is not None and found["text"]:
            yield Mark(
                line=at + 1, level=len(found["signs"]), heading=read_heading(found["text"], zone), text=found["text"]
            )
            continue
        below = lines[at + 1] if at + 1 < len(lines) and not code[at + 1] else ""
        is_paragraph = line.strip() and "|" not in line and not re.match(r"\s|[-*+>#|=]", line)
        if is_paragraph and _SETEXT.fullmatch(below) and (at == 0 or not lines[at - 1].strip()):
            yield Mark(
                line=at + 1, level=1 if below[0] == "=" else 2, heading=read_heading(line, zone), text=line.strip()
            )


# -- which headings are entries ------------------------------------------------------------------------------


def _entry_headings(headings: Sequence[Mark], lines: Sequence[str]) -> list[Mark]:
    """The headings that begin entries: those with an ID or a date, else those with an experiment below them. A heading
    that is a date gives it to the entries below it."""
    several = sum(h.level == 1 for h in headings) > 1
    inner = [h for h in headings if h.level > 1 or several]
    marked = [h for h in inner if h.heading.name or (h.heading.is_marked and not _APART.fullmatch(h.heading.title))]
    if not marked:
        others = [h for h in inner if not _APART.fullmatch(plain(h.text)) and label_of(h.text) is None]
        found = [h for h in others if _is_experiment(h, inner, lines)]
        common = Counter(h.level for h in found).most_common(1)
        return [h for h in found if h.level == common[0][0]]
    levels = Counter(h.level for h in marked if not h.heading.is_day).most_common(1)
    level = levels[0][0] if levels else 7
    chosen = {h.line: h for h in marked if h.level == level}
    lines_marked = {h.line for h in marked if h.level < level}
    for at, h in ((at, h) for at, h in enumerate(inner) if h.line in lines_marked):
        below = [*takewhile(lambda c: c.level > h.level, inner[at + 1 :])]  # noqa: B023 - it is used at once
        inside = [chosen[c.line] for c in below if c.line in chosen]
        if not inside and h.heading.is_day:
            first = min((c.level for c in below), default=0)
            inside = [c for c in below if c.level == first and label_of(c.text) is None]
        chosen |= {c.line: _on(c, h) for c in inside} or {h.line: h}
    return sorted(chosen.values(), key=lambda h: h.line)


def _on(mark: Mark, day: Mark) -> Mark:
    """The heading with the date of that above it."""
    return replace(mark, heading=replace(mark.heading, opened=mark.heading.opened or day.heading.opened))


def _is_experiment(heading: Mark, headings: Sequence[Mark], lines: Sequence[str]) -> bool:
    """Whether a table, a command, or two labelled fields stand below a heading."""
    end = next((h.line - 1 for h in headings if h.line > heading.line and h.level <= heading.level), len(lines))
    body = lines[heading.line : end]
    parts = parts_of(body)
    known = [part for part in parts if label_of(part.label) and part.label != "Note"]
    return len(known) > 1 or any(True for _ in pipe_tables(body)) or any(True for _ in commands_in(parts))


def _marked_items(lines: Sequence[str], zone: tzinfo, front: int) -> list[Mark]:
    """The items of lists and the bold lines that begin with a date or an ID."""
    code, found = in_code(lines), list[Mark]()
    for at, line in enumerate(lines):
        item = None if code[at] or at < front else _ITEM.fullmatch(line)
        if item is not None:
            text = item["text"] or item["bold"]
            heading = read_heading(text, zone)
            begins = re.match(r"\W*(?:\d{4}[-/.]\d|\d{1,2}[. ]|[A-Z][A-Za-z0-9_-]* ?#?\d|#\d|[A-Z][a-z]{2} \d)", text)
            if heading.is_marked and begins:
                found.append(Mark(line=at + 1, level=7, heading=heading, text=text))
    return found


def _ends(begins: Sequence[Mark], headings: Sequence[Mark], count: int) -> list[int]:
    """The last line of each entry: that above the next one, or above a heading of the same rank."""
    found = []
    for mark, following in zip(begins, (*(b.line for b in begins[1:]), count + 1), strict=False):
        later = headings[bisect_right(headings, mark.line, key=lambda h: h.line) :]
        inside = takewhile(lambda h: h.line < following, later)  # noqa: B023 - it is used at once
        found.append(next((h.line for h in inside if h.level <= mark.level), following) - 1)
    return found


# -- what an entry is ----------------------------------------------------------------------------------------


def _entry(
    mark: Mark, lines: Sequence[str], declared: Mapping[str, Metric]
) -> tuple[ReportedEntry, list[Metric], list[str]]:
    heading, (first, *lines) = mark.heading, lines
    parts = parts_of(lines)
    tables, metrics = tables_of(parts, declared)
    fields = {part.label: part.text for part in parts if part.text.strip()}
    whole = "\n".join(lines)
    opened = heading.opened or next(
        (at for label in ("Date", "Time") if (at := moment_of(fields.get(label, "")))), None
    )
    said = next((fields[label] for label in (DECISION, "Status") if label in fields), "")
    verdict = verdict_of(said)
    if NEGATIVE_RESULT not in fields and (found := _NEGATIVE.search(whole)) is not None:
        fields[NEGATIVE_RESULT] = _sentence(whole, found.start())
    commit = _COMMIT.search(whole)
    heads = re.search(r"(?i)\bcommit\b[\s:=`*]{1,6}HEAD\b", whole)
    title = heading.title or heading.name or plain(mark.text)
    entry = ReportedEntry(
        title=title,
        name=heading.name,
        heading=first.strip(),
        opened=opened,
        kind=heading.kind,
        confidence=heading.confidence,
        kept=verdict == "keep" if verdict in ("keep", "discard") else None,
        commit=commit_of(commit["commit"])[0] if commit is not None else None,
        fields=tuple(fields.items()),
        commands=tuple(commands_in(parts)),
        tables=tuple(tables),
    )
    return entry, metrics, ["HEAD is no commit"] if heads is not None else []


def _sentence(text: str, at: int) -> str:
    """The sentence around a place."""
    start = max(text.rfind(end, 0, at) for end in (". ", "\n")) + 1
    stop = min((n for end in (". ", ".\n", "\n") if (n := text.find(end, at)) >= 0), default=len(text))
    return text[start:stop].strip(" -*+\n.")


def _row_spans(
    lines: Sequence[str], declared: Mapping[str, Metric]
) -> tuple[list[SourceSpan], list[Metric], list[Named]]:
    """The rows of tables as entries, in a log without other entries: of tables that say what was tried, or when."""
    spans: list[SourceSpan] = []
    metrics: list[Metric] = []
    named: list[Named] = []
    for table in pipe_tables(lines):
        roles = {column.role for column in columns_of(table.headings, table.rows, declared)}
        if roles & {"status", "commit", "time", "title", "name"} and "metric" in roles:
            rows = [Cells(first=table.at + 3 + n, last=table.at + 3 + n, cells=row) for n, row in enumerate(table.rows)]
            found, more, said = as_entries(table.headings, rows, declared)
            spans += found
            metrics += [one for one in more if one.name not in {m.name for m in metrics}]
            named += said
    return spans, metrics, named


def _labelled(span: SourceSpan, headings: Sequence[Mark]) -> SourceSpan:
    """A span of text under the name of the heading that it begins with."""
    first = next((h.text for h in headings if span.first <= h.line <= span.last), "")
    return span if span.entry is not None else replace(span, label=first)


def _order(spans: Sequence[SourceSpan]) -> list[Named]:
    """IDs that several entries have, and times that are out of order."""
    entries = [(span.first, span.entry) for span in spans if span.entry is not None]
    names = [(entry.name, line) for line, entry in entries if entry.name]
    return [*doubled(names), *disordered([(entry.opened, line) for line, entry in entries if entry.opened])]


def is_markdown(text: str) -> bool:
    """Whether a text has headings, a fenced block or a table."""
    return re.search(r"(?m)^(?:#{1,6} |```|\|.*\|\s*$|---\s*$)", text) is not None
