"""Numbers of things, and lists of them, as a sentence says them."""

from __future__ import annotations

from collections.abc import Sequence


def listed(texts: Sequence[str], most: int = 20, joint: str = ", ") -> str:
    """`2, 4, 8 and 3 more`: as many as are shown, and how many others there are."""
    more = len(texts) - most
    return joint.join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")


def bounded(lines: Sequence[str], most: int, rest: str = "more") -> list[str]:
    """The first lines, and one that counts the others: `and 3 more`, or with a `rest` that says where they are."""
    left_out = len(lines) - most
    return [*lines[:most], *([f"and {left_out:,} {rest}"] if left_out > 0 else [])]


def size_text(count: int) -> str:
    """So many bytes: `812 B`, `12.3 KiB`, `4.2 GiB`."""
    if count < 1024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, 4)
    return f"{count / 1024**power:.1f} {'KMGT'[power - 1]}iB"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """`1 run`, `3 runs`; `plural` where it is not the noun with an s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
