"""Which code ran, from git, without writing to the repository.

Two processes, started together: `cat-file` gives HEAD's commit and its tree down to the logbook root, `diff` what
differs from it. A third, `ls-files`, only when the command names files; one more for each submodule with changes.
The logbook root is left out of all of it, so that writing (or committing) an entry does not make two runs unlike.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.model.run import Code, UntrackedFile
from logbook_agent.running.provenance.difference import FIXED, CodeDifference, Digest
from logbook_agent.running.provenance.git_calls import GitError, GitProcesses
from logbook_agent.running.provenance.named_files import NamedFile, files_named, read_named
from logbook_agent.running.provenance.tree import CatFile
from logbook_agent.store.repository import Repository, branch_of, repository_of

KEEP_BYTES = 2**20
TIMEOUT_S = 20.0


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
    except GitError as error:
        code = Code(branch=branch_of(repository))
        files, problems = _read(_outside(named, repository.top), repository.top, keep)
        return _facts(code, None, files, [f"code not identified: {error}", *problems])


def _excluded(repository: Repository, root: Path) -> str | None:
    """The logbook root relative to the top (`.` when it is the top); None when it lies elsewhere."""
    place = Path(os.path.realpath(root))
    return str(place.relative_to(repository.top)) if place.is_relative_to(repository.top) else None


def _in_repository(
    repository: Repository, excluded: str | None, named: list[Path], keep: int, environ: Mapping[str, str]
) -> CodeFacts:
    top = repository.top
    inside = [p for p in named if p.is_relative_to(top)]
    git = GitProcesses(environ, FIXED, TIMEOUT_S)
    try:
        cat = CatFile(git.start(top, ["cat-file", "--batch"], stdin=True), excluded)
        difference = CodeDifference(git, top, None if excluded == "." else excluded)
        # Index entries alone: what is left of the named files is untracked, ignored or not.
        specs = [f":(top,literal){p.relative_to(top)}" for p in inside]
        listing = git.start(top, ["ls-files", "-z", "--full-name", "--", *specs]) if specs else None
        diff = difference.read(keep)
        head = cat.read()
        tracked = set() if listing is None else _names(listing)
        failed = git.finish()
    finally:
        git.close()
    if head.error or (failed and head.commit is not None):
        raise GitError(head.error or failed)
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


def _identity(tree: str, diff: Digest, files: Sequence[NamedFile]) -> str:
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
