"""Which files are code: the table `[code]` of a project's settings; which code ran, and what is kept of it beside its
commit."""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import re
from collections.abc import Callable

from msgspec import Struct, structs

CHECKOUT = re.compile(r"(?<![^\s'\"=:(])[^\s'\"=:(]*/logbook-checkouts-\d+/[^/\s:]+/\d+/\w+")
"""The place of a working tree that was made for a while."""


class UntrackedFile(Struct, frozen=True, kw_only=True):
    """A file of code that git does not track, or that the command names; `kept` is its copy in the logbook."""

    path: str
    sha256: str
    bytes: int
    kept: str | None = None


class Code(Struct, frozen=True, kw_only=True):
    """Which code ran. `identity`: the digest of the files that git tracks, as they were in the working tree, of
    untracked files of code, and of those that the command names, all without the logbook root, documents and outputs;
    `sources`: of the files of code among them. `synced`: the digest of the files that were brought to another
    machine."""

    commit: str | None = None
    branch: str | None = None
    identity: str | None = None
    sources: str | None = None
    dirty: bool | None = None
    diff_sha256: str | None = None
    diff_bytes: int | None = None
    diff_kept: str | None = None
    untracked: tuple[UntrackedFile, ...] = ()
    synced: str | None = None

    @property
    def key(self) -> str | None:
        """What runs of the same code have in common; of records of earlier versions the identity of all files."""
        return self.sources or self.identity

    @property
    def mark(self) -> str | None:
        """The same, of code that git does not hold by the files that the command names; None where nothing is known."""
        named = "".join(f"{file.path} {file.sha256}\n" for file in self.untracked)
        return self.key or (hashlib.sha256(named.encode()).hexdigest() if named else None)

    @property
    def kept(self) -> tuple[str, ...]:
        """The files in the logbook that hold the diff and untracked files."""
        return tuple(name for name in (self.diff_kept, *(file.kept for file in self.untracked)) if name is not None)


class CommandWords(Struct, frozen=True, kw_only=True):
    """What a worker needs to know of the words of a command: those of each of its `simple` commands (empty where a
    shell would replace a part), what it redirects output to (`written`), and whether `uv run` starts it."""

    simple: tuple[tuple[str, ...], ...] = ()
    written: tuple[str, ...] = ()
    uses_uv: bool = False


_SETTINGS = (".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf")


class CodeRules(Struct, frozen=True, kw_only=True):
    """Which files are code. Those that a command names always are, unless they are outputs.

    documents: patterns of files and folders at the top of the repository that are no code
    suffixes: how the names of files end whose change makes other code
    outputs: patterns of files that commands write, such as `results/*.json`
    """

    documents: tuple[str, ...] = ("*.md", "*.rst", "docs", "LICEN[CS]E*", "COPYING*", "NOTICE*", "logbook.toml")
    suffixes: tuple[str, ...] = (
        *(".py", ".pyx", ".sh", ".bash", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".cu", ".cuh", ".cl", ".metal"),
        *(".s", ".S", ".ptx", ".ll", ".mlir", ".rs", ".go", ".js", ".mjs", ".jsx", ".ts", ".tsx", ".java", ".kt"),
        *(".scala", ".swift", ".jl", ".r", ".R", ".rb", ".pl", ".lua", ".zig", ".f", ".f90", ".F90", ".hs", ".ml"),
        *(".cs", ".sql", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".gin", ".cmake", ".mk", ".bzl", ".j2"),
        *("CMakeLists.txt", "Makefile", "Dockerfile", "BUILD", "Justfile", "justfile"),
    )
    outputs: tuple[str, ...] = ()

    def is_document(self, path: str) -> bool:
        return _any_of(self.documents)(path.partition("/")[0]) is not None

    def reading(self, read: str | None) -> CodeRules:
        """The rules for a command that writes the file which `--read FORMAT:FILE` names."""
        file = (read or "").partition(":")[2]
        return structs.replace(self, outputs=(*self.outputs, file)) if file else self

    def is_output(self, path: str) -> bool:
        """Whether a pattern matches the path, or its end after a slash."""
        return bool(self.outputs) and _any_of((*self.outputs, *(f"*/{one}" for one in self.outputs)))(path) is not None

    def is_source(self, path: str) -> bool:
        """Whether a change of this file makes other code, also where no command names it."""
        return path.endswith(self.suffixes) and not self.is_document(path)

    @staticmethod
    def is_setting(path: str) -> bool:
        """Whether this file configures programs: some write such files, too."""
        return path.endswith(_SETTINGS)


@functools.cache
def _any_of(patterns: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    return re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)").match
