"""What was said of entries and took long to find, in the disposable index: text under a key.

The key names everything that the text follows from; another key finds nothing. Nothing here raises: what cannot be had
is made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from logbook_agent.store import index_file


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidIndex:
    """The texts of one logbook, one for each place: an ID, or what else is said of an entry."""

    path: Path
    within: Path

    def get(self, entry_id: str, key: str) -> str | None:
        """The text that was kept for an entry under this key."""
        import sqlite3

        if not self.path.exists():
            return None
        try:
            with index_file.opened(self.path, self.within) as database:
                found = database.execute("SELECT value FROM said WHERE id = ? AND key = ?", (entry_id, key)).fetchone()
                return found[0] if found is not None and isinstance(found[0], str) else None
        except (sqlite3.OperationalError, OSError):
            return None
        except sqlite3.DatabaseError:
            index_file.remove(self.path, self.within)
            return None

    def put(self, entry_id: str, key: str, value: str) -> None:
        """Keep a text in place of the one kept before."""
        import sqlite3

        try:
            with index_file.opened(self.path, self.within) as database:
                database.execute("INSERT OR REPLACE INTO said VALUES (?, ?, ?)", (entry_id, key, value))
        except (sqlite3.OperationalError, OSError):
            return
        except sqlite3.DatabaseError:
            index_file.remove(self.path, self.within)
