"""Pieces of sentences: numbers of things, lists of them, values, times, and the nearest of the words that are valid;
and what of a text a terminal would obey."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TypeVar

from logbook_agent.model.errors import UsageError

_W = TypeVar("_W", bound=str)


def listed(texts: Sequence[str], most: int = 20, joint: str = ", ") -> str:
    """`2, 4, 8 and 3 more`: as many as are shown, and how many others there are."""
    more = len(texts) - most
    return joint.join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")


def bounded(lines: Sequence[str], most: int, rest: str = "more") -> list[str]:
    """The first lines, and one that counts the others: `and 3 more`, or with a `rest` that says where they are."""
    left_out = len(lines) - most
    return [*lines[:most], *([f"and {left_out:,} {rest}"] if left_out > 0 else [])]


def assignments(values: Mapping[str, object]) -> str:
    """`topk=2 quant_mode=int8`, for reading: nothing is quoted."""
    return " ".join(f"{name}={value}" for name, value in values.items())


def size_text(count: int) -> str:
    """So many bytes: `812 B`, `12.3 KiB`, `4.2 GiB`."""
    if count < 1024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, 4)
    return f"{count / 1024**power:.1f} {'KMGT'[power - 1]}iB"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """`1 run`, `3 runs`; `plural` where it is not the noun with an s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


# -- times, to the minute in the logbook's zone ---------------------------------------------------------


def zone_of(name: str) -> tzinfo:
    """The zone of an IANA name. Raises UsageError for one that this machine does not know."""
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(
            f"unknown time zone {name!r}",
            cause="a zone is an IANA name",
            hint="use a name such as UTC, Europe/Berlin or America/Los_Angeles",
        ) from error


def zone_called(text: str) -> str:
    """The IANA name that people write in capitals or not. Raises UsageError for one that this machine does not know."""
    try:
        zone_of(text)
        return text
    except UsageError:
        from zoneinfo import available_timezones

        name = next((name for name in available_timezones() if name.casefold() == text.casefold()), None)
        if name is None:
            raise
        return name


# A page says each moment several times.
@functools.lru_cache(maxsize=1024)
def minute(iso: str, zone: str) -> str:
    """`2026-02-10T10:43:00+00:00` in UTC as `2026-02-10 10:43`; text that is no time stays as it is."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    shown_in = zone_of(zone)
    try:
        return moment.astimezone(shown_in).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError):  # at the ends of the calendar
        return iso


def day(iso: str, zone: str) -> str:
    """The day of a moment in a zone, `2026-02-10`; of text that is no time, its first ten characters."""
    return minute(iso, zone)[:10]


def stamp(moment: datetime) -> str:
    """A moment as records store it: UTC, ISO 8601, whole seconds."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def duration(seconds: float | None) -> str:
    """A length of time for people: `0.42 s`, `12.3 s`, `4 min 05 s`, `2 h 10 min`."""
    if seconds is None:
        return "?"
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def length(seconds: float) -> str:
    """A length of time: `45 s`, `12 min`, `1.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# -- mistyped names ------------------------------------------------------------------------------------


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that is nearly this one, if there is one."""
    from difflib import get_close_matches  # only errors need it

    near = get_close_matches(word.casefold(), list(words), n=1, cutoff=0.75)
    return near[0] if near else None


def one_of(option: str, noun: str, given: str, words: Iterable[_W], cause: str = "") -> _W:
    """The word that was given, in capitals or not. Raises UsageError, which names the word that is near to it; for one
    that is near to none each of them, so that nobody takes a guess of ours for what was meant."""
    known = list(words)
    if (found := next((word for word in known if word.casefold() == given.casefold()), None)) is not None:
        return found
    near = nearest(given, known)
    raise UsageError(
        f"{option} {given}: unknown {noun}",
        cause=cause or f"the {noun}s are {', '.join(known)}",
        hint=f"{option} {near}" if near else f"one of: {', '.join(f'{option} {word}' for word in known)}",
    )


# -- what a terminal obeys: escape sequences, as ECMA-48 has them, control characters, and marks of direction


# Nothing in a sequence but its end is an escape, so each is read once; and none goes beyond its line.
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|[PX^_][^\x1b\n]*\x1b\\"  # DCS, SOS, PM, APC
    r"|[ -/]+[0-~]"  # character sets
    r"|[0-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
# Control characters but for tab and line feed, and what turns the direction of the text that follows.
CONTROLS = (
    *(code for code in (*range(32), *range(127, 160)) if code not in (9, 10)),
    *(0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
)
_SHOWN = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in CONTROLS}
# Beside these what ends a line or has no width, where a text stands among others on its line.
_IN_LINE = _SHOWN | {10: "\\x0a"} | {c: f"\\u{c:04x}" for c in (0x2028, 0x2029, *range(0x200B, 0x200E), 0xFEFF)}


def without_escapes(text: str) -> str:
    """The text without escape sequences; itself where it has none. Of a string without an end only its opening goes."""
    return _ESCAPE.sub("", text) if "\x1b" in text or "\x9b" in text else text


def with_places(text: str) -> tuple[str, list[int]]:
    """The text without escape sequences, and the place of each of its characters in the text."""
    at, places = 0, list[int]()
    for m in _ESCAPE.finditer(text):
        places += range(at, m.start())
        at = m.end()
    return _ESCAPE.sub("", text), [*places, *range(at, len(text))]


def visible(text: str, *, in_line: bool = False) -> str:
    """The text with whatever a terminal would obey as an escape: `\\x1b`. `in_line`: line ends, too."""
    return text.translate(_IN_LINE if in_line else _SHOWN)


def obeyed() -> re.Pattern[bytes]:
    """What a terminal obeys in UTF-8, but for tabs, line ends and colours."""
    controls = re.escape(bytes(code for code in CONTROLS if code < 128 and code not in (0x0D, 0x1B)))
    return re.compile(
        rb"\x1b(?!\[[0-9;]{0,40}m)|[" + controls + rb"]|\xc2[\x80-\x9f]|\xd8\x9c"
        rb"|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]"
    )
