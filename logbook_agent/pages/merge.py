"""Tells apart what was edited by hand in an entry's block and what has changed in its records since.

Three texts matter: the block as the tool wrote it, the block as it stands in the view, and the block as
it would be written now. The first is gone, but its hash is not: it is put together from the other two,
part by part, until the hash fits. Then, for each part in which the two differ, it is known whose change
it is. Only when both changed the same part does no combination fit.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from logbook_agent.pages.entry_text import EntryText, TextPart

# The parts that may differ before the search for the first text is given up: 2 ** 14 hashes take a moment.
_MAX_DIFFERENCES = 14

Change = Literal["same", "by hand", "since"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One part as it would be written `now`, and as it stands in the `view`; None where it is missing."""

    now: TextPart | None
    view: TextPart | None
    change: Change = "same"

    @property
    def kept(self) -> TextPart | None:
        """The part after both changes."""
        return self.view if self.change == "by hand" else self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """`heading` and `slots` say whose change each difference is. Not `known`: no combination fitted, and
    every difference is called "by hand"."""

    known: bool
    heading: Change
    slots: tuple[Slot, ...]

    @property
    def differs(self) -> bool:
        return self.heading != "same" or any(s.change != "same" for s in self.slots)


def merge(now: EntryText, view: EntryText, is_first: Callable[[str], bool]) -> Merge:
    """The differences between a block as it would be written `now` and as it stands in the `view`, each with whose
    change it is. `is_first` says whether a text is the one that the tool wrote."""
    slots = list(_aligned(now.parts, view.parts))
    differing: list[int | None] = [i for i, s in enumerate(slots) if not _same(s)]
    if now.heading != view.heading:
        differing.append(None)
    known, by_hand = True, tuple(True for _ in differing)
    if differing:
        found = _first_text(now, view, slots, differing, is_first)
        known, by_hand = found is not None, found or by_hand
    changes: dict[int | None, Change] = {
        at: "by hand" if hand else "since" for at, hand in zip(differing, by_hand, strict=True)
    }
    return Merge(
        known=known,
        heading=changes.get(None, "same"),
        slots=tuple(Slot(now=s.now, view=s.view, change=changes.get(i, "same")) for i, s in enumerate(slots)),
    )


def _same(slot: Slot) -> bool:
    return slot.now is not None and slot.view is not None and slot.now.says == slot.view.says


def _first_text(
    now: EntryText,
    view: EntryText,
    slots: Sequence[Slot],
    differing: Sequence[int | None],
    is_first: Callable[[str], bool],
) -> tuple[bool, ...] | None:
    """For each difference, whether the first text had what would be written now: then the view was changed."""
    # The first choice tried is the text as it would be written now: mostly, nothing else has changed.
    choices = itertools.product((True, False), repeat=len(differing))
    for choice in choices if len(differing) <= _MAX_DIFFERENCES else itertools.islice(choices, 1):
        had = dict(zip(differing, choice, strict=True))
        parts = [s.now if had.get(i, True) else s.view for i, s in enumerate(slots)]
        head = now.head if had.get(None, True) else view.head
        if is_first("\n".join([head, *(p.raw for p in parts if p is not None)])):
            return choice
    return None


def _aligned(now: Sequence[TextPart], view: Sequence[TextPart]) -> Iterator[Slot]:
    """The parts of both in one order: those that say the same, then those with the same label, are pairs."""
    for tag, n0, n1, v0, v1 in _opcodes([p.says for p in now], [p.says for p in view]):
        if tag == "equal":
            yield from (Slot(now=n, view=v) for n, v in zip(now[n0:n1], view[v0:v1], strict=True))
            continue
        here, there = now[n0:n1], view[v0:v1]
        for inner, a0, a1, b0, b1 in _opcodes([p.label for p in here], [p.label for p in there]):
            if inner == "equal":
                yield from (Slot(now=n, view=v) for n, v in zip(here[a0:a1], there[b0:b1], strict=True))
            else:
                yield from (Slot(now=n, view=None) for n in here[a0:a1])
                yield from (Slot(now=None, view=v) for v in there[b0:b1])


def _opcodes(first: Sequence[Hashable], second: Sequence[Hashable]) -> Sequence[tuple[str, int, int, int, int]]:
    return difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
