"""What has come of the folder of a run on another machine: a copy that grows in the client's spool.

A piece that came before is written again as it was, so it does not matter who brings it, or how often.
"""

from __future__ import annotations

from pathlib import Path

from logbook_agent.cluster.far import FILES, FINAL, FOLDERS
from logbook_agent.model.errors import StoreError
from logbook_agent.store.spool import BEGAN, HEARTBEAT, Spool

# Of one file; of an end, which is kept in memory.
MOST_BYTES, MOST_END_BYTES = 2**30, 2**25
# Of the path of a file.
_MOST_PARTS = 10


class FarFiles:
    """Brings pieces of files into spools. An end is kept back until the other files are there."""

    def __init__(self) -> None:
        self._ends: dict[Path, bytes] = {}
        # What came last of the files that are replaced as a whole.
        self._records: dict[tuple[Path, str], bytes] = {}

    def bring(self, spool: Spool, name: str, at: int, data: bytes) -> None:
        """Write a piece of a file; nothing for what is no file of a run, and once the run was taken in. Raises
        StoreError."""
        if not spool.folder.is_dir():
            return
        most = MOST_END_BYTES if name == FINAL else MOST_BYTES
        if at + len(data) > most or at < 0:
            raise StoreError(f"cannot bring {name}", cause=f"it has more than {most >> 20} MiB")
        if name == FINAL:
            self._ends[spool.folder] = self._ends.get(spool.folder, b"")[:at] + data
        elif name in (BEGAN, HEARTBEAT) and at == 0:
            if self._records.get((spool.folder, name)) != data:
                spool.files.write(name, data, durable=False)
                self._records[spool.folder, name] = data
        elif name in FILES or _is_kept(name):
            spool.files.make((spool.folder / name).parent)
            spool.files.write_at(name, at, data)

    def finish(self, spool: Spool, *, has_end: bool = True) -> None:
        """All files of a run are there: write its end. Raises StoreError."""
        end = self._ends.pop(spool.folder, None)
        if has_end and end is not None:
            spool.files.write(FINAL, end)

    def sizes(self, spool: Spool) -> dict[str, int]:
        """How much of each file has come."""
        paths = [spool.folder / name for name in FILES]
        paths += [path for name in FOLDERS for path in (spool.folder / name).rglob("*")]
        found = {path.relative_to(spool.folder).as_posix(): path.stat().st_size for path in paths if path.is_file()}
        return found if (end := self._ends.get(spool.folder)) is None else {**found, FINAL: len(end)}


def _is_kept(name: str) -> bool:
    """Whether this is a file of the code or of the command."""
    parts = Path(name).parts
    return 1 < len(parts) < _MOST_PARTS and parts[0] in FOLDERS and ".." not in parts
