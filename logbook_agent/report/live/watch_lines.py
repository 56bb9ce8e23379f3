"""What `logbook watch` shows, as lines of text with styles: for a terminal of some size, or whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from logbook_agent.model.units import format_value, known
from logbook_agent.report.live.live_runs import LastPoint, LiveRun
from logbook_agent.report.terminal.progress_lines import KINDS
from logbook_agent.text.markdown import one_line
from logbook_agent.text.phrases import duration

# Pieces of text, each with its style.
Line: TypeAlias = Sequence[tuple[str, str]]
_BAR = 20
_SHOWN_LINES, _SHOWN_CURVES = 3, 6
_STATES = {
    **dict.fromkeys(("finished", "running"), "green"),
    **dict.fromkeys(("failed", "timeout", "stalled", "lost", "never-started"), "red"),
    **dict.fromkeys(("orphaned", "unknown", "interrupted", "blocked", "submitted"), "yellow"),
}
# A worker writes a heartbeat every 5 s; one that is older than this is late.
_LATE_S = 30.0


def lines_of(data: dict[str, Any], page: Iterable[tuple[str, str]], height: int | None = None) -> list[Line]:
    """What runs, and below it the `page` of `status`: lines with their kinds. Where there are more than `height`, the
    last ones are counted."""
    lines = [*_lines(data, page, datetime.now(UTC))]
    if height is None or len(lines) < height:
        return lines
    more = len(lines) - (height - 2)
    return [*lines[: height - 2], [(f"and {more} more lines: make the window taller", "dim")]]


def _lines(data: dict[str, Any], page: Iterable[tuple[str, str]], now: datetime) -> Iterator[Line]:
    yield [(f"{now.astimezone(UTC):%H:%M:%S} UTC", "dim")]
    if data["trouble"]:
        yield [("cannot be read now: ", "bold red"), (one_line(data["trouble"]), "red")]
    yield from _running(data["running"], data["series"], now)
    yield []
    yield from ([(text, KINDS.get(kind, ""))] for text, kind in page)


def _running(runs: Sequence[LiveRun], series: Sequence[str], now: datetime) -> Iterator[Line]:
    yield []
    if not runs:
        yield [("nothing is running", "dim") if not series else (f"between two runs of {', '.join(series)}", "bold")]
        return
    yield [(f"running ({len(runs)})", "bold")]
    for one in runs:
        state = one["ended"] or one["state"]
        where = " on ".join(filter(None, [one["executor"], one["host"]])) or "here"
        label = f" {one_line(one['label'])}" if one["label"] else ""
        yield [
            ("  ", ""),
            (f"{one['id']}/{one['run']:02d}", "cyan"),
            (f"{label}  {one_line(one['title'])[:50]}", ""),
            (f"  {state}", _STATES.get(state, "yellow")),
            (f"  {where}, {_alive(one, now)}", "dim"),
        ]
        yield [("    ", ""), (_progress(one, now), "")]
        if one["curves"]:
            yield [("    ", ""), (_curves(one["curves"]), "bold")]
        for note in filter(None, (one["said"], one["trouble"])):
            yield [("    ", ""), (one_line(note), "yellow")]
        if one["ended"]:
            yield [("    ", ""), ("not in the logbook yet: logbook status", "yellow")]
        shown = one["lines"][-_SHOWN_LINES:] or ([one["last"]] if one["last"] else [])
        yield from ([("    │ ", "dim"), (line, "dim")] for line in shown)


def _progress(one: LiveRun, now: datetime) -> str:
    """`3 of at most 16 runs ████░░░  2 min 10 s, about 5 min left`."""
    elapsed_s, progress, parts = _age_s(one["since"], now), one["progress"], []
    if progress is not None and progress["total"] is not None:
        made, total = progress["made"], progress["total"]
        filled = round(_BAR * made / total) if total else 0
        parts.append(f"{'█' * filled}{'░' * (_BAR - filled)}  {made} of {'at most ' * progress['at_most']}{total} runs")
    parts.append(f"for {_length(elapsed_s)}" if elapsed_s is not None else f"since {one['since']}")
    if progress is not None and progress["expected_s"] is not None and elapsed_s is not None:
        left_s = progress["expected_s"] - elapsed_s
        parts.append(f"about {_length(left_s)} left" if left_s > 0 else f"{_length(-left_s)} longer than usual")
    return ", ".join(parts)


def _curves(points: Sequence[LastPoint]) -> str:
    """`step 1,990: loss 0.58, lr 0.001`: the last value of each curve, by where it is."""
    by_step: dict[tuple[str, float], list[str]] = {}
    for point in points[:_SHOWN_CURVES]:
        value = point["value"]
        text = "not finite" if value is None else format_value(value, decimals=known(point["name"]).decimals)
        by_step.setdefault((point["over"], point["step"]), []).append(f"{one_line(point['name'])} {text}")
    said = [f"{one_line(over)} {format_value(step)}: {', '.join(texts)}" for (over, step), texts in by_step.items()]
    more = len(points) - _SHOWN_CURVES
    return "; ".join(said) + (f" and {more} more curves" if more > 0 else "")


def _alive(one: LiveRun, now: datetime) -> str:
    """When its worker was last known to live; of a run without one, when it last printed."""
    beat_s = _age_s(one["heartbeat"], now)
    if beat_s is not None:
        return f"heartbeat {_length(beat_s)} ago" + (" (late)" if beat_s > _LATE_S else "")
    printed_s = _age_s(one["printed"], now)
    return f"last output {_length(printed_s)} ago" if printed_s is not None else "no output yet"


def _age_s(moment: str | None, now: datetime) -> float | None:
    """How long ago that was, in whole seconds; None for what is no moment. Clocks may differ: never below 0."""
    try:
        then = datetime.fromisoformat(moment or "")
    except ValueError:
        return None
    then = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return float(max(0, round((now - then).total_seconds())))


def _length(seconds: float) -> str:
    """A length of time that nobody wants to the hundredth."""
    return f"{max(1, round(seconds)) if seconds > 0 else 0} s" if seconds < 120 else duration(seconds)
