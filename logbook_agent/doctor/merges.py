"""Conflicts of a merge: git stops at an entry or a header that both sides edited, and a person resolves it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.doctor.damaged import every_run
from logbook_agent.doctor.examination import Examination
from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Run
from logbook_agent.running.provenance.conflicts import unmerged_below
from logbook_agent.store.layout import RUN_BYTES
from logbook_agent.store.trouble import Trouble

_MARKERS = b"<<<<<<< ", b"=======", b">>>>>>> "


def check_merges(examination: Examination) -> Iterator[Trouble]:
    """Files in conflict, and records with conflict markers of which git's index says nothing any more."""
    book = examination.book
    unmerged = {book.folder / path: sides for path, sides in unmerged_below(book.folder).items()}
    # What can be read as a record is JSON, in which no line starts with a marker.
    runs = (found.path for found in every_run(book) if not isinstance(found.run, Run))
    for path in (*unmerged, *sorted(book.entries_folder.glob("*.yaml")), *runs):
        line = _marked_line(examination, path)
        if path in examination.reported or (line is None and path not in unmerged):
            continue
        examination.reported.add(path)
        typed = f"git add -- {examination.workspace.shown(path)}"
        if path not in unmerged:
            message, mend = (
                "holds conflict markers, which were added to git",
                f"keep one version of each part, then: {typed}",
            )
        else:
            message = f"in conflict: {'both sides changed it' if len(unmerged[path]) == 2 else 'one side removed it'}"
            mend = f"resolve it in the file, then type: {typed}" if line or not os.path.lexists(path) else typed
        yield Trouble("error", "merge", path, message, mend, line=line)


def _marked_line(examination: Examination, path: Path) -> int | None:
    """The line, from 1, of the first conflict marker in a file; None where it has not all three."""
    try:
        data = examination.book.files.read(path, limit=RUN_BYTES)
    except StoreError:
        return None
    lines = data.split(b"\n") if _MARKERS[0] in data else []
    found = [next((n for n, line in enumerate(lines, 1) if line.startswith(marker)), None) for marker in _MARKERS]
    return found[0] if all(found) else None
