"""Where an export is written. It may replace only an unchanged earlier export of the same form."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.exports import frames
from logbook_agent.exports.columns import FIRST_COLUMNS, csv_head, is_column
from logbook_agent.exports.curve_rows import OPENINGS
from logbook_agent.exports.row_data import OPENING
from logbook_agent.model.errors import StoreError, Taken, UsageError
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import SETTINGS_BYTES
from logbook_agent.store.workspace import Workspace

# In each folder that an export made: its form, and the digests of its files.
MANIFEST = "logbook-export.json"
_SCHEMA = "logbook-export/1"
FOLDER = "exports"
# By form the ending of its file; empty: a folder.
ENDINGS = {
    "csv": ".csv",
    "parquet": ".parquet",
    "json": ".json",
    "mlflow": "",
    "wandb-offline": "",
    "trackio": "",
}
_HEAD_BYTES = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlace:
    """The path of an export of a form (`csv`), the folder it is written through. `curves`: of their points."""

    form: str
    path: Path
    files: Folder
    curves: bool = False


def place_of(workspace: Workspace, book: Book, form: str, out: str | None, *, curves: bool = False) -> ExportPlace:
    """Where `--out` says (in a folder that is there: under the logbook's name), else `exports/` beside the records,
    which git ignores. Raises UsageError for a folder that is not there."""
    name = f"{book.topic}-curves" if curves else book.topic
    name += ENDINGS[form] or f"-{form}"
    if out is None:
        folder = book.folder / FOLDER
        book.files.make(folder)
        if not os.path.lexists(folder / ".gitignore"):
            book.files.write(folder / ".gitignore", "# Made by `logbook export`, from the records.\n*\n")
        return ExportPlace(form=form, path=folder / name, files=book.files, curves=curves)
    path = Path(os.path.normpath(workspace.cwd / Path(out).expanduser()))
    if ENDINGS[form] and path.is_dir():
        path = path / name
    if not path.parent.is_dir():
        raise UsageError(
            f"cannot write {out}: there is no folder {path.parent}",
            cause="logbook export does not create parent folders",
            hint=f"mkdir -p {path.parent}",
        )
    return ExportPlace(form=form, path=path, files=Folder(path.parent), curves=curves)


def check_replaceable(place: ExportPlace) -> None:
    """Raise Taken for anything at the place but an earlier export of this form, or an empty folder.

    A folder must be unchanged. A file holds no digest of itself: it must begin like an export, a table with the header
    line as it is written here, with no column but ours."""
    if not os.path.lexists(place.path):
        return
    ours = _is_our_file(place) if ENDINGS[place.form] else _is_our_folder(place)
    if not ours:
        an = "an" if ENDINGS[place.form] else "an unchanged"
        raise Taken(
            f"{place.path} exists and is not {an} earlier {place.form} export",
            cause=f"an export replaces only {an} earlier export of the same form",
            hint="choose another --out, or move that one away",
        )


def _is_our_file(place: ExportPlace) -> bool:
    if place.path.is_symlink() or not place.path.is_file():
        return False
    with place.files.open(place.path) as file:
        if place.form == "parquet":
            return frames.is_ours(file)
        head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
    if place.curves:
        return head.startswith(OPENINGS[place.form])
    if place.form == "json":
        return head.startswith(OPENING)
    try:
        names = next(csv.reader(io.StringIO(head, newline="")), [])
    except csv.Error:  # a field of more than 128 KiB
        return False
    is_table = tuple(names[: len(FIRST_COLUMNS)]) == FIRST_COLUMNS and all(map(is_column, names))
    # Byte for byte: other programs end lines, and quote names, in other ways when they save a table.
    return is_table and head.startswith(csv_head(names))


def _is_our_folder(place: ExportPlace) -> bool:
    if place.path.is_symlink() or not place.path.is_dir():
        return False
    if not any(place.path.iterdir()):
        return True
    manifest = _manifest(place.path, place.files)
    return manifest == {"schema": _SCHEMA, "as": place.form, "files": _digests(place.path, place.files)}


def _manifest(folder: Path, files: Folder) -> object:
    try:
        return json.loads(files.text(folder / MANIFEST, limit=64 * SETTINGS_BYTES))
    except (StoreError, ValueError):
        return None


@contextmanager
def building(place: ExportPlace) -> Iterator[Path]:
    """A folder to be filled, which becomes the export when the block ends well; else nothing of it is left."""
    with place.files.new_folder(place.path) as folder:
        yield folder
        data = {"schema": _SCHEMA, "as": place.form, "files": _digests(folder, place.files)}
        place.files.write(folder / MANIFEST, json.dumps(data, indent=1, sort_keys=True) + "\n")


def _digests(folder: Path, files: Folder) -> dict[str, str]:
    """By path in the folder the digest of each file; what is no regular file has a name of its kind instead."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()):
        name = path.relative_to(folder).as_posix()
        if name == MANIFEST:
            continue
        if path.is_symlink() or not path.is_file():
            found[name] = "no regular file"
            continue
        digest = hashlib.sha256()
        for piece in files.pieces(path):
            digest.update(piece)
        found[name] = digest.hexdigest()
    return found
