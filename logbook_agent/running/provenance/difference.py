"""What differs from HEAD, submodules included, as one text whose digest does not depend on the user's settings.

Submodules are compared by calls of their own: `git diff --submodule=diff` would start the diff programs that the
configuration of a submodule names, and there is no option against it.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from logbook_agent.running.provenance.git_calls import DIFF, GitProcesses

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


class Digest(NamedTuple):
    """`text`: None when there is no difference, or more of it than is kept."""

    sha256: str
    size: int
    text: bytes | None


class CodeDifference:
    """Starts the comparison at once; `read` takes the answer. `excluded`: a path relative to `top` that is left out."""

    def __init__(self, git: GitProcesses, top: Path, excluded: str | None) -> None:
        self._git = git
        self._top = top
        self._excluded = excluded
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
        return self._git.start(self._top / place, [*_WORDS, *prefixes, "HEAD", "--", ".", *pathspec])

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
