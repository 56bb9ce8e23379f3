"""What a cell or a word of a log says: a number with its unit, nothing, a failure, a verdict, a commit, a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

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
_EMOJI = re.compile(
    "[\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]"
)
_HASH = re.compile(r"(?P<commit>[0-9a-f]{7,40})(?P<dirty>[+*]|-dirty| ?\(dirty\))?")
# The first words of a status, by what they say of an experiment.
_VERDICTS = {
    "keep": "keep kept accept accepted adopt adopted merge merged win winner improved promoted baseline",
    "discard": "discard discarded reject rejected revert reverted drop dropped worse regressed abandoned negative no",
    "crash": "crash crashed fail failed error oom killed timeout timed aborted broken diverged",
    "checks_failed": "checks_failed check_failed invalid incorrect wrong",
}
_WORDS = {word: verdict for verdict, words in _VERDICTS.items() for word in words.split()}
_NEGATED = re.compile(r"(?i)\bnot (?:adopted|kept|accepted|merged|promoted)\b")
_ZONES: dict[str, float] = {
    "UTC": 0,
    "GMT": 0,
    "Z": 0,
    "PST": -8,
    "PDT": -7,
    "MST": -7,
    "MDT": -6,
    "CST": -6,
    "CDT": -5,
    "EST": -5,
}
_ZONES |= {"EDT": -4, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "IST": 5.5, "JST": 9, "KST": 9}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = rf"(?P<{{}}>{'|'.join(_MONTHS)})[a-z]*\.?"
_DAY = (
    r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
    rf"(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\.? {_MONTH.format('name2')},? (?P<year2>\d{{4}})",
    rf"{_MONTH.format('name3')} (?P<day3>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year3>\d{{4}})",
    r"(?P<day4>\d{1,2})\.(?P<month4>\d{1,2})\.(?P<year4>\d{4})",
)
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?(?: ?(?P<half>[ap]m)\b)?"
_ZONE = rf"(?P<zone>(?:{'|'.join(_ZONES)})\b|[-+]\d{{2}}:?\d{{2}}\b)"
TIME = re.compile(
    rf"(?i)(?<![\w.])(?:{'|'.join(_DAY)})(?:[T ,]{{1,3}}(?:at )?{_CLOCK})?(?: ?\(?{_ZONE}\)?)?(?![\w])", re.ASCII
)
# A clock that stands apart from its day.
CLOCK = re.compile(rf"(?i)(?<![\w.:]){_CLOCK}(?: ?\(?{_ZONE}\)?)?(?![\w:])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Value:
    """A number in a `unit`, or the word for a `failure`, or other `text`; all None: nothing."""

    number: float | None = None
    unit: str | None = None
    failure: str | None = None
    text: str | None = None


def without_pictures(text: str) -> str:
    return " ".join(_EMOJI.sub(" ", text).split())


@lru_cache(maxsize=2**14)
def plain(text: str) -> str:
    """A text without the signs of Markdown and pictures."""
    return without_pictures(_MARKUP.sub(lambda m: m["text"] or " " * m[0].startswith("<"), text))


def number_of(text: str) -> float:
    """The number of a match of NUMBER: `-1,024.5`, also with the sign of print."""
    return float(text.replace(",", "").replace("\u2212", "-"))


@lru_cache(maxsize=2**14)
def value_of(text: str) -> Value:
    """What a cell says. `>40` and `about 3` are text: they state no value."""
    text = plain(text)
    if text.casefold() in _NOTHING:
        return Value()
    if (found := _VALUE.fullmatch(text)) is not None:
        number = finite(number_of(found["number"]))
        if number is not None and not _FAILED.fullmatch(found["unit"] or ""):
            return Value(number, found["unit"])
    return Value(failure=text) if _FAILED.search(text) and len(text) <= 60 else Value(text=text)


def verdict_of(text: str) -> str | None:
    """`keep`, `discard`, `crash` or `checks_failed`, as the first words of a status say; None for another one."""
    text = plain(text).casefold()
    if _NEGATED.search(text[:40]):
        return "discard"
    first = re.match(r"[a-z_]+", text.replace("checks failed", "checks_failed"))
    return _WORDS.get(first[0]) if first is not None else None


def commit_of(text: str) -> tuple[str | None, bool]:
    """The hash that a cell states, and whether it says that the tree was not clean."""
    found = _HASH.fullmatch(plain(text).lower())
    return (found["commit"], found["dirty"] is not None) if found is not None else (None, False)


def moment_of(text: str, zone: tzinfo = UTC) -> str | None:
    """A time in UTC, ISO 8601: that of a cell, in seconds or milliseconds since 1970 or as people write it."""
    text = plain(text)
    if re.fullmatch(r"1\d{9}(?:\d{3})?(?:\.\d+)?", text):
        seconds = float(text) / (1000 if len(text.partition(".")[0]) == 13 else 1)
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    found = TIME.search(text)
    return stated(found, CLOCK.search(text, found.end()) if found["hour"] is None else None, zone) if found else None


def stated(day: re.Match[str], clock: re.Match[str] | None, zone: tzinfo) -> str | None:
    """The time of a match of TIME, whose clock may stand apart; None for a day that no calendar has."""
    at = {
        name: next((day[f"{name}{n}"] for n in ("", 2, 3, 4) if day.groupdict().get(f"{name}{n}")), None)
        for name in ("year", "month", "name", "day")
    }
    of = clock or day
    name = (at["name"] or "").lower()[:3]
    hour = int(of["hour"] or 0) % (12 if of["half"] else 24) + 12 * ((of["half"] or "").lower() == "pm")
    own = next((m["zone"] for m in (clock, day) if m is not None and m["zone"]), None)
    try:
        found = datetime(
            int(at["year"] or 0),
            _MONTHS.index(name) + 1 if name else int(at["month"] or 0),
            int(at["day"] or 0),
            hour,
            int(of["minute"] or 0),
            int(of["second"] or 0),
            tzinfo=_zone(own) if own is not None else zone,
        )
        return found.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return None


def _zone(text: str) -> timezone:
    """The zone of an abbreviation, or of `+01:00`."""
    if text.upper() in _ZONES:
        return timezone(timedelta(hours=_ZONES[text.upper()]))
    digits = text[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
