"""HEAD's commit and files, what differs from it, and what git neither tracks nor ignores.

What differs, submodules included, is one text whose digest does not depend on the user's settings. Submodules are
compared by calls of their own: `git diff --submodule=diff` would start the diff programs that the configuration of a
submodule names, and there is no option against it.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from logbook_agent.running.provenance.git_calls import DIFF, git_output

# What a user has configured must not change the text of the diff, and with it the identity of the code.
_FIXED = {
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
_STATUS = [
    *("status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--untracked-files=all", "--no-renames"),
    "--ignore-submodules=untracked",
]
_FILE = re.compile(rb"(?m)^(?=diff --git )")
_MODE = re.compile(rb"(?m)^(?:(?:old|new|new file|deleted file) mode|index \S+) (\d+)$")
_INDEX = re.compile(rb"(?m)^index [0-9a-f]+\.\.([0-9a-f]+)\b")
_DIRTY = re.compile(rb"(?m)^\+Subproject commit [0-9a-f]+-dirty$")
_COMMIT = "# branch.oid "


class WorkingTree(NamedTuple):
    """HEAD's `commit`, None before the first one, and the object of each file in `head`; the `diff` of the working tree
    against it, and the object of each file whose content it changes, None for one that is gone; the paths of files that
    git neither tracks nor ignores."""

    commit: str | None
    head: Mapping[str, str]
    diff: bytes
    changed: Mapping[str, str | None]
    untracked: set[str]


def working_tree(
    top: Path, excluded: str | None, environ: Mapping[str, str], known: tuple[str | None, Mapping[str, str]]
) -> WorkingTree:
    """The working tree at `top`, without the path `excluded` below it. The files of a commit that is `known` are not
    asked for again. Raises StoreError where git fails."""
    left_out = [] if excluded is None else [f":(top,exclude,literal){excluded}"]
    said = git_output(top, [*_STATUS, "--", ".", *left_out], environ).decode("utf-8", "surrogateescape").split("\0")
    commit = next(line.removeprefix(_COMMIT) for line in said if line.startswith(_COMMIT))
    untracked = {line.removeprefix("? ") for line in said if line.startswith("? ")}
    if commit == "(initial)":
        return WorkingTree(None, {}, b"", {}, untracked)
    diff = _difference(top, excluded, environ) if any(line[:1] in "12u" for line in said if line) else b""
    head = known[1] if commit == known[0] else _files_of_head(top, environ)
    return WorkingTree(commit, head, diff, changed_in(diff), untracked)


def _files_of_head(top: Path, environ: Mapping[str, str]) -> dict[str, str]:
    files = {}
    listing = git_output(top, ["ls-tree", "-r", "-z", "--full-tree", "HEAD"], environ)
    for line in listing.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        facts, _, path = line.partition("\t")
        files[path] = facts.rpartition(" ")[2]
    return files


def _difference(top: Path, excluded: str | None, environ: Mapping[str, str], place: str = "") -> bytes:
    """The diff of the repository at `place` below `top`, which is empty or ends in a slash; then those of its
    submodules that have changes of their own."""
    prefixes = [f"--src-prefix=a/{place}", f"--dst-prefix=b/{place}"] if place else []
    is_inside = excluded is not None and excluded.startswith(place)
    left_out = [f":(top,exclude,literal){excluded.removeprefix(place)}"] if excluded is not None and is_inside else []
    text = git_output(top / place, [*_WORDS, *prefixes, "HEAD", "--", ".", *left_out], environ, config=_FIXED)
    # A header that nothing follows is that of a file that was touched and not changed.
    files = [file for file in _FILE.split(text) if file.count(b"\n") > 1]
    inner = [path for file in files if (path := _changed_submodule(file)) is not None]
    return b"".join([*files, *(_difference(top, excluded, environ, f"{path}/") for path in inner)])


def changed_in(diff: bytes) -> dict[str, str | None]:
    """The object of each file as a diff leaves it; None for one that it removes."""
    found: dict[str, str | None] = {}
    for file in _FILE.split(diff):
        if (index := _INDEX.search(_header(file))) is not None:
            found[_path(file)] = index[1].decode() if index[1].strip(b"0") else None
    return found


def _changed_submodule(file: bytes) -> str | None:
    """The path of a submodule with changes that it has not committed. One without another commit has no line that says
    its mode."""
    modes = {match[1] for match in _MODE.finditer(_header(file))}
    return _path(file) if modes <= {b"160000"} and _DIRTY.search(file) else None


def _header(file: bytes) -> bytes:
    """What stands before the content of a file: no line of that starts with one of these words."""
    return file.partition(b"\n@@ ")[0].partition(b"\nGIT binary patch\n")[0]


def _path(file: bytes) -> str:
    """The path in `diff --git a/PATH b/PATH`, where git quotes each as C does if it has to."""
    both = file.partition(b"\n")[0].removeprefix(b"diff --git ")
    name = both[len(both) // 2 + 1 :]
    if name.startswith(b'"'):
        name = bytes(codecs.escape_decode(name.strip(b'"'))[0])
    return os.fsdecode(name.removeprefix(b"b/"))
