"""Where an export is written, and what it may replace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from logbook_agent.model.errors import Taken, UsageError
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import Workspace

# A file in each folder that an export made.
MARK = ".logbook-export"
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


class ExportPlace(Struct, frozen=True, kw_only=True):
    """The path of an export of a form (`csv`), the folder it is written through, and whether it may replace what is
    there."""

    form: str
    path: Path
    files: Folder
    replaces: bool = False


def place_of(
    workspace: Workspace, book: Book, form: str, out: str | None, *, curves: bool = False, force: bool = False
) -> ExportPlace:
    """Where `--out` says (in a folder that is there: under the logbook's name), else `exports/` beside the records,
    which git ignores and each export replaces. Raises UsageError for a folder that is not there, Taken for a file of
    the logbooks."""
    name = f"{book.topic}-curves" if curves else book.topic
    name += ENDINGS[form] or f"-{form}"
    if out is None:
        folder = book.folder / FOLDER
        book.files.make(folder)
        if not os.path.lexists(folder / ".gitignore"):
            book.files.write(folder / ".gitignore", "# Made by `logbook export`, from the records.\n*\n")
        return ExportPlace(form=form, path=folder / name, files=book.files, replaces=True)
    path = Path(os.path.normpath(workspace.cwd / Path(out).expanduser()))
    if ENDINGS[form] and path.is_dir():
        path = path / name
    if not path.parent.is_dir():
        raise UsageError(
            f"cannot write {out}: there is no folder {path.parent}",
            cause="logbook export does not create parent folders",
            hint=f"mkdir -p {path.parent}",
        )
    if os.path.lexists(path) and _is_kept(workspace.root, path):
        raise Taken(f"{path} is kept", cause="an export replaces nothing of a logbook", hint="choose another --out")
    return ExportPlace(form=form, path=path, files=Folder(path.parent), replaces=force)


def _is_kept(root: Path, path: Path) -> bool:
    """Whether a path is the view of a logbook below the root, or its folder or in it, but for its exports."""
    real, top = Path(os.path.realpath(path.parent)) / path.name, Path(os.path.realpath(root))
    if not real.is_relative_to(top) or real == top or real.parent.name == FOLDER:
        return False
    return (top / real.relative_to(top).parts[0].removesuffix(".md") / "logbook.yaml").is_file()


def check_replaceable(place: ExportPlace) -> None:
    """Raise Taken for what an export may not replace: anything without `--force`; with it, what is no file, and of
    folders one that no export made."""
    if not os.path.lexists(place.path):
        return
    if not place.replaces:
        raise Taken(
            f"{place.path} exists already",
            cause="an export replaces only what it is told to",
            hint="add --force, or choose another --out",
        )
    is_link = place.path.is_symlink()
    if ENDINGS[place.form]:
        is_known = place.path.is_file() and not is_link
    else:
        is_known = place.path.is_dir() and not is_link
        is_known = is_known and ((place.path / MARK).is_file() or not any(place.path.iterdir()))
    if not is_known:
        raise Taken(
            f"{place.path} is not {'a file' if ENDINGS[place.form] else 'a folder that an export made'}",
            cause="logbook export deletes nothing else",
            hint="choose another --out, or move it away",
        )


@contextmanager
def building(place: ExportPlace) -> Iterator[Path]:
    """A folder to be filled, which becomes the export when the block ends well; else nothing of it is left, and what
    stood there stands there still. What a killed process left of one is removed."""
    files, path = place.files, place.files.check(place.path)
    made, old = (path.with_name(f".{path.name}.logbook.{ending}") for ending in ("tmp", "old.tmp"))
    for left in (made, old):
        files.remove_tree(left)
    files.make(made)
    try:
        yield made
        files.write(made / MARK, "Made by `logbook export`, which may replace this folder.\n")
        if os.path.lexists(path):
            files.move(path, old)
        files.move(made, path)
    except BaseException:
        if os.path.lexists(old) and not os.path.lexists(path):
            files.move(old, path)
        raise
    finally:
        for left in (made, old):
            files.remove_tree(left)
