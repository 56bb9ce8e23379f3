"""The synced files that a run works in: a slot, a folder that it has for itself. Before the run starts, they are made
right again from their archive, which lies beside the slots; what commands wrote beside them stays."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, structs

from logbook_agent.model.errors import ToolError
from logbook_agent.running.worker.work import Work
from logbook_agent.store.folder import Folder
from logbook_agent.text.phrases import counted, listed

# What the archive of synced files is called, behind the name of their folder.
ARCHIVE = ".tar.gz"
_SHOWN = 5


class Slot(Struct, frozen=True, kw_only=True):
    """`work` as it holds in its slot, a `folder` that is held by a descriptor, which the command inherits. Both are
    None for work that no files were synced for."""

    work: Work
    folder: Path | None = None
    descriptor: int | None = None

    def problems(self) -> tuple[str, ...]:
        """A sentence if the command changed synced files, else nothing."""
        if self.folder is None:
            return ()
        try:
            changed = sorted(name for name, _, _ in _differing(self.folder))
        except (OSError, EOFError, tarfile.TarError) as error:
            return (f"it is unknown whether the command changed synced files: {error}",)
        if not changed:
            return ()
        return (f"the command changed {counted(len(changed), 'synced file')}: {listed(changed, _SHOWN)}",)


@contextlib.contextmanager
def slot(work: Work) -> Iterator[Slot]:
    """The first slot that no other run has, until the block is left. Raises ToolError where the files or the folder of
    the command are missing."""
    if not work.tree:
        _check_folder(work)
        yield Slot(work=work)
        return
    original = Path(work.tree)
    folder, descriptor = _free(original)
    try:
        _make_right(folder)
        cwd, root = (
            str(folder / Path(path).relative_to(original)) if Path(path).is_relative_to(original) else path
            for path in (work.cwd, work.root)
        )
        own = Slot(work=structs.replace(work, cwd=cwd, root=root), folder=folder, descriptor=descriptor)
        _check_folder(own.work)
        yield own
    finally:
        # A process that the command left behind has the descriptor, too.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _free(original: Path) -> tuple[Path, int]:
    """A slot that is free, and the descriptor that holds it from here on. Raises ToolError."""
    for number in itertools.count():
        try:
            original.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(original / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ToolError(
                f"cannot write in {original}: {error.strerror or error}", cause="a run works in a folder there"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        else:
            return original / str(number), descriptor
    raise AssertionError


def _make_right(folder: Path) -> None:
    """Write the synced files of a slot that are missing or were changed. Raises ToolError."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        for name, entry, content in _differing(folder):
            _write(folder, folder / name, entry, content)
    except (OSError, EOFError, tarfile.TarError) as error:
        raise ToolError(
            f"cannot bring the synced files to {folder}: {getattr(error, 'strerror', None) or error}",
            cause="their archive is missing, or the disk is full; where it is missing, the next command sends it again",
        ) from error


def _write(top: Path, path: Path, entry: tarfile.TarInfo, content: bytes) -> None:
    for above in reversed(path.relative_to(top).parents[:-1]):
        if (top / above).is_symlink() or not (top / above).is_dir():
            (top / above).unlink(missing_ok=True)
            (top / above).mkdir()
    if path.is_dir() and not path.is_symlink():
        Folder(top).remove_tree(path)
    path.unlink(missing_ok=True)
    if entry.issym():
        path.symlink_to(entry.linkname)
    else:
        path.write_bytes(content)
        path.chmod(entry.mode)


def _differing(folder: Path) -> Iterator[tuple[str, tarfile.TarInfo, bytes]]:
    """The synced files that are not in a slot as they were sent: the name of each, with its entry and content in the
    archive. Raises OSError, EOFError and TarError."""
    with tarfile.open(f"{folder.parent}{ARCHIVE}") as tar:
        for entry in tar:
            file = tar.extractfile(entry) if entry.isfile() else None
            content = file.read() if file is not None else b""
            if not _is_as(folder / entry.name, entry, content):
                yield entry.name, entry, content


def _is_as(path: Path, entry: tarfile.TarInfo, content: bytes) -> bool:
    """Whether a file or link is as this entry has it."""
    try:
        found = path.lstat()
        if entry.issym():
            return stat.S_ISLNK(found.st_mode) and os.readlink(path) == entry.linkname  # noqa: PTH115
        is_alike = not (found.st_mode ^ entry.mode) & stat.S_IXUSR and found.st_size == entry.size
        return stat.S_ISREG(found.st_mode) and is_alike and path.read_bytes() == content
    except OSError:
        return False


def _check_folder(work: Work) -> None:
    if not os.path.isdir(work.cwd):  # noqa: PTH112 - a folder that may not be looked into
        raise ToolError(
            f"the folder {work.cwd} does not exist on {os.uname().nodename}",
            cause="the command is to run in that folder",
        )
