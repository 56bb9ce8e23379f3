"""Suggests the nearest valid choice for a mistyped name, as a hint that can be pasted."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that is nearly this one, if there is one."""
    from difflib import get_close_matches  # only errors need it

    near = get_close_matches(word.casefold(), list(words), n=1, cutoff=0.75)
    return near[0] if near else None


def choice(option: str, given: str, words: Iterable[str]) -> str:
    """`--kind decision` for `decsion`; for a word that is near to none each of them, so that nobody takes a guess of
    ours for what was meant."""
    all_ = list(words)
    near = nearest(given, all_)
    return f"{option} {near}" if near else f"one of: {', '.join(f'{option} {word}' for word in all_)}"
