"""The code that a run needs on another machine: the part of this package that a worker needs, and the user's working
tree, each under a digest of its content.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, structs

import logbook_agent
from logbook_agent.model.code import Code
from logbook_agent.model.errors import StoreError, ToolError, UsageError
from logbook_agent.running.executors.table import Declared
from logbook_agent.running.provenance.git import CodeLook
from logbook_agent.running.provenance.git_calls import read_git
from logbook_agent.running.worker.perform import keep_code
from logbook_agent.running.worker.work import Work
from logbook_agent.store.config import is_inside
from logbook_agent.store.places import Repository, repository_of
from logbook_agent.store.spool import Spool

_TOP = Path(logbook_agent.__file__).parent
# The modules that are called there; they go with those that they import.
_FIRST = ("logbook_agent.cluster.far", "logbook_agent.cluster.far_worker")
_MAIN = b"from logbook_agent.cluster.far_worker import main\n\nmain()\n"
_DIGEST_CHARS = 16
# More than this is data, not code.
MOST_TREE_BYTES = 100 * 2**20


class Places(Struct, frozen=True, kw_only=True):
    """Where things lie on the other machine.

    folder: folder there for code and the files of runs; on a cluster, on a disk that all nodes share
    python: Python 3.11 or later there, at the same path on all nodes
    sync: whether to copy the files that git tracks or does not ignore
    tree: with `sync = false`, the folder there that corresponds to the top of the repository; default: the same path as
        here
    """

    folder: str = "~/.cache/logbook-agent"
    python: str = "python3"
    sync: bool = True
    tree: str | None = None


def check_places(declared: Declared, places: Places) -> None:
    """Raises UsageError for a folder that depends on where a program is started there."""
    for key, folder in (("folder", places.folder), ("tree", places.tree)):
        if folder is not None and not folder.startswith(("/", "~/")):
            raise UsageError(
                f"{declared.what}: {key} {folder!r} is relative",
                cause="programs on that machine start in different folders",
                hint=f"write an absolute path, or one that begins with ~/, in {declared.file}",
            )


class Archive(Struct, frozen=True, kw_only=True):
    """A tar file of files, and the digest that names it: the same for the same files."""

    digest: str
    tar: bytes

    @classmethod
    def of(cls, top: Path, paths: Iterable[Path], others: Mapping[str, bytes] | None = None) -> Archive:
        """The files and links at these paths below `top`, as far as they are there, and `others` by name.
        Raises ToolError for a file that cannot be read, and above 100 MiB."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, content in (others or {}).items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
            for path in paths:
                # Else the second name of a file would be a link to the first. The stubs lack the attribute.
                tar.inodes.clear()  # type: ignore[attr-defined]
                try:
                    with contextlib.suppress(FileNotFoundError):  # it was deleted
                        tar.add(path, path.relative_to(top).as_posix(), recursive=False, filter=_plain)
                except OSError as error:
                    raise ToolError(f"cannot read {path}", cause=error.strerror or str(error)) from error
                if buffer.tell() > MOST_TREE_BYTES:
                    raise ToolError(
                        f"{top} has more than {MOST_TREE_BYTES // 2**20} MiB to sync",
                        cause="git tracks large files, or does not ignore them",
                        hint="add them to .gitignore, or set sync = false and tree for this executor",
                    )
        return cls(digest=hashlib.sha256(buffer.getbuffer()).hexdigest()[:_DIGEST_CHARS], tar=buffer.getvalue())

    def packed(self) -> bytes:
        return gzip.compress(self.tar, mtime=0)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """An entry without what differs where the file is the same; None for what is neither a file nor a link."""
    if not (entry.isfile() or entry.issym()):
        return None
    mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry.replace(mtime=0, mode=mode, uid=0, gid=0, uname="", gname="", deep=False)


@functools.cache
def worker_code() -> Archive:
    """What a worker needs of this package, in the client's version, with a `__main__.py` to start it and what stands in
    for msgspec."""
    stand_in = (_TOP / "cluster/structs_there.py").read_bytes()
    return Archive.of(_TOP.parent, modules_of(*_FIRST), {"__main__.py": _MAIN, "msgspec.py": stand_in})


def modules_of(*names: str) -> list[Path]:
    """The files of modules of this package, and of those of it that they import."""
    found: set[Path] = set()
    todo = list(names)
    while todo:
        place = _TOP.parent / todo.pop().replace(".", "/")
        for path in (place.with_suffix(".py"), *(above / "__init__.py" for above in (place, *place.parents))):
            if path in found or not path.is_relative_to(_TOP) or not path.is_file():
                continue
            found.add(path)
            for node in ast.parse(path.read_bytes()).body:
                if isinstance(node, ast.ImportFrom) and str(node.module).startswith(_TOP.name):
                    todo += [str(node.module), *(f"{node.module}.{one.name}" for one in node.names)]
    return sorted(found)


def carried(spool: Spool, work: Work, places: Places, environ: Mapping[str, str]) -> tuple[Work, Archive | None]:
    """The work as it holds on the other machine, and the files of its tree there. Raises ToolError where that is not
    possible."""
    repository = repository_of(Path(work.cwd))
    if not places.sync:
        return _elsewhere(work, repository, places.tree), None
    if repository is None:
        raise ToolError(
            f"cannot sync {work.cwd}",
            cause="it is not in a git repository",
            hint="git init, or set sync = false for this executor",
        )
    tree = tree_of(repository, Path(work.root), environ)
    folder = f"{places.folder}/trees/{tree.digest}"
    code, _ = code_here(work, spool, environ)
    code = structs.replace(code, synced=tree.digest)
    return structs.replace(_elsewhere(work, repository, folder), code=code, tree=folder), tree


def _elsewhere(work: Work, repository: Repository | None, tree: str | None) -> Work:
    """The work with the paths that it has where `tree` stands for the top of the repository (None: the same ones). Its
    program is looked for there."""
    executable = work.executable if work.shell else ""
    if tree is None or repository is None:
        return structs.replace(work, executable=executable)
    cwd, root = (
        str(Path(tree) / Path(path).resolve().relative_to(repository.top))
        if is_inside(Path(path), repository.top)
        else path
        for path in (work.cwd, work.root)
    )
    return structs.replace(work, executable=executable, cwd=cwd, root=root)


def code_here(work: Work, spool: Spool, environ: Mapping[str, str]) -> tuple[Code, tuple[str, ...]]:
    """The code of this machine, which goes along with the work, and what was wrong with finding it. Its diff and small
    untracked files are kept in the client's spool."""
    found = CodeLook(Path(work.cwd), Path(work.root), work.words, environ, work.rules).facts()
    kept = keep_code(found, files=spool.files, values=spool.redactor())
    return kept, found.problems


def tree_of(repository: Repository, root: Path, environ: Mapping[str, str]) -> Archive:
    """The files of a working tree that git tracks or does not ignore, as they are now, without the folder `root` of
    logbooks. Raises ToolError where git cannot list them, and above 100 MiB."""
    paths = _listed(repository.top, environ)
    return Archive.of(repository.top, (path for path in paths if not path.is_relative_to(root)))


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
