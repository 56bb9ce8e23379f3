"""A run's own copy of the synced files, beside its spool. Commands do not change the original, whose name is the digest
of its files."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from logbook_agent.model.errors import ToolError
from logbook_agent.running.worker.work import Work
from logbook_agent.store.folder import Folder
from logbook_agent.text.phrases import counted

# The copy in a far spool.
COPY = "tree"
_DIGEST_CHARS = 16
_SHOWN = 5
_PIECE_BYTES = 1 << 20
# Python writes these wherever it imports from.
_CACHE = "__pycache__"


def digest_of(manifest: Mapping[str, str]) -> str:
    """The digest of a manifest, which has for each path `f` or `x` (executable) with the SHA-256 of the content, or `l`
    with the target of a link."""
    whole = hashlib.sha256()
    for place, what in sorted(manifest.items(), key=lambda item: (item[1].startswith("l "), os.fsencode(item[0]))):
        whole.update(os.fsencode(f"{what} {place}\n"))
    return whole.hexdigest()[:_DIGEST_CHARS]


def entry_of(path: Path) -> str | None:
    """The manifest's text for this file or link; None if there is neither. Raises OSError."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(mode):
        return f"l {os.readlink(path)}"  # noqa: PTH115 - as it is written
    if not stat.S_ISREG(mode):
        return None
    with path.open("rb", buffering=0) as file:
        digest = hashlib.sha256()
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
        return f"{'x' if mode & stat.S_IXUSR else 'f'} {digest.hexdigest()}"


class OwnTree:
    """`work` as it holds in the copy of its tree, which lies in `folder`; None for work that no files were synced for.
    `manifest`: what was in it before the command started."""

    def __init__(
        self, work: Work, folder: Path | None = None, manifest: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.work, self._folder, self._manifest = work, folder, manifest

    def problems(self) -> tuple[str, ...]:
        """A sentence if the command changed synced files, else nothing."""
        if not (changed := sorted(self._changed)):
            return ()
        more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        files = counted(len(changed), "synced file")
        return (f"the command changed {files}, in its own copy: {', '.join(changed[:_SHOWN])}{more}",)

    def remove(self) -> None:
        """Remove the copy, except for files that the command wrote; to be called after the command has ended."""
        if self._folder is None:
            return
        for place in self._manifest.keys() - self._changed:
            with contextlib.suppress(OSError):
                (self._folder / place).unlink()
        for folder, _, _ in os.walk(self._folder, topdown=False):
            if os.path.basename(folder) == _CACHE:  # noqa: PTH119
                Folder(self._folder).remove_tree(Path(folder))
            with contextlib.suppress(OSError):
                Path(folder).rmdir()

    @functools.cached_property
    def _changed(self) -> frozenset[str]:
        """The synced files that have changed; computed once."""
        if self._folder is None:
            return frozenset()
        return frozenset(place for place, what in self._manifest.items() if _now(self._folder / place) != what)


def own_tree(work: Work, spool: Path) -> OwnTree:
    """Copy the tree of the work into its spool. Raises ToolError where the copy is not what was synced, and where the
    folder of the command does not exist."""
    if not work.tree:
        _check_folder(work)
        return OwnTree(work)
    original, copy = Path(work.tree), spool / COPY
    try:
        manifest = _copied(original, copy) if original.is_dir() else {}
    except OSError as error:
        Folder(spool).remove_tree(copy)
        raise ToolError(
            f"cannot copy the synced files in {original}: {error.strerror or error}",
            cause="every run works in its own copy of them",
        ) from error
    if digest_of(manifest) != original.name:
        # The next run has it sent again.
        Folder(original.parent).remove_tree(original)
        Folder(spool).remove_tree(copy)
        raise ToolError(
            f"the synced files in {original} are missing, or were changed there; the next run syncs them again",
            cause="runs share these files, and only logbook may write to them",
        )
    cwd, root = (
        str(copy / Path(path).relative_to(original)) if Path(path).is_relative_to(original) else path
        for path in (work.cwd, work.root)
    )
    own = OwnTree(dataclasses.replace(work, cwd=cwd, root=root), copy, manifest)
    try:
        _check_folder(own.work)
    except ToolError:
        own.remove()
        raise
    return own


def _now(path: Path) -> str | None:
    """As `entry_of`; None also for a file that cannot be read."""
    with contextlib.suppress(OSError):
        return entry_of(path)
    return None


def _check_folder(work: Work) -> None:
    if not os.path.isdir(work.cwd):  # noqa: PTH112 - a folder that may not be looked into
        raise ToolError(
            f"the folder {work.cwd} does not exist on {os.uname().nodename}",
            cause="the command is to run in that folder",
        )


def _copied(original: Path, copy: Path) -> dict[str, str]:
    """Copy a folder; the manifest of the copy. Raises OSError."""
    # It stays as long as it is used; where the time cannot be set, it is synced again.
    with contextlib.suppress(OSError):
        os.utime(original)
    return dict(_copy_folder(original, copy, ""))


def _copy_folder(folder: Path, copy: Path, above: str) -> Iterator[tuple[str, str]]:
    """Copy a folder; each file and link in it, below `above`, as it stands in the manifest of the copy."""
    copy.mkdir()
    with os.scandir(folder) as found:
        for one in found:
            path, new, place = Path(one.path), copy / one.name, f"{above}{one.name}"
            if one.is_dir(follow_symlinks=False):
                yield from _copy_folder(path, new, f"{place}/")
                continue
            if one.is_symlink():
                new.symlink_to(os.readlink(path))  # noqa: PTH115
            else:
                _copy(path, new)
            if (what := entry_of(new)) is not None:
                yield place, what


def _copy(path: Path, new: Path) -> None:
    """Copy a file: its blocks are shared where the file system can, until one of the two is written."""
    with path.open("rb") as source, new.open("xb") as target:
        state = os.fstat(source.fileno())
        try:
            left = state.st_size
            while left > 0 and (done := os.copy_file_range(source.fileno(), target.fileno(), left)):
                left -= done
            if left:
                raise OSError("some file systems stop early")
        except (AttributeError, OSError):
            # Not on this system, or not on this file system.
            target.seek(0)
            target.truncate()
            source.seek(0)
            shutil.copyfileobj(source, target)
        os.fchmod(target.fileno(), 0o755 if state.st_mode & stat.S_IXUSR else 0o644)
    # As in the original, or `make` would rebuild what was copied first.
    os.utime(new, ns=(state.st_atime_ns, state.st_mtime_ns))
