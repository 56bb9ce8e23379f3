"""Text from records as a picture may hold it, and numbers on its axes."""

from __future__ import annotations

import re

# What XML cannot hold, and what shows nothing or turns the order of other text around.
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_BLANKS = re.compile(r"\s+")
_SUFFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))


def plain(text: str) -> str:
    """Text on one line in which every character is seen and stands where it is read."""
    return _BLANKS.sub(" ", _UNSHOWN.sub("\ufffd", text.replace("\n", " ").replace("\t", " "))).strip()


def cut(text: str, characters: int) -> str:
    """As much of a text as there is room for; the end says more than the middle, which is left out."""
    text = plain(text)
    if len(text) <= characters:
        return text
    end = characters // 3
    return f"{text[: characters - end - 1]}…{text[-end:]}"


def tick(value: float) -> str:
    """A number on an axis: `12.5`, `40,000`, `1.2G`."""
    if value == 0:
        return "0"
    size = abs(value)
    for least, suffix in _SUFFIXES:
        if size >= least:
            return f"{value / least:,.4g}{suffix}" if size < 1e18 else f"{value:.3g}"
    return f"{value:,.6g}" if size >= 1e-4 else f"{value:.3g}"


def exact(value: float | str) -> str:
    """A value as an attribute holds it: reading it gives the same number."""
    return plain(value) if isinstance(value, str) else repr(float(value))
