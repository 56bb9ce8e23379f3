"""Files that go to another machine and come back, as archives.

There go the part of this package that a worker needs, and the user's working tree, each under a digest of its content.
Back comes what a run has left.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

import logbook_agent
from logbook_agent.cluster.far import FETCHED, FOLDERS
from logbook_agent.cluster.session import MOST_BYTES
from logbook_agent.model.code import Code
from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.running.provenance.git import CodeLook
from logbook_agent.running.provenance.git_calls import read_git
from logbook_agent.running.worker.perform import keep_code
from logbook_agent.running.worker.tree import digest_of
from logbook_agent.running.worker.work import Work
from logbook_agent.store.repository import Repository
from logbook_agent.store.spool import FINAL, Spool

# The rooms that a worker uses, with the features that read results, keep files and keep points; what starts it.
_ROOMS = ("model", "text", "store", "running", "cluster", "formats", "artifacts", "curves")
_TOP = ("__init__.py", "worker.py", "features.py")
_MAIN = b"from logbook_agent.cluster.far_worker import main\n\nmain()\n"
# More than this is data, not code.
MOST_TREE_BYTES = 100 * 2**20
_PIECE_BYTES = 2**20
# What is brought lies here until it is whole.
_ARRIVING = ".arriving"


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Files by their places, and the digest that names them; those in `executable` may be executed."""

    digest: str
    contents: Mapping[str, bytes]
    executable: frozenset[str] = frozenset()
    links: Mapping[str, str] | None = None

    def archive(self) -> bytes:
        """A tar file of them, compressed; the same bytes for the same files."""
        buffer = io.BytesIO()
        with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
            for place, content in sorted(self.contents.items()):
                entry = tarfile.TarInfo(place)
                entry.size, entry.mode = len(content), 0o755 if place in self.executable else 0o644
                tar.addfile(entry, io.BytesIO(content))
            for place, target in sorted((self.links or {}).items()):
                entry = tarfile.TarInfo(place)
                entry.type, entry.linkname = tarfile.SYMTYPE, target
                tar.addfile(entry)
        return buffer.getvalue()


def _files(contents: Mapping[str, bytes], executable: frozenset[str], links: Mapping[str, str]) -> Files:
    manifest = {
        place: f"{'x' if place in executable else 'f'} {hashlib.sha256(content).hexdigest()}"
        for place, content in contents.items()
    }
    manifest |= {place: f"l {target}" for place, target in links.items()}
    return Files(digest=digest_of(manifest), contents=contents, executable=executable, links=dict(links))


@functools.cache
def worker_code() -> Files:
    """The part of this package that a worker needs, with a `__main__.py` to start it: the client's own version."""
    top = Path(logbook_agent.__file__).parent
    rooms = [*(top / name for name in _TOP), *(p for room in _ROOMS for p in (top / room).rglob("*.py"))]
    contents = {f"logbook_agent/{path.relative_to(top).as_posix()}": path.read_bytes() for path in rooms}
    return _files({**contents, "__main__.py": _MAIN}, frozenset(), {})


def code_here(work: Work, spool: Spool, environ: Mapping[str, str]) -> tuple[Code, tuple[str, ...]]:
    """The code of this machine, which goes along with the work, and what was wrong with finding it. Its diff and small
    untracked files are kept in the client's spool."""
    found = CodeLook(Path(work.cwd), Path(work.root), work.argv, environ, work.rules).facts()
    kept = keep_code(found, files=spool.files, redactor=spool.redactor())
    return kept, found.problems


def tree_of(repository: Repository, root: Path, environ: Mapping[str, str]) -> Files:
    """The files of a working tree that git tracks or does not ignore, as they are now, without the folder `root` of
    logbooks. Raises ToolError where git cannot list them, and above 100 MiB."""
    contents: dict[str, bytes] = {}
    executable: set[str] = set()
    links: dict[str, str] = {}
    size = 0
    for path in _listed(repository.top, environ):
        if path.is_relative_to(root):
            continue
        place = path.relative_to(repository.top).as_posix()
        try:
            if path.is_symlink():
                links[place] = os.readlink(path)  # noqa: PTH115 - as it is written
                continue
            if not path.is_file():
                continue  # deleted
            contents[place] = path.read_bytes()
        except OSError as error:
            raise ToolError(f"cannot read {path}", cause=error.strerror or str(error)) from error
        if os.access(path, os.X_OK):
            executable.add(place)
        size += len(contents[place])
        if size > MOST_TREE_BYTES:
            raise ToolError(
                f"{repository.top} has more than {MOST_TREE_BYTES // 2**20} MiB to sync",
                cause="git tracks large files, or does not ignore them",
                hint="add them to .gitignore, or set sync = false and tree for this executor",
            )
    return _files(contents, frozenset(executable), links)


def _listed(top: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """The files of a working tree, with those of its submodules and of other repositories in it."""
    words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = read_git(top, words, environ)
    except StoreError as error:
        raise ToolError("cannot list the files to sync", cause=error.message, hint=f"git -C {top} status") from error
    if answer.code != 0:
        raise ToolError(
            "cannot list the files to sync", cause=f"git ends with {answer.code}", hint=f"git -C {top} status"
        )
    for place in sorted({os.fsdecode(place) for place in answer.out.split(b"\0") if place}):
        path = top / place
        if path.is_symlink() or not path.is_dir():
            yield path
        # A submodule that was not fetched is an empty folder.
        elif (path / ".git").exists():
            yield from _listed(path, environ)


# -- what a run has left -----------------------------------------------------------------------------


def bring(spool: Spool, files: Iterable[tuple[str, Iterable[bytes]]]) -> None:
    """Write what a run has left into its spool, a piece at a time, the end last. Raises StoreError, and keeps nothing,
    where `files` do."""
    arriving, brought = spool.folder / _ARRIVING, []
    try:
        for name, pieces in files:
            if name in FETCHED or _is_kept(name):
                spool.files.make((arriving / name).parent)
                spool.files.write(arriving / name, pieces)
                brought.append(name)
        for name in sorted(brought, key=lambda name: name == FINAL):
            spool.files.make((spool.folder / name).parent)
            spool.files.move(arriving / name, spool.folder / name)
    finally:
        spool.files.remove_tree(arriving)


def _is_kept(name: str) -> bool:
    """Whether this is a file of the code or of the command that was kept with the run."""
    place = Path(name)
    return len(place.parts) == 2 and place.parts[0] in FOLDERS and place.name not in ("", "..")


def members(archive: BinaryIO) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The files of an archive, for `bring`. Raises StoreError where it cannot be read, or unpacks to too much."""
    size = 0
    with _reading(), tarfile.open(fileobj=archive, mode="r|gz") as tar:
        for entry in tar:
            size += entry.size
            if size > MOST_BYTES:
                raise tarfile.ReadError(f"it unpacks to more than {MOST_BYTES >> 20} MiB")
            file = tar.extractfile(entry) if entry.isfile() else None
            if file is not None:
                yield entry.name, _pieces(file)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with _reading():
        yield from iter(lambda: file.read(_PIECE_BYTES), b"")


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Turn errors of reading an archive into StoreError."""
    try:
        yield
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise StoreError("cannot read the files that the run left behind", cause=str(error)) from error
