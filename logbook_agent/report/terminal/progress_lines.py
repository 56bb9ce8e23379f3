"""The progress line of a run; and the live lines of a series of runs, drawn with Rich: one for each comparison, with
its interval as a bar."""

from __future__ import annotations

import contextlib
import math
import os
from typing import Any

from rich.console import Console, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from logbook_agent.cli.output import clean
from logbook_agent.model.record import EffectEstimate, SeriesProgress
from logbook_agent.text.phrases import length, size_text, visible

# What an outcome looks like, wherever it is drawn.
# What is settled is bold.
STYLES = {"better": "bold green", "worse": "bold red", "no difference": "bold", "open": "yellow"}
# And each kind of line of a status.
KINDS = {**STYLES, "title": "bold", "command": "cyan", "failed": "red"}
_WIDE, _NARROW, _SHOWN = 110, 70, 6


def rendered(shown: RenderableType, *, width: int | None = None) -> list[str]:
    """The lines of a drawing, as the terminal takes them."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False, width=width)
    with console.capture() as captured:
        console.print(shown, no_wrap=True, overflow="ellipsis", crop=True)
    return captured.get().splitlines()


def effect_bar(change: float | None, low: float | None, high: float | None, least: float, width: int) -> str:
    """An interval around zero in `width` characters (odd): `··┊··│··┊━●━··`. `┊` marks the effects from which on it
    matters, `│` zero, `●` the change; an arrow is put where the interval goes on beyond the bar."""
    half = width // 2
    known = [abs(value) for value in (change, low, high) if value is not None and math.isfinite(value)]
    # Wide intervals of the first pairs do not push the marks into the middle.
    scale = min(max([2 * least, *(1.1 * value for value in known)]), max(12 * least, 1.2 * abs(change or 0.0)))

    def place(value: float) -> int:
        return half + round(max(-1.0, min(1.0, value / scale if scale else 0.0)) * half)

    cells = ["·"] * width
    for value, mark in ((-least, "┊"), (least, "┊"), (0.0, "│")):
        cells[place(value)] = mark
    if low is not None and high is not None:
        for at in range(place(low), place(high) + 1):
            cells[at] = "━"
        cells[0] = "←" if low < -scale else cells[0]
        cells[-1] = "→" if high > scale else cells[-1]
    if change is not None:
        cells[place(change)] = "●"
    return "".join(cells)


def progress_line(elapsed_s: float, last_result: str | None, log_bytes: int, width: int) -> str:
    """`1:05 | 3.4 MiB | RESULT tokens=...`, cut to `width` characters."""
    parts = [elapsed_text(elapsed_s), size_text(log_bytes)]
    if last_result:
        parts.append(visible(last_result, in_line=True))
    line = " | ".join(parts)
    return line if len(line) <= width else line[: max(0, width - 1)] + "…" * (width > 0)


def elapsed_text(elapsed_s: float) -> str:
    """`1:05`, or `1:02:05` from an hour on."""
    minutes, seconds = divmod(int(elapsed_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def series_lines(series: SeriesProgress, elapsed: str, width: int) -> list[str]:
    """The lines of a series in at most `width` columns; the first one says how much of it is made, and how long the
    rest takes."""
    shown = _comparison(series, elapsed, width) if series.estimates else _count(series, elapsed, width)
    return rendered(shown, width=width)


def _grid(*columns: dict[str, Any]) -> Table:
    grid = Table.grid(padding=(0, 1), expand=True)
    for options in columns:
        grid.add_column(no_wrap=True, **options)
    return grid


def _count(series: SeriesProgress, elapsed: str, width: int) -> Table:
    """How much is made, as a bar."""
    grid = _grid({}, {"width": max(8, width // 4)}, {}, {"overflow": "ellipsis", "ratio": 1, "style": "dim"})
    bar = ProgressBar(total=max(1, series.total), completed=series.made)
    grid.add_row(_made(series), bar, " · ".join(filter(None, (elapsed, _left(series)))), clean(series.note))
    return grid


def _comparison(series: SeriesProgress, elapsed: str, width: int) -> Table:
    is_wide = width >= _WIDE
    bar_width = 25 if is_wide else 17 if width >= _NARROW else 7
    name = {"overflow": "ellipsis", "ratio": 1, "min_width": 4}
    right = {"justify": "right"}
    grid = _grid({}, name, right, {}, {}, *([{}] if is_wide else []), {"style": "dim", **right})
    for number, one in enumerate(series.estimates[:_SHOWN]):
        style = STYLES.get(one.outcome, "")
        bar = effect_bar(one.change, one.low, one.high, one.least, bar_width)
        cells = [Text(text, style=style) for text in (_change(one), bar, one.outcome)]
        grid.add_row(
            _made(series) if not number else "",
            clean(one.name),
            *cells,
            *([Text(one.interval)] if is_wide else []),
            (_left(series) or elapsed) if not number else "",
        )
    if len(series.estimates) > _SHOWN:
        grid.add_row("", f"… and {len(series.estimates) - _SHOWN} more")
    return grid


def _made(series: SeriesProgress) -> str:
    return f"{series.made}/{series.total} {series.what}"


def _left(series: SeriesProgress) -> str:
    if series.left_s is None or series.made >= series.total:
        return ""
    return f"{'≤ ' if series.is_at_most else ''}{length(series.left_s)} left"


def _change(one: EffectEstimate) -> str:
    return "?" if one.change is None else f"{100 * one.change:+.3g}%"


def terminal_size(descriptor: int) -> os.terminal_size:
    """Columns and lines of the terminal behind a descriptor."""
    with contextlib.suppress(OSError):
        size = os.get_terminal_size(descriptor)
        if size.columns > 0 and size.lines > 0:
            return size
    return os.terminal_size((80, 24))
