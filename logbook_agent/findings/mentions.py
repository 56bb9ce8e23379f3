"""What entries say of one another, from their files alone: they are read from the last one back, as far as is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from logbook_agent.findings.standing import Standing, Summary, standing_of
from logbook_agent.findings.thread import said_by
from logbook_agent.model.entry import DECISION, INVERSE, NEGATIVE_RESULT, Entry
from logbook_agent.model.errors import StoreError
from logbook_agent.store.book import Book

# A file without any of these says nothing of other entries, and nothing for the lists below a view.
_RELATIONS = tuple(f"\n{name}:" for name in INVERSE)
_KEEPS = "\ncomparisons:"
_LISTED = (DECISION.casefold(), NEGATIVE_RESULT.casefold())


class Mentions:
    """The entries in their order. `read` gives one of them. A file is read once, and parsed where it says something.

    An entry speaks of earlier ones, so that of a new entry no other file is read; but one that was renumbered may be
    older than those that its new number comes after. What cannot be read is reported where it is shown.
    """

    def __init__(self, book: Book, order: Sequence[str], read: Callable[[str], Entry]) -> None:
        self._book, self._order, self._read = book, order, read
        self._place = {entry_id: place for place, entry_id in enumerate(order)}
        self._unread = len(order)
        self._texts: dict[str, str] = {}
        self._said_of: dict[str | None, list[Summary]] = {}

    def standing(self, entry: Entry) -> Standing:
        """Where this entry stands. Of those that take it up, only those that complete or supersede it are known."""
        self._read_behind(entry)
        return standing_of(entry.id, entry.state or "noted", self._said_of.get(entry.id, ()))

    def keepers(self, entry: Entry) -> list[str]:
        """The entries that keep a comparison with the rows of this one."""
        self._read_behind(entry)
        found = [self._parsed(i) for i, text in self._texts.items() if _KEEPS in text and entry.id in text]
        return [e.id for e in found if e is not None and any(entry.id in c.entries for c in e.comparisons)]

    def entries(self) -> list[Entry]:
        """Every entry that says something of others, or for the lists below a view."""
        self._read_back_to(0)
        found = (self._parsed(i) for i in self._order if i in self._texts)
        return [entry for entry in found if entry is not None]

    def _read_behind(self, entry: Entry) -> None:
        self._read_back_to(0 if entry.aliases else self._place.get(entry.id, -1) + 1)

    def _read_back_to(self, first: int) -> None:
        for entry_id in reversed(self._order[first : self._unread]):
            try:
                text = self._book.entry_text(entry_id)
            except StoreError:
                continue
            folded = text.casefold()
            if not any(key in folded for key in (*_RELATIONS, _KEEPS, *_LISTED)):
                continue
            self._texts[entry_id] = text
            entry = self._parsed(entry_id) if any(key in text for key in _RELATIONS) else None
            if entry is not None:
                for target in {getattr(entry, name) for name in INVERSE} - {None}:
                    self._said_of.setdefault(target, []).insert(0, said_by(entry))
        self._unread = min(self._unread, first)

    def _parsed(self, entry_id: str) -> Entry | None:
        try:
            return self._read(entry_id)
        except StoreError:
            return None
