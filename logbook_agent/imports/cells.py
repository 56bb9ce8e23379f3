"""What a cell or a word of a log says: a number with its unit, nothing, a failure, a verdict, a commit, a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from msgspec import Struct

from logbook_agent.model.values import finite

_UNIT = r"(?:%|[A-Za-zµμ]{1,12}(?:/[A-Za-zµμ]{1,12})?)"
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+"
NUMBER = rf"[-+\u2212]?(?:{_DIGITS})(?:[eE][-+]?\d{{1,3}})?"
_VALUE = re.compile(rf"(?P<number>{NUMBER})\s*(?:(?:±|\+/?-)\s*(?:{NUMBER}))?\s*(?P<unit>{_UNIT})?", re.ASCII)
_NOTHING = frozenset({"", "-", "--", "—", "–", "n/a", "na", "none", "null", "?", "tbd", "todo", "pending", "…", "..."})
_FAILED = re.compile(
    r"(?i)\b(oom|out[ -]of[ -]memory|fail(?:ed|ure|s)?|crash(?:ed)?|err(?:or)?|killed|diverged|time(?:d[ -])?out|nan"
    r"|[-+]?inf(?:inity)?|abort(?:ed)?|dnf)\b"
)
_MARKUP = re.compile(r"\*\*|__|~~|`|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)|\[(?P<text>[^\]]*)\]\([^)]*\)|<br ?/?>")
# Arrows, checks and numbers in circles say something; pictures do not.
_PICTURE = re.compile("[\u2300-\u23ff\u2600-\u2712\u2719-\u2775\u2b1b-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]")
_SIGN = re.compile("[\u2190-\u21ff\u2460-\u24ff\u2600-\u27bf\u2b00-\u2bff]")
_HASH = re.compile(r"([0-9a-f]{7,40})(?:[+*]|-dirty| ?\(dirty\))?")
# The first words of a status, by what they say of an experiment.
_VERDICTS = {
    "keep": "keep kept accept accepted adopt adopted merge merged win winner improved promoted baseline",
    "discard": "discard discarded reject rejected revert reverted drop dropped worse regressed abandoned negative no",
    "crash": "crash crashed fail failed error oom killed timeout timed aborted broken diverged",
    "checks_failed": "checks_failed check_failed invalid incorrect wrong",
    "passed": "pass passed ok correct done success",
}
_WORDS = {word: verdict for verdict, words in _VERDICTS.items() for word in words.split()}
_NEGATED = re.compile(r"(?i)\bnot (?:adopted|kept|accepted|merged|promoted)\b")
_HOURS = "UTC0 GMT0 Z0 PST-8 PDT-7 MST-7 MDT-6 CST-6 CDT-5 EST-5 EDT-4 BST1 CET1 CEST2 IST5.5 JST9"
_ZONES = {m[1]: timezone(timedelta(hours=float(m[2]))) for m in re.finditer(r"([A-Z]+)(\S+)", _HOURS)}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_SPELT = re.compile(
    rf"(?i)\b(?:(?P<first>\d{{1,2}})(?:st|nd|rd|th)? )?(?P<month>{'|'.join(_MONTHS)})[a-z]*[.,]?"
    r"(?: (?P<day>\d{1,2})(?:st|nd|rd|th)?,?)? (?P<year>\d{4})\b",
    re.ASCII,
)
_DAY = re.compile(r"(?<![\w.])(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:T(?=\d)|(?!\w))", re.ASCII)
_CLOCK = re.compile(
    r"(?i)(?:(?<=\dT)|(?<![\w.:]))(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    rf"(?: ?(?P<half>[ap]m)\b)?(?: ?\(?(?P<zone>(?:{'|'.join(_ZONES)})\b|[-+]\d{{2}}:?\d{{2}}\b)\)?)?(?![\w:])",
    re.ASCII,
)


class Value(Struct, frozen=True):
    """A number in a `unit`, or the word for a `failure`, or other `text`; all None: nothing."""

    number: float | None = None
    unit: str | None = None
    failure: str | None = None
    text: str | None = None


def without_pictures(text: str) -> str:
    """A text without pictures, on one line."""
    return " ".join(_PICTURE.sub(" ", text).split())


@lru_cache(maxsize=2**14)
def plain(text: str) -> str:
    """A text without the signs of Markdown and pictures."""
    return without_pictures(_MARKUP.sub(lambda m: m["text"] or " " * m[0].startswith("<"), text))


def _bare(text: str) -> str:
    """A text without any signs beside its words."""
    return " ".join(_SIGN.sub(" ", plain(text)).split())


def number_of(text: str) -> float:
    """The number of a match of NUMBER: `-1,024.5`, also with the sign of print."""
    return float(text.replace(",", "").replace("\u2212", "-"))


@lru_cache(maxsize=2**14)
def value_of(text: str) -> Value:
    """What a cell says. `>40` and `about 3` are text: they state no value."""
    text = _bare(text)
    if text.casefold() in _NOTHING:
        return Value()
    if (found := _VALUE.fullmatch(text)) is not None:
        number = finite(number_of(found["number"]))
        if number is not None and not _FAILED.fullmatch(found["unit"] or ""):
            return Value(number, found["unit"])
    return Value(failure=text) if _FAILED.search(text) and len(text) <= 60 else Value(text=text)


def verdict_of(text: str) -> str | None:
    """`keep`, `discard`, `crash`, `checks_failed` or `passed`, as the first words of a status say; None for others."""
    text = _bare(text).casefold()
    if _NEGATED.search(text[:40]):
        return "discard"
    first = re.match(r"[a-z_]+", text.replace("checks failed", "checks_failed"))
    return _WORDS.get(first[0]) if first is not None else None


def commit_of(text: str) -> str | None:
    """The hash that a cell states."""
    found = _HASH.fullmatch(_bare(text).lower())
    return found[1] if found is not None else None


def moment_of(text: str) -> str | None:
    """The time that a cell states, as people write it, or in seconds or milliseconds since 1970; ISO 8601, UTC."""
    text = plain(text)
    if re.fullmatch(r"1\d{9}(?:\d{3})?(?:\.\d+)?", text):
        seconds = float(text) / (1000 if len(text.partition(".")[0]) == 13 else 1)
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    return split_time(text)[0]


def split_time(text: str) -> tuple[str | None, str]:
    """The time that a text states, ISO 8601 in UTC, and the text with bars in its place. The clock may stand apart from
    the day; without a zone it is UTC."""
    text = _SPELT.sub(_in_digits, text)
    if (day := _DAY.search(text)) is None:
        return None, text
    clock = _CLOCK.search(text, day.end()) or _CLOCK.search(text[: day.start()])
    stated = clock.groupdict() if clock is not None else {}
    hour, half = int(stated.get("hour") or 0), (stated.get("half") or "").lower()
    hour = hour % 12 + 12 * (half == "pm") if half else hour
    year, month, date = map(int, day.groups())
    minute, second = int(stated.get("minute") or 0), int(stated.get("second") or 0)
    try:
        zone = _zone(stated.get("zone") or "UTC")
        at = datetime(year, month, date, hour, minute, second, tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None, text
    for found in sorted(filter(None, (day, clock)), key=lambda m: -m.start()):
        text = f"{text[: found.start()]} | {text[found.end() :]}"
    return at.isoformat(timespec="seconds"), text


def _in_digits(spelt: re.Match[str]) -> str:
    """`2026-02-10` for `Feb 10, 2026` and `10 February 2026`; a month without a day stays."""
    day = spelt["day"] or spelt["first"]
    return f"{spelt['year']}-{_MONTHS.index(spelt['month'].lower()) + 1}-{day}" if day else spelt[0]


def _zone(text: str) -> tzinfo | None:
    return _ZONES.get(text.upper()) or datetime.strptime(text, "%z").tzinfo
