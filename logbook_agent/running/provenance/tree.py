"""HEAD's commit and tree from one `git cat-file --batch`, the tree without the logbook root."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from logbook_agent.running.provenance.git_calls import GitError

_FOLDER = b"40000"
# A commit and the folders on the way to the logbook are small.
_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """`commit` None: there is none yet. `tree`: the id that HEAD's tree would have without the root."""

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
