"""HEAD's commit and files, and what differs from it.

What differs, submodules included, is one text whose digest does not depend on the user's settings. Submodules are
compared by calls of their own: `git diff --submodule=diff` would start the diff programs that the configuration of a
submodule names, and there is no option against it.
"""

from __future__ import annotations

import codecs
import collections
import contextlib
import hashlib
import io
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from logbook_agent.running.provenance.git_calls import DIFF, GitError, GitProcesses, piped

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
_INDEX = re.compile(rb"index [0-9a-f]+\.\.([0-9a-f]+)[ \n]")
_DIRTY = re.compile(rb"\+Subproject commit [0-9a-f]+-dirty\n")


class HeadFiles:
    """Asks for HEAD's commit and for its files at once; `read` takes the answers. Those of a `commit` are known."""

    def __init__(self, git: GitProcesses, top: Path, commit: str | None, known: Mapping[str, str]) -> None:
        self._git, self._top, self._known = git, top, (commit, known)
        self._commit = git.start(top, ["cat-file", "--batch-check"], stdin=True)
        self._listing = None if commit else self._list()
        # A git that refuses to start reads nothing; its error says why.
        with contextlib.suppress(BrokenPipeError), piped(self._commit.stdin) as asked:
            asked.write(b"HEAD\n")

    def _list(self) -> subprocess.Popen[bytes]:
        return self._git.start(self._top, ["ls-tree", "-r", "-z", "--full-tree", "HEAD"])

    def read(self) -> tuple[str | None, Mapping[str, str]]:
        """The commit, None where there is none yet, and the object of each file. Raises GitError with what git
        says when it cannot answer."""
        answer = piped(self._commit.stdout).readline().decode()
        if not answer:
            said = piped(self._commit.stderr).read(4096).decode("utf-8", "replace").splitlines()
            raise GitError(said[0] if said else "git said nothing")
        if answer.endswith(" missing\n"):
            return None, {}
        commit = answer.split()[0]
        return self._known if commit == self._known[0] else (commit, _files(self._listing or self._list()))


def _files(listing: subprocess.Popen[bytes]) -> dict[str, str]:
    files = {}
    for line in piped(listing.stdout).read().decode("utf-8", "surrogateescape").split("\0")[:-1]:
        facts, _, path = line.partition("\t")
        files[path] = facts.rpartition(" ")[2]
    return files


# -- what differs from it --------------------------------------------------------------------------


class Digest(NamedTuple):
    """Digest of a difference. `text`: None when there is no difference, or more of it than is kept."""

    sha256: str
    size: int
    text: bytes | None


class CodeDifference:
    """Starts the comparison of the working tree with HEAD at once; `read` takes the answer. `excluded`: a path relative
    to `top` that is left out. `files`: the object of each file whose content differs, known once it was read; None for
    one that is gone."""

    def __init__(self, git: GitProcesses, top: Path, excluded: str | None) -> None:
        self._git = git
        self._top = top
        self._excluded = excluded
        self.files: dict[str, str | None] = {}
        self._first = self._start("")

    def read(self, keep: int) -> Digest:
        """The difference, of which a text of at most `keep` bytes is kept."""
        digest, size, kept = hashlib.sha256(), 0, b""
        for chunk in self._text(self._first):
            digest.update(chunk)
            size += len(chunk)
            kept = kept + chunk if size <= keep else b""
        return Digest(sha256=digest.hexdigest(), size=size, text=kept if 0 < size <= keep else None)

    def _start(self, place: str) -> subprocess.Popen[bytes]:
        """The diff of the repository at `place`, which is empty or ends in a slash."""
        prefixes = [f"--src-prefix=a/{place}", f"--dst-prefix=b/{place}"] if place else []
        left_out = self._excluded if self._excluded is not None and self._excluded.startswith(place) else None
        pathspec = [f":(top,exclude,literal){left_out.removeprefix(place)}"] if left_out is not None else []
        return self._git.start(self._top / place, [*_WORDS, *prefixes, "HEAD", "--", ".", *pathspec])

    def _text(self, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
        changed: list[str] = []
        yield from _without_bare_headers(_noting(piped(process.stdout), changed, self.files))
        for path in changed:
            yield from self._text(self._start(f"{path}/"))


def _noting(diff: IO[bytes], changed: list[str], files: dict[str, str | None]) -> Iterator[bytes]:
    """The lines of a diff. Submodules with changes that they have not committed are added to `changed`, all other files
    to `files`."""
    path, is_link, fresh = "", False, True
    while line := diff.readline(_LINE_BYTES):
        # The content of a file starts no line with these words: a blank or a sign stands before it.
        if fresh and line.startswith(b"diff --git "):
            # One that has changes of its own, and no other commit, has no line that says its mode.
            path, is_link = _path(line), True
        elif fresh and _MODE.match(line):
            is_link = line.endswith(b" 160000\n")
        if fresh and (match := _INDEX.match(line)):
            # Noughts alone where there is none.
            files[path] = match[1].decode() if match[1].strip(b"0") else None
        elif fresh and is_link and path and _DIRTY.fullmatch(line):
            changed.append(path)
        yield line
        fresh = line.endswith(b"\n")


def changed_in(diff: bytes) -> dict[str, str | None]:
    """The object of each file as a recorded diff leaves it; None for one that it removes."""
    files: dict[str, str | None] = {}
    collections.deque(_noting(io.BytesIO(diff), [], files), maxlen=0)
    return files


def _path(line: bytes) -> str:
    """The path of a line `diff --git a/PATH b/PATH`, where git quotes each as C does if it has to."""
    both = line.removeprefix(b"diff --git ").rstrip(b"\n")
    name = both[len(both) // 2 + 1 :]
    if name.startswith(b'"'):
        name = bytes(codecs.escape_decode(name.strip(b'"'))[0])
    return os.fsdecode(name.removeprefix(b"b/"))


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
