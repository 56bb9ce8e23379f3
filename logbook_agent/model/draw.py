"""An order drawn by chance, that a seed makes again on any machine."""

from __future__ import annotations

import hashlib


def drawn(text: str) -> bytes:
    """What sorts things by chance, whatever Python it is: things named `SEED NAME` stand in a random order by it."""
    return hashlib.sha256(text.encode()).digest()


def order_of_round(seed: int, number: int, count: int) -> list[int]:
    """In which order `count` values (from 0) are run in a round, by a fair draw of its own for each round (from 1)."""
    return sorted(range(count), key=lambda value: drawn(f"{seed} {number} {value}"))
