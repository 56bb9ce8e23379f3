"""The line that a terminal shows while a command runs."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def progress_line(elapsed_s: float, last_result: str | None, log_bytes: int, width: int) -> str:
    """`1:05 | 3.4 MiB | RESULT tokens=...`, cut to `width` characters."""
    parts = [_elapsed(elapsed_s), _size(log_bytes)]
    if last_result:
        parts.append("".join(c if c.isprintable() else " " for c in last_result))
    line = " | ".join(parts)
    return line if len(line) <= width else line[: max(0, width - 1)] + "…" * (width > 0)


def _elapsed(elapsed_s: float) -> str:
    minutes, seconds = divmod(int(elapsed_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _size(count: int) -> str:
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"
