"""Experiment IDs: `PREFIX-NNN`, three digits and more when needed."""

from __future__ import annotations

import re
from collections.abc import Iterable

PREFIX = re.compile(r"[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*")
ID = re.compile(rf"(?P<prefix>{PREFIX.pattern})-(?P<number>\d{{3,}})")
_TYPED = re.compile(rf"(?P<prefix>{PREFIX.pattern})-(?P<number>\d{{1,9}})", re.ASCII | re.IGNORECASE)
_RUN_DIGITS = 9
TOPIC = re.compile(r"[a-z0-9][a-z0-9_-]*")


def format_id(prefix: str, number: int) -> str:
    """`format_id("MOE-I8", 3) == "MOE-I8-003"`."""
    return f"{prefix}-{number:03d}"


def parse_id(text: str) -> tuple[str, int] | None:
    """Prefix and number of an ID; None when the text is not exactly one (`X-0003` is not `X-003`)."""
    match = ID.fullmatch(text)
    if match is None:
        return None
    prefix, number = match["prefix"], int(match["number"])
    return (prefix, number) if format_id(prefix, number) == text else None


def is_up_to(entry_id: str, last: str | None) -> bool:
    """Whether the number of an entry is at most that of the last one."""
    own, end = parse_id(entry_id), parse_id(last or "")
    return own is not None and end is not None and own[1] <= end[1]


def typed_id(text: str) -> str:
    """An ID as people type it, in its one form: `s-2` is `S-002`. Other texts as they are."""
    match = _TYPED.fullmatch(text)
    return format_id(match["prefix"].upper(), int(match["number"])) if match is not None else text


def id_number(entry_id: str, prefix: str) -> int | None:
    """The number of an ID that belongs to `prefix`, else None. (No pattern: it is asked ten thousand times.)"""
    head, _, digits = entry_id.rpartition("-")
    if head != prefix or not (digits.isascii() and digits.isdigit()):
        return None
    number = int(digits)
    return number if digits == f"{number:03d}" else None


def run_number(name: str) -> int | None:
    """The number of a run from the name of its folder: two digits and more, from 01 on. None for any other name."""
    if not (name.isascii() and name.isdigit()) or len(name) > _RUN_DIGITS:
        return None
    number = int(name)
    return number if number and name == f"{number:02d}" else None


def sorted_ids(names: Iterable[str], prefix: str) -> list[str]:
    """Those of `names` that are IDs of `prefix`, by number."""
    start = f"{prefix}-"
    found = sorted((n for n in names if n.startswith(start)), key=lambda n: (len(n), n))
    # One pattern over all of them, instead of ten thousand questions one by one.
    if re.fullmatch(rf"(?:{re.escape(start)}(?:\d{{3}}|[1-9]\d{{3,}})\n)*", "\n".join([*found, ""])):
        return found
    return [n for n in found if id_number(n, prefix) is not None]
