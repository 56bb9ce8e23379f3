"""The answers of `list`, `table`, `compare` and `status` as a terminal shows them: as wide as it is, in colours.

Better is green, worse and failed red, open yellow; what is settled is bold. Whatever is cut ends in `…`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from logbook_agent.cli.output import clean
from logbook_agent.findings.comparison import answer_lines, words
from logbook_agent.findings.comparison.answer import Answer, Finding
from logbook_agent.findings.tables.spec import Table
from logbook_agent.model.units import format_value, known
from logbook_agent.report.terminal.progress_lines import KINDS, STYLES, effect_bar
from logbook_agent.text.markdown import one_line
from logbook_agent.text.phrases import assignments, minute

_STATES = {"failed": "red", "running": "cyan", "planned": "dim", "void": "dim", "superseded": "dim"}
_LEAST = 6
_WIDE, _ENDLESS = 100, 10_000


def _console(width: int | None = None) -> Console:
    return Console(highlight=False, markup=False, emoji=False, width=width)


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
    """Draw rows, as wide as they are: the terminal wraps them, and cuts no number. Then what they share, and notes."""
    console, grid = _console(), _grid(*((c.name, {"justify": "right"} if c.numeric else {}) for c in table.columns))
    for row in table.rows:
        grid.add_row(*map(_cell, row))
    _console(_ENDLESS).print(grid)
    notes = list(table.notes)
    if table.constants:
        notes.insert(0, f"same in all rows: {assignments(table.constants)}")
    for note in notes:
        _say(console, f"- {note}", "dim")


def _cell(text: str) -> Text:
    style = "red" if text.startswith("failed") else "yellow" if text == "?" else "dim" if text in ("base", "—") else ""
    return _text(text, style)


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
