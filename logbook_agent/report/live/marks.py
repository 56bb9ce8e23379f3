"""Whether a logbook has changed on disk, told from what the system says of its files: none is opened, none is locked.

What a command changes shows in its folders at once; a file that an editor writes in place, or that git replaces, may
show in the file alone. Folders are looked at each time, files as often as one two-hundredth of the time allows.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from logbook_agent.store.book import Book

# The part of a processor that each level may take, and the shortest pause between two looks (s).
_PART = 0.005
_ENTRIES_S, _RUNS_S = 0.5, 1.0


@dataclass(slots=True)
class _Level:
    look: Callable[[], Hashable]
    least_s: float
    found: Hashable = None
    due: float = float("-inf")

    def has_changed(self) -> bool:
        began = time.monotonic()
        if began < self.due:
            return False
        found = self.look()
        now = time.monotonic()
        self.due = now + max(self.least_s, (now - began) / _PART)
        has, self.found = found != self.found, found
        return has


class Marks:
    """What was last seen of a logbook's files. A store that is not there is one that looks so."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._levels = (
            _Level(look=self._folders, least_s=0.0),
            _Level(look=self._entries, least_s=_ENTRIES_S),
            _Level(look=self._runs, least_s=_RUNS_S),
        )

    def have_changed(self) -> bool:
        """Whether anything is not as it was at the last look; True at the first one."""
        # Each of them, whatever the others say: what is seen now is not told again.
        changed = [level.has_changed() for level in self._levels]
        return any(changed)

    def _folders(self) -> Hashable:
        book = self._book
        places = (book.header_path, book.entries_folder, book.runs_folder, book.open_folder, book.state_folder)
        return tuple(_mark(os.fspath(place)) for place in places if place is not None)

    def _entries(self) -> Hashable:
        found = []
        with contextlib.suppress(OSError), os.scandir(self._book.entries_folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    state = entry.stat(follow_symlinks=False)
                    found.append((entry.name, state.st_ctime_ns, state.st_size))
        return hash(tuple(sorted(found)))

    def _runs(self) -> Hashable:
        found = []
        with contextlib.suppress(OSError), os.scandir(self._book.runs_folder) as entries:
            for entry in entries:
                # A record that is written in place shows in its file alone, a log that was pruned in the folder.
                with contextlib.suppress(OSError), os.scandir(entry.path) as runs:
                    found += [(run.path, _mark(run.path), _mark(f"{run.path}/run.json")) for run in runs]
        return hash(tuple(sorted(found)))


def _mark(path: str) -> tuple[int, int, int] | None:
    """The inode of a file or folder, its last change and its size; None where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns, found.st_size
