"""What a parser makes of a source: spans of lines, which partition it. A span is an entry, or text that belongs to
none."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from logbook_agent.model.entry import Confidence
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Row


class Quoted(Struct, frozen=True, kw_only=True):
    """A command that a source quotes, and the variables that it sets. As far as the source says, one that `is_planned`
    was not run."""

    text: str
    label: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    is_planned: bool = False


class ReportedTable(Struct, frozen=True, kw_only=True):
    """The rows of a table under its `label`."""

    rows: tuple[Row, ...]
    label: str | None = None


class ReportedEntry(Struct, frozen=True, kw_only=True):
    """An entry as its source has it. `name` is what the source calls it, `number` the place that a table gives it,
    `heading` its first line, `opened` UTC, ISO 8601 (None: not stated). `kept`: whether the source keeps its code
    (None: it does not say); `commit` is a hash that the source states; `problems` are what is odd in it."""

    title: str
    name: str = ""
    number: int | None = None
    heading: str = ""
    opened: str | None = None
    confidence: Confidence | None = None
    kept: bool | None = None
    commit: str | None = None
    fields: tuple[tuple[str, str], ...] = ()
    commands: tuple[Quoted, ...] = ()
    tables: tuple[ReportedTable, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def rows(self) -> list[Row]:
        return [row for table in self.tables for row in table.rows]


class SourceSpan(Struct, frozen=True, kw_only=True):
    """Lines `first` to `last` of a source, counted from 1."""

    first: int
    last: int
    entry: ReportedEntry | None = None

    @property
    def place(self) -> str:
        """`line 3`, or `lines 3 to 8`."""
        return f"lines {self.first} to {self.last}" if self.last > self.first else f"line {self.first}"

    def text(self, lines: Sequence[str]) -> str:
        return "\n".join(lines[self.first - 1 : self.last])


class Named(Struct, frozen=True):
    """What a reader must know of a source, such as a unit that changes, at a line."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


class Document(Struct, frozen=True, kw_only=True):
    """A source in parts, and what is `named` of it."""

    spans: tuple[SourceSpan, ...]
    metrics: tuple[Metric, ...] = ()
    named: tuple[Named, ...] = ()
    title: str | None = None
    goal: str | None = None
    prefix: str | None = None

    @property
    def entries(self) -> list[tuple[SourceSpan, ReportedEntry]]:
        return [(span, span.entry) for span in self.spans if span.entry is not None]


def partition(entries: Sequence[SourceSpan], count: int) -> tuple[SourceSpan, ...]:
    """The spans of entries, with the lines between them as spans of text; together all lines, `count` of them."""
    found: list[SourceSpan] = []
    at = 1
    for span in (*entries, SourceSpan(first=count + 1, last=count)):
        found += [SourceSpan(first=at, last=span.first - 1)] if span.first > at else []
        found.append(span)
        at = span.last + 1
    return tuple(found[:-1])


def joined(spans: Sequence[SourceSpan], title: str = "") -> SourceSpan:
    """The rows of many entries as one."""
    first, last = spans[0].first, spans[-1].last
    rows = tuple(row for span in spans if span.entry is not None for row in span.entry.rows)
    title = title or f"Rows of lines {first} to {last}"
    return SourceSpan(first=first, last=last, entry=ReportedEntry(title=title, tables=(ReportedTable(rows=rows),)))


def lines_of(text: str) -> list[str]:
    """The lines of a text, which end at line feeds alone."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
