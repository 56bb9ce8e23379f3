"""Scalars as text gives them, and the form in which two of them are compared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from logbook_agent.model.errors import UsageError

# The values that config may take.
Scalar = str | int | float | bool | None

# A leading zero makes a word (a commit, a date part), not a number.
_INT = re.compile(r"[+-]?(?:0|[1-9]\d{0,299})", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
# `none` stays a word: it is a value of many flags (`--quant-mode none`).
_WORDS: dict[str, Scalar] = {"true": True, "True": True, "false": False, "False": False}
_WORDS |= {"null": None, "None": None}

Key = tuple[tuple[str, str], ...]


class Spelt(float):
    """A number that a command gets as it was written: 1.50."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def parse_scalar(text: str) -> Scalar:
    """The number, true / false or null that `text` is, else the text itself. `nan` and `inf` are text."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > 300:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        return value if math.isfinite(value) else text
    return text


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def finite(value: object) -> float | None:
    """`value` as a finite float; None when it is none."""
    if not is_number(value):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def is_not_finite(text: object) -> bool:
    """Whether `text` spells nan or an infinity."""
    return isinstance(text, str) and _NOT_FINITE.fullmatch(text) is not None


def as_written(value: Any) -> str:
    """A word that YAML may have read as a number or switch."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def spelt(value: Scalar) -> str:
    """A value as one types it: as it was given, if it was not true, false or null."""
    return "null" if value is None else as_written(value)


def canonical(value: Scalar) -> str:
    """One text for every spelling of a value: 0.1, "0.10" and 1e-1 agree, and so do 2 and 2.0."""
    if isinstance(value, str):
        parsed = parse_scalar(value)
        return value if isinstance(parsed, str) else canonical(parsed)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _canonical_int(value)
    if value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(value)


def _canonical_int(value: int) -> str:
    if abs(value) < 2**53:
        return str(value)
    try:
        as_float = float(value)
    except OverflowError:
        return hex(value)
    return repr(as_float) if int(as_float) == value else str(value)


_DIGEST = re.compile(r"(?<![a-z0-9])(?:checksum|digest|hash|sha1|sha256|sha512|md5|crc|crc32)(?![a-z0-9])")
_OF_CODE = re.compile(r"(?<![a-z0-9])(?:git|commit|code|build|binary|config)(?![a-z0-9])")


def is_digest_name(name: str) -> bool:
    """Whether a name, such as `checksum` or `output_sha256`, is that of a digest of what a program put out."""
    return bool(_DIGEST.search(name.lower())) and not _OF_CODE.search(name.lower())


def varied(configs: Iterable[Mapping[str, Scalar]]) -> list[str]:
    """The names whose values differ between configs, or that some of them lack."""
    found = list(configs)
    names = dict.fromkeys(name for config in found for name in config)
    return [name for name in names if len({canonical(config.get(name)) for config in found}) > 1]


def row_key(config: Mapping[str, Scalar]) -> Key:
    """What identifies a case: its config, by name, values canonical."""
    return tuple(sorted((name, canonical(value)) for name, value in config.items()))


def parse_pair(text: str, option: str) -> tuple[str, str]:
    """Key and value of `KEY=VALUE`, or of `KEY:VALUE` where no = is. Raises UsageError, which says how `option` is
    written."""
    key, separator, value = text.partition("=" if "=" in text else ":")
    if not separator or not key.strip() or "\n" in key.strip():
        raise UsageError(
            f"{option} {text!r} is not KEY=VALUE",
            cause="the = or the key is missing, or the key is of several lines",
            hint=f"{option} topk=2",
        )
    return key.strip(), value


def parse_values(texts: Iterable[str], option: str) -> dict[str, Scalar]:
    """As `parse_pair`, each value as number, true, false or text; `topk=2,experts=4` are two."""
    parts = (part for text in texts for part in re.split(r",(?=[A-Za-z_]\w*=)", text))
    return {key: parse_scalar(value.strip()) for key, value in (parse_pair(part, option) for part in parts)}


# -- numbers of runs: `2`, and `2.p2m4a` where another run of the entry has that number, too -------


# Behind a number: what tells it from the same number of another clone. (Base 32 without i, l, o and u.)
UID_CHARS = "0123456789abcdefghjkmnpqrstvwxyz"
UID = re.compile(rf"[{UID_CHARS}]{{5}}")
_DIGITS = 9


def run_number(name: str) -> int | None:
    """The number of a run from the name of its folder: two digits and more, from 01 on, alone or with five characters
    behind (`01.p2m4a`). None for any other name."""
    digits, dot, uid = name.partition(".")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _DIGITS or (dot and not UID.fullmatch(uid)):
        return None
    number = int(digits)
    return number if number and digits == f"{number:02d}" else None


class TwinRun(int):
    """The number of a run with what tells it from the same number of another clone. It is written `2.p2m4a`."""

    uid: str

    def __new__(cls, number: int, uid: str) -> TwinRun:
        self = super().__new__(cls, number)
        self.uid = uid
        return self

    def __getnewargs__(self) -> tuple[int, str]:  # type: ignore[override]
        return int(self), self.uid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TwinRun) and int(self) == int(other) and self.uid == other.uid

    def __hash__(self) -> int:
        return hash((int(self), self.uid))

    def __lt__(self, other: int) -> bool:
        return (int(self), self.uid) < (int(other), getattr(other, "uid", ""))

    def __gt__(self, other: int) -> bool:
        return (int(self), self.uid) > (int(other), getattr(other, "uid", ""))

    def __format__(self, spec: str) -> str:
        return f"{int(self):{spec}}.{self.uid}"

    def __str__(self) -> str:
        return f"{self}"


def typed_run(text: str) -> int | None:
    """The number of a run as people type it, or as its folder is called: `2`, `02`, `2.p2m4a`. None for other texts."""
    digits, _, uid = text.lower().partition(".")
    number = run_number(f"{digits:0>2}.{uid}" if "." in text else f"{digits:0>2}")
    return TwinRun(number, uid) if number is not None and uid else number
