"""Which code ran, from git, without writing to the repository.

Two processes, started together: `cat-file` gives HEAD's commit and its tree down to the logbook root, `diff`
what differs from it. A third, `ls-files`, only when the command names files. The logbook root is left out of
all of it, so that writing (or committing) an entry does not make two runs unlike.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from logbook_agent.model.run import Code, UntrackedFile
from logbook_agent.provenance.named_files import NamedFile, files_named, read_named
from logbook_agent.provenance.tree import CatFile
from logbook_agent.repository import Repository, branch_of, repository_of

KEEP_BYTES = 2**20
TIMEOUT_S = 20.0

# What a user has configured must not change the text of the diff, and with it the identity of the code.
_FIXED = {
    "core.quotePath": "true",
    "core.fsmonitor": "false",
    # `git diff` would write the index that it refreshed, whatever GIT_OPTIONAL_LOCKS says.
    "diff.autoRefreshIndex": "false",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "diff.renames": "false",
    "diff.algorithm": "myers",
    "diff.context": "3",
    "diff.interHunkContext": "0",
    "diff.indentHeuristic": "true",
    "diff.relative": "false",
    "diff.suppressBlankEmpty": "false",
    "diff.ignoreSubmodules": "untracked",
}
_DIFF = ["diff", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"]
_DIFF += ["--ignore-submodules=untracked", "--submodule=diff", f"-O{os.devnull}", "HEAD", "--", "."]
# A hook's GIT_DIR or GIT_INDEX_FILE would point these commands at something else.
_KEPT_ENV = ("GIT_CONFIG", "GIT_EXEC_PATH", "GIT_SSH", "GIT_TRACE", "GIT_ALLOW", "GIT_TEST")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFacts:
    """`code` without the names under which anything is kept; `diff` and `untracked` hold what to keep.

    `diff` is None when there is none or it is larger than asked for; `untracked` maps the path of an
    untracked file to its content, small files only.
    """

    code: Code = field(default_factory=Code)
    diff: bytes | None = None
    untracked: dict[str, bytes] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class _Diff(NamedTuple):
    sha256: str
    size: int
    text: bytes | None


def code_facts(
    cwd: Path,
    root: Path,
    argv: Sequence[str],
    *,
    keep: int = KEEP_BYTES,
    environ: Mapping[str, str] | None = None,
) -> CodeFacts:
    """The code that `argv` runs in `cwd`. `root`: the logbook root; `keep`: the most bytes of a text to keep.

    Unknown is None: outside a repository everything but the untracked files, before the first commit
    everything but branch and untracked files. What went wrong with git is a problem, never an exception.
    """
    environ = os.environ if environ is None else environ
    repository = repository_of(cwd)
    named = files_named(argv, cwd)
    if repository is None:
        return _facts(Code(), None, *_read(named, cwd, keep))
    excluded = _excluded(repository, root)
    try:
        return _in_repository(repository, excluded, named, keep, environ)
    except _GitError as error:
        code = Code(branch=branch_of(repository))
        files, problems = _read(_outside(named, repository.top), repository.top, keep)
        return _facts(code, None, files, [f"code not identified: {error}", *problems])


class _GitError(Exception):
    pass


def _excluded(repository: Repository, root: Path) -> str | None:
    """The logbook root relative to the top (`.` when it is the top); None when it lies elsewhere."""
    place = Path(os.path.realpath(root))
    return str(place.relative_to(repository.top)) if place.is_relative_to(repository.top) else None


def _in_repository(
    repository: Repository, excluded: str | None, named: list[Path], keep: int, environ: Mapping[str, str]
) -> CodeFacts:
    top = repository.top
    inside = [p for p in named if p.is_relative_to(top)]
    git = _Git(top, environ)
    try:
        cat = CatFile(git.start(["cat-file", "--batch"], stdin=True), excluded)
        pathspec = [f":(top,exclude,literal){excluded}"] if excluded not in (None, ".") else []
        diffing = git.start([*_DIFF, *pathspec])
        # Index entries alone: what is left of the named files is untracked, ignored or not.
        specs = [f":(top,literal){p.relative_to(top)}" for p in inside]
        listing = git.start(["ls-files", "-z", "--full-name", "--", *specs]) if specs else None
        diff = _read_diff(diffing, keep)
        head = cat.read()
        tracked = set() if listing is None else _names(listing)
        failed = git.finish()
    finally:
        git.close()
    if head.error or (failed and head.commit is not None):
        raise _GitError(head.error or failed)
    untracked = [p for p in named if str(p.relative_to(top) if p in inside else p) not in tracked]
    if excluded is not None:
        untracked = [p for p in untracked if not p.is_relative_to(top / excluded)]
    files, problems = _read(untracked, top, keep)
    if excluded == ".":
        problems.append("code not identified: the logbook root is the whole repository")
    known = head.commit is not None and excluded != "."
    code = Code(
        commit=head.commit,
        branch=branch_of(repository),
        identity=_identity(head.tree, diff, files) if known else None,
        dirty=bool(diff.size or files) if known else None,
        diff_sha256=diff.sha256 if known and diff.size else None,
        diff_bytes=diff.size if known else None,
    )
    return _facts(code, diff.text if known and diff.size else None, files, problems)


class _Git:
    """Git processes that run side by side, with one limit of time for all of them."""

    def __init__(self, top: Path, environ: Mapping[str, str]) -> None:
        self._command = ["git", "-C", str(top), *(w for k, v in _FIXED.items() for w in ("-c", f"{k}={v}"))]
        self._env = {k: v for k, v in environ.items() if not k.startswith("GIT_") or k.startswith(_KEPT_ENV)}
        self._env |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_PAGER": "cat"}
        self._running: list[subprocess.Popen[bytes]] = []
        self._late = False
        self._timer = threading.Timer(TIMEOUT_S, self._stop)
        self._timer.daemon = True
        self._timer.start()

    def start(self, words: Sequence[str], *, stdin: bool = False) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                [*self._command, *words],
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                # Only one of them is read for its errors; a pipe nobody empties would hold the others up.
                stderr=subprocess.PIPE if stdin else subprocess.DEVNULL,
                env=self._env,
            )
        except OSError as error:
            raise _GitError(f"git could not be started: {error.strerror}") from None
        self._running.append(process)
        return process

    def finish(self) -> str:
        """Waits for all; what went wrong, or nothing."""
        codes = [process.wait() for process in self._running]
        if self._late:
            raise _GitError(f"git took longer than {TIMEOUT_S:g} s")
        return "git failed" if any(codes) else ""

    def _stop(self) -> None:
        self._late = True
        for process in self._running:
            process.kill()

    def close(self) -> None:
        self._timer.cancel()
        for process in self._running:
            if process.poll() is None:
                process.kill()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None and not pipe.closed:
                    pipe.close()
            process.wait()


def _read_diff(process: subprocess.Popen[bytes], keep: int) -> _Diff:
    assert process.stdout is not None  # noqa: S101 - started with a pipe
    digest, size, kept = hashlib.sha256(), 0, b""
    for chunk in _without_bare_headers(process.stdout):
        digest.update(chunk)
        size += len(chunk)
        kept = kept + chunk if size <= keep else b""
    return _Diff(sha256=digest.hexdigest(), size=size, text=kept if 0 < size <= keep else None)


def _without_bare_headers(diff: IO[bytes]) -> Iterator[bytes]:
    """The text of a diff without headers that nothing follows: a file that was touched and not changed."""
    header, fresh = b"", True
    while line := diff.readline(2**16):
        starts = fresh and line.startswith((b"diff --git ", b"Submodule "))
        if header and not starts:
            yield header
        header = line if starts and line.startswith(b"diff") else b""
        if not header:
            yield line
        fresh = line.endswith(b"\n")


def _names(process: subprocess.Popen[bytes]) -> set[str]:
    assert process.stdout is not None  # noqa: S101 - started with a pipe
    return {os.fsdecode(name) for name in process.stdout.read().split(b"\0") if name}


def _outside(paths: list[Path], top: Path) -> list[Path]:
    return [p for p in paths if not p.is_relative_to(top)]


def _read(paths: list[Path], top: Path | None, keep: int) -> tuple[list[NamedFile], list[str]]:
    files, problems = [], []
    for path in paths:
        shown = str(path.relative_to(top)) if top is not None and path.is_relative_to(top) else str(path)
        try:
            file = read_named(path, shown, keep)
        except OSError as error:
            problems.append(f"{shown}: not read: {error.strerror}")
            continue
        if file is None:
            problems.append(f"{shown}: too large to count as code")
        else:
            files.append(file)
    return files, problems


def _identity(tree: str, diff: _Diff, files: Sequence[NamedFile]) -> str:
    """One digest of HEAD's tree, the diff and the untracked files, each without the logbook root."""
    digest = hashlib.sha256(f"tree {tree}\0diff {diff.size} {diff.sha256}\0".encode())
    for file in sorted(files, key=lambda f: f.path):
        digest.update(b"file " + os.fsencode(file.path) + f"\0{file.sha256}\0".encode())
    return digest.hexdigest()


def _facts(code: Code, diff: bytes | None, files: Sequence[NamedFile], problems: Sequence[str]) -> CodeFacts:
    untracked = tuple(UntrackedFile(path=f.path, sha256=f.sha256, bytes=f.size) for f in files)
    return CodeFacts(
        code=Code(
            commit=code.commit,
            branch=code.branch,
            identity=code.identity,
            dirty=code.dirty,
            diff_sha256=code.diff_sha256,
            diff_bytes=code.diff_bytes,
            untracked=untracked,
        ),
        diff=diff,
        untracked={f.path: f.content for f in files if f.content is not None},
        problems=tuple(problems),
    )
