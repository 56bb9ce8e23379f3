"""A logbook whose records stay in memory while their files do not change, for whoever looks again and again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import Record
from logbook_agent.store.book import Book
from logbook_agent.store.cache import RACY_NS, KeptSummaries, Stamp

if TYPE_CHECKING:
    from logbook_agent.model.summary import Summary

# Of the file of an entry (its last change and size), and of each of its runs.
_EntryStamp = tuple[int, int]
_RecordStamp = tuple[_EntryStamp, tuple[tuple[int, tuple[int, int]], ...]]


class CachedBook(Book):
    """As `Book`, for a process that goes on and writes nothing. A file that changed less than a second ago is read
    again: a second change could not be told from the first."""

    is_outgoing = True

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._entries: dict[str, tuple[_EntryStamp, Entry]] = {}
        self._records: dict[str, tuple[_RecordStamp, Record]] = {}
        self._kept: _KeptHere | None = None

    def entry(self, entry_id: str) -> Entry:
        """As `Book.entry`."""
        stamp = self._entry_stamp(entry_id)
        known = self._entries.get(entry_id)
        if known is not None and known[0] == stamp:
            return known[1]
        found = super().entry(entry_id)
        if stamp is not None and _is_old(stamp[0]):
            self._entries[entry_id] = (stamp, found)
        return found

    def record(self, entry_id: str) -> Record:
        """As `Book.record`. What has not ended is read again: its state follows from living processes."""
        own = self._entry_stamp(entry_id)
        if own is None:
            return super().record(entry_id)
        stamp = (own, tuple(self.run_stamps(entry_id).items()))
        known = self._records.get(entry_id)
        if known is not None and known[0] == stamp:
            return known[1]
        found = super().record(entry_id)
        changed = max([own[0], *(run[0] for _, run in stamp[1])])
        if _is_old(changed) and all(s.run.exit is not None for s in found.runs):
            self._records[entry_id] = (stamp, found)
        return found

    def kept_summaries(self, version: str, secrets: Sequence[bytes]) -> KeptSummaries:
        """As `Book.kept_summaries`, read from its file once."""
        if self._kept is None or self._kept.version != version:
            self._kept = _KeptHere(self.cache, version)
            self._kept.load(secrets)
        return self._kept

    def _entry_stamp(self, entry_id: str) -> _EntryStamp | None:
        try:
            found = self.entry_path(entry_id).lstat()
        except (OSError, ValueError, LogbookError):
            return None
        return found.st_ctime_ns, found.st_size


class _KeptHere(KeptSummaries):
    """Summaries that also know what was saved."""

    def save(self, fresh: Mapping[str, tuple[Stamp, Summary]], ids: Iterable[str]) -> None:
        there = set(ids)
        KeptSummaries.save(self, fresh, there)
        self.known = {i: found for i, found in self.known.items() if i in there}
        self.known.update({i: (s.text, summary) for i, (s, summary) in fresh.items() if _is_old(s.newest_ns)})


def _is_old(changed_ns: int) -> bool:
    return time.time_ns() - changed_ns > RACY_NS
