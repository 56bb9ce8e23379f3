"""Which files of a project are its code: the table `[code]` of its settings."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable

from msgspec import Struct, structs

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
