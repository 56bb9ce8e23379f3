"""Numbers of runs: `2`, and `2.p2m4a` where another run of the entry has that number, too."""

from __future__ import annotations

import re

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
