"""HEAD's commit and tree, and what differs from it, all without the logbook root.

One `git cat-file --batch` tells of HEAD. What differs, submodules included, is one text whose digest does not depend on
the user's settings. Submodules are compared by calls of their own: `git diff --submodule=diff` would start the diff
programs that the configuration of a submodule names, and there is no option against it.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from logbook_agent.running.provenance.git_calls import DIFF, GitError, GitProcesses

_FOLDER = b"40000"
# A commit and the folders on the way to the logbook are small.
_MOST_BYTES = 64 * 2**20
# What a user has configured must not change the text of the diff, and with it the identity of the code.
FIXED = {
    "core.quotePath": "true",
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
_WORDS = [*DIFF, "--binary", "--full-index", "--ignore-submodules=untracked", "--submodule=short", f"-O{os.devnull}"]
_LINE_BYTES = 2**16
_MODE = re.compile(rb"(?:old|new|new file|deleted file) mode |index \S+ \d")
_DIRTY = re.compile(rb"\+Subproject commit [0-9a-f]+-dirty\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """HEAD of a repository. `commit` None: there is none yet. `tree`: the id that HEAD's tree would have without the
    root."""

    commit: str | None = None
    tree: str = ""
    error: str = ""


class CatFile:
    """Asks for HEAD and each folder on the way to the root at once; `read` takes the answers.

    The folders on the way are written anew without the root, and left out when nothing else is in them, so
    the tree is the one that a commit without the root would have.
    """

    def __init__(self, process: subprocess.Popen[bytes], excluded: str | None) -> None:
        self._process = process
        self._steps: Sequence[bytes] = [os.fsencode(s) for s in PurePosixPath(excluded or ".").parts]
        self._error = "the logbook root's path has a line break" if "\n" in (excluded or "") else ""
        folders = [b"/".join(self._steps[:n]) for n in range(len(self._steps))] or [b""]
        assert process.stdin is not None  # noqa: S101 - started with a pipe
        # A git that refuses to start reads nothing; its error says why.
        with contextlib.suppress(BrokenPipeError), process.stdin as asked:
            asked.write(b"HEAD\n" + b"".join(b"HEAD:%s\n" % f for f in folders) if not self._error else b"")

    def read(self) -> Head:
        """`error` is what git says when it cannot answer. Raises GitError when its answer is too large."""
        if self._error:
            return Head(error=self._error)
        head = self._answer()
        if head is None:
            return Head(error=self._stderr())
        if not head.kind:
            return Head()
        trees = []
        for _ in self._steps or [b""]:
            answer = self._answer()
            if answer is None:
                return Head(error=self._stderr())
            trees.append(answer)
        return Head(commit=head.oid, tree=self._without_root(trees))

    def _without_root(self, trees: Sequence[_Object]) -> str:
        below: _Object | None = None
        for i in reversed(range(len(self._steps))):
            folder = trees[i]
            if folder.kind == "tree":
                below = _replaced(folder, self._steps[i], below, is_root=i == len(self._steps) - 1)
        return (below or trees[0]).oid

    def _answer(self) -> _Object | None:
        out = self._process.stdout
        assert out is not None  # noqa: S101 - started with a pipe
        line = out.readline()
        if not line:
            return None
        if line.endswith(b" missing\n"):
            return _Object("", "", b"")
        oid, kind, size = line.decode().split()
        if int(size) > _MOST_BYTES:
            raise GitError(f"a {kind} of {size} bytes is too large to read")
        content = out.read(int(size))
        out.read(1)
        return _Object(oid, kind, content)

    def _stderr(self) -> str:
        err = self._process.stderr
        assert err is not None  # noqa: S101 - started with a pipe
        lines = err.read(4096).decode("utf-8", "replace").splitlines()
        return lines[0] if lines else "git said nothing"


class _Object(NamedTuple):
    """A git object; `kind` is empty for one that does not exist."""

    oid: str
    kind: str
    content: bytes


def _replaced(folder: _Object, name: bytes, below: _Object | None, *, is_root: bool) -> _Object:
    """The folder without the root called `name`, or with the new folder `below` in its place."""
    parts = []
    for mode, its_name, oid in _entries(folder.content, len(folder.oid) // 2):
        if its_name == name and is_root:
            continue
        if its_name == name and mode == _FOLDER and below is not None:
            if not below.content:
                continue
            oid = bytes.fromhex(below.oid)
        parts.append(b"%s %s\0%s" % (mode, its_name, oid))
    content = b"".join(parts)
    algorithm = "sha1" if len(folder.oid) == 40 else "sha256"
    digest = hashlib.new(algorithm, b"tree %d\0" % len(content) + content, usedforsecurity=False)
    return _Object(digest.hexdigest(), "tree", content)


def _entries(content: bytes, oid_bytes: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Mode, name and object id of each entry of a tree object."""
    at = 0
    while at < len(content):
        space = content.index(b" ", at)
        end = content.index(b"\0", space)
        yield content[at:space], content[space + 1 : end], content[end + 1 : end + 1 + oid_bytes]
        at = end + 1 + oid_bytes


# -- what differs from it --------------------------------------------------------------------------


class Digest(NamedTuple):
    """Digest of a difference. `text`: None when there is no difference, or more of it than is kept."""

    sha256: str
    size: int
    text: bytes | None


class CodeDifference:
    """Starts the comparison at once; `read` takes the answer. `excluded`: a path relative to `top` that is left out,
    and so are the files `apart`. `commit`: what the working tree is compared with."""

    def __init__(
        self, git: GitProcesses, top: Path, excluded: str | None, *, commit: str = "HEAD", apart: Sequence[str] = ()
    ) -> None:
        self._git = git
        self._top = top
        self._excluded = excluded
        self._commit = commit
        self._apart = [f":(top,exclude,literal){path}" for path in apart]
        self._first = self._start("")

    def read(self, keep: int) -> Digest:
        """The difference, of which a text of at most `keep` bytes is kept."""
        digest, size, kept = hashlib.sha256(), 0, b""
        for chunk in self._text(self._first, ""):
            digest.update(chunk)
            size += len(chunk)
            kept = kept + chunk if size <= keep else b""
        return Digest(sha256=digest.hexdigest(), size=size, text=kept if 0 < size <= keep else None)

    def _start(self, place: str) -> subprocess.Popen[bytes]:
        """The diff of the repository at `place`, which is empty or ends in a slash."""
        prefixes = [f"--src-prefix=a/{place}", f"--dst-prefix=b/{place}"] if place else []
        left_out = self._excluded if self._excluded is not None and self._excluded.startswith(place) else None
        pathspec = [f":(top,exclude,literal){left_out.removeprefix(place)}"] if left_out is not None else []
        if not place:
            pathspec += self._apart
        commit = "HEAD" if place else self._commit
        return self._git.start(self._top / place, [*_WORDS, *prefixes, commit, "--", ".", *pathspec])

    def _text(self, process: subprocess.Popen[bytes], place: str) -> Iterator[bytes]:
        assert process.stdout is not None  # noqa: S101 - started with a pipe
        changed: list[str] = []
        yield from _without_bare_headers(_noting(process.stdout, changed, place))
        for path in changed:
            yield from self._text(self._start(f"{path}/"), f"{path}/")


def _noting(diff: IO[bytes], changed: list[str], place: str) -> Iterator[bytes]:
    """The lines of a diff; submodules with changes that they have not committed are added to `changed`."""
    path, is_link, fresh = "", False, True
    while line := diff.readline(_LINE_BYTES):
        # The content of a file starts no line with these words: a blank or a sign stands before it.
        if fresh and line.startswith(b"diff --git "):
            # One that has changes of its own, and no other commit, has no line that says its mode.
            path, is_link = "", True
        elif fresh and _MODE.match(line):
            is_link = line.endswith(b" 160000\n")
        elif fresh and is_link and line.startswith(b"+++ "):
            path = _unquoted(line)
        elif fresh and is_link and path and _DIRTY.fullmatch(line):
            changed.append(place + path.removeprefix(f"b/{place}"))
        yield line
        fresh = line.endswith(b"\n")


def _unquoted(line: bytes) -> str:
    """The path of a line `+++ b/PATH`, which git quotes as C does, or ends with a tab when it has a blank."""
    name = line.removeprefix(b"+++ ").rstrip(b"\t\n")
    if name.startswith(b'"'):
        name = bytes(codecs.escape_decode(name.strip(b'"'))[0])
    return os.fsdecode(name)


def _without_bare_headers(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The text of a diff without headers that nothing follows: a file that was touched and not changed."""
    header, fresh = b"", True
    for line in lines:
        starts = fresh and line.startswith(b"diff --git ")
        if header and not starts:
            yield header
        header = line if starts else b""
        if not header:
            yield line
        fresh = line.endswith(b"\n")
