"""The answers of `list`, `table`, `compare` and `status` as a terminal shows them: as wide as it is, in colours.

Better is green, worse and failed red, open yellow; what is settled is bold. Whatever is cut ends in `…`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from logbook_agent.cli.output import clean
from logbook_agent.findings.comparison import answer_lines, words
from logbook_agent.findings.comparison.answer import Answer, Finding
from logbook_agent.findings.tables.spec import Column, Table
from logbook_agent.model.units import format_value, known
from logbook_agent.report.terminal.progress_lines import KINDS, STYLES, effect_bar
from logbook_agent.text.markdown import one_line
from logbook_agent.text.phrases import assignments, minute

_STATES = {"failed": "red", "running": "cyan", "planned": "dim", "void": "dim", "superseded": "dim"}
_LEAST, _LEAST_TEXT = 6, 12
_WIDE = 100


def _console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def _grid(*headings: str | tuple[str, dict[str, Any]]) -> Grid:
    """A table with a line below its headings."""
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for heading in headings:
        name, options = heading if isinstance(heading, tuple) else (heading, {})
        grid.add_column(clean(name), **{"no_wrap": True, "overflow": "ellipsis", **options})
    return grid


def _say(console: Console, text: str, style: str = "") -> None:
    """A line that the terminal wraps, so that a command or path in it is copied whole."""
    console.print(_text(text, style), soft_wrap=True)


def _text(text: str, style: str = "") -> Text:
    return Text(clean(text), style=style)


# -- list and table ------------------------------------------------------------------------------------


def draw_list(lines: Sequence[Mapping[str, Any]], zone: str) -> None:
    """Draw the lines of `list`, an entry each."""
    console = _console()
    ratio: dict[str, Any] = {"ratio": 1, "min_width": _LEAST}
    grid = _grid("ID", ("opened", {"style": "dim"}), "state", ("title", ratio), ("result", ratio))
    grid.expand = True
    # Without its year where there is little room.
    first = 0 if console.width >= _WIDE else 5
    for line in lines:
        state = line["state"]
        opened, words_of = minute(line["opened"], zone)[first:], (line["title"], line["result"] or "")
        cells = [_text(line["id"]), _text(opened), _text(state, _STATES.get(state, ""))]
        grid.add_row(*cells, *(_text(one_line(text)) for text in words_of))
    console.print(grid)


def draw_table(table: Table) -> None:
    """Draw rows, in parts below each other where they do not fit; then what they share and their notes."""
    console = _console()
    found = parts(table.columns, table.rows, console.width)
    for number, part in enumerate(found):
        columns = [table.columns[at] for at in part]
        right: dict[str, Any] = {"justify": "right", "overflow": "fold"}
        more = ["…"] if number < len(found) - 1 else []
        grid = _grid(*((c.name, right if c.numeric else {}) for c in columns), *more)
        for row in table.rows:
            grid.add_row(*(_cell(row[at]) for at in part), *more)
        if number:
            console.print()
        console.print(grid)
    notes = list(table.notes)
    if table.constants:
        notes.insert(0, f"same in all rows: {assignments(table.constants)}")
    for note in notes:
        _say(console, f"- {note}", "dim")


def _cell(text: str) -> Text:
    style = "red" if text.startswith("failed") else "yellow" if text == "?" else "dim" if text in ("base", "—") else ""
    return _text(text, style)


def parts(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """The columns of each part of a table that fits, by place; the first ones, which name a row, begin each part. A
    number is shown whole; of a text at least some characters."""

    def least(at: int) -> int:
        whole = max([cell_len(columns[at].name), *(cell_len(row[at]) for row in rows)])
        return whole if columns[at].numeric else min(whole, _LEAST_TEXT)

    # Three blanks stand between columns; `…` behind the last one of a part.
    names, used = 1, least(0) if columns else 0
    while names < len(columns) and used + 3 + least(names) <= width // 3:
        used += 3 + least(names)
        names += 1
    found, room = [list(range(min(names, len(columns))))], width - used
    for at in range(names, len(columns)):
        mark = 4 if at < len(columns) - 1 else 0
        if least(at) + 3 + mark > room and len(found[-1]) > names:
            found.append(list(range(names)))
            room = width - used
        found[-1].append(at)
        room -= least(at) + 3
    return found


# -- comparisons -----------------------------------------------------------------------------------------


def draw(shown: Table | Answer, left: Iterable[tuple[str, str]] = ()) -> None:
    """Draw the rows or the answer of a comparison, with what is `left` to do for an open one."""
    if isinstance(shown, Answer):
        draw_answer(shown)
        draw_status(left)
    else:
        draw_table(shown)


def draw_answer(answer: Answer) -> None:
    """Draw an answer: a line with its interval for each finding, then the sentences and what is to be known of them."""
    console = _console()
    is_wide = console.width >= _WIDE
    _say(console, f"{answer.entry}, {words.asked(answer)}", "bold")
    if answer.findings:
        console.print(_findings(answer, is_wide=is_wide))
    for f in answer.findings:
        _say(console, words.sentence(answer, f), STYLES[f.outcome.value])
        for note in (*f.left_out, *f.notes):
            _say(console, f"  {note}", "dim")
    for line in (*answer_lines.about(answer), *answer_lines.unmeasured(answer)):
        _say(console, line)
    _say(console, f"confidence: {answer.confidence} ({'; '.join(answer.reasons)})")


def _findings(answer: Answer, *, is_wide: bool) -> Grid:
    least, right = answer.question.minimum_effect, {"justify": "right"}
    sides = {words.label(answer, f.side) for f in answer.findings}
    base, side = words.label(answer, answer.question.base), sides.pop() if len(sides) == 1 else "side"
    name: dict[str, Any] = {"ratio": 1, "min_width": _LEAST}
    grid = _grid(("", name), (base, right), (side, right), ("change", right), f"┊ {words.percent(least)}%", "")
    for f in answer.findings:
        bar = effect_bar(f.change, f.low, f.high, least, 25 if is_wide else 15)
        what = (words.subject(answer, f.side), f.metric, assignments(f.case))
        plain = (filter(None, what), [_value(f, f.base.median)], filter(None, [_value(f, f.other.median), f.unit]))
        styled = (words.signed(f.change), bar, f.outcome.value)
        grid.add_row(*(_text(" ".join(texts)) for texts in plain), *(_text(t, STYLES[f.outcome.value]) for t in styled))
    return grid


def _value(f: Finding, value: float | None) -> str:
    return format_value(value, decimals=known(f.metric).decimals)


# -- status ----------------------------------------------------------------------------------------------


def draw_status(lines: Iterable[tuple[str, str]]) -> None:
    """Draw the lines of a status, each in the colour of its kind."""
    console = _console()
    for text, kind in lines:
        _say(console, text, KINDS.get(kind, ""))
