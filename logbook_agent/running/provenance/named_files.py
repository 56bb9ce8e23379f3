"""The files that the words of a command name: those that it reads, and those that it writes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from logbook_agent.text.commands.script import simple_commands_of

MAX_NAMED = 64
# Programs of the system, not of the project.
_SYSTEM = (
    *map(Path, ("/bin", "/sbin", "/usr", "/lib", "/lib64", "/opt", "/nix", "/snap", "/etc")),
    *map(Path, ("/proc", "/dev", "/sys", "/System", "/Library")),
)
# What a run writes differs between two runs of the same code.
_OUTPUT_FLAG = re.compile(
    r"-o|--?(?![\w-]*(?:input|config|load|from))(?:[\w-]+-)?"
    r"(?:out|output|export|log|save|dump|trace|profile|results?|report|json|csv|checkpoint|ckpt)(?![a-z])[\w-]*"
)
_REDIRECTED = re.compile(r">{1,2}\s*([^\s;&|<>()'\"]+)")
# A Python that lies anywhere (pyenv, conda) is not code of the project; its version is recorded apart.
_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*")


class NamedFiles(NamedTuple):
    """Existing files among the words of a command, `--flag=value` and `-m module` included; links resolved. Programs of
    the system, and those in a virtual environment, are left out."""

    read: list[Path]
    written: set[Path]


def files_named(argv: Sequence[str], cwd: Path) -> NamedFiles:
    found: dict[Path, None] = {}
    written: set[Path | None] = set()
    # Of a shell's text, too.
    words = ("sh", "-c", argv[0]) if len(argv) == 1 and " " in argv[0] else argv
    for target in _REDIRECTED.findall("\n".join(words)):
        written.add(_file(target, cwd))
    for simple in simple_commands_of(words):
        for word, is_output in _words([w.text for w in simple if not w.expanded]):
            path = _file(word, cwd)
            if path is not None and is_output:
                written.add(path)
            elif path is not None and len(found) < MAX_NAMED:
                found[path] = None
    return NamedFiles([path for path in found if path not in written], {path for path in written if path is not None})


def _words(words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """What may be a file, and whether the command writes it."""
    for i, word in enumerate(words):
        before = words[i - 1] if i else ""
        flag, equals, value = word.partition("=")
        if equals:
            yield value, _OUTPUT_FLAG.fullmatch(flag) is not None
        if before == "-m":
            module = word.replace(".", "/")
            yield from ((name, False) for name in (f"{module}.py", f"{module}/__main__.py", f"src/{module}.py"))
        else:
            yield word, _OUTPUT_FLAG.fullmatch(before) is not None or words[0] == "tee"


def _file(word: str, cwd: Path) -> Path | None:
    if not word or len(word) > 4096 or "\0" in word:
        return None
    # The functions of os.path say no where Path raises: in folders that may not be looked into.
    named = Path(os.path.abspath(cwd / word))  # noqa: PTH100  `..` goes, links stay
    try:
        if not named.is_file():
            return None
        # Both ends of a link count: a virtual environment's python leads to one that lies elsewhere.
        real = Path(os.path.realpath(named))
    except OSError:
        return None
    return None if _is_foreign(named) or _is_foreign(real) else real


def _is_foreign(path: Path) -> bool:
    if any(path.is_relative_to(folder) for folder in _SYSTEM) or _INTERPRETER.fullmatch(path.name):
        return True
    return any(os.path.exists(parent / "pyvenv.cfg") for parent in path.parents[:6])  # noqa: PTH110  as above
