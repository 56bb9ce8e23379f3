"""The diffs and small files of the code that ran: in code/ of a logbook, each under the digest of its content, so that
all runs of one code share them. Workers, and earlier versions, write them beside the record of each run."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Code
from logbook_agent.store.files import make_folder, remove, remove_folder, write_atomic
from logbook_agent.store.reading import PROSE_BYTES, names_in, read_bytes

FOLDER = "code"
DIFF, FILES = "changes.diff", "files"
_DIGEST_CHARS = 16


def shared_code(book: Path, run: Path, code: Code, *, within: Path) -> tuple[Code, list[Path]]:
    """The code of a run with its files in the folder `book` of the logbook; and those that lie in the folder `run`,
    which nobody needs once a record names the others."""
    found: list[Path] = []

    def shared(name: str | None) -> str | None:
        place = Path(name or "")
        path = run / place
        if (name != DIFF and place.parent != Path(FILES)) or not path.is_file():
            return name
        with contextlib.suppress(StoreError):  # a link that somebody put there
            data = read_bytes(path, within=within, limit=PROSE_BYTES)
            digest = hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]
            # Without the number that tells two files of one name apart.
            kept = f"{digest}.diff" if name == DIFF else f"{digest}-{place.name.partition('-')[2]}"
            if not (book / FOLDER / kept).exists():
                make_folder(book / FOLDER, within=within)
                write_atomic(book / FOLDER / kept, data, within=within, durable=False)
            found.append(path)
            return f"{FOLDER}/{kept}"
        return name

    untracked = tuple(dataclasses.replace(file, kept=shared(file.kept)) for file in code.untracked)
    return dataclasses.replace(code, diff_kept=shared(code.diff_kept), untracked=untracked), found


def remove_copies(found: Sequence[Path], *, within: Path) -> None:
    """Remove files from the folder of a run, and the folder of its files when it is empty."""
    for path in found:
        remove(path, within=within)
    for folder in {path.parent for path in found if path.parent.name == FILES}:
        if not names_in(folder, within=within):
            remove_folder(folder, within=within)
