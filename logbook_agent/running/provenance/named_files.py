"""Files that a command names: where a script that git does not track is part of the code that ran."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.running.commands.unwrap import simple_commands_of

MAX_NAMED = 64
MAX_HASHED_BYTES = 64 * 2**20

# Programs of the system, not of the project.
_SYSTEM = tuple(map(Path, ("/bin", "/sbin", "/usr", "/lib", "/lib64", "/opt", "/nix", "/snap", "/etc")))
_SYSTEM += tuple(map(Path, ("/proc", "/dev", "/sys", "/System", "/Library")))
# What a run writes differs between two runs of the same code.
_OUTPUT_FLAG = re.compile(r"-o|--?(?:out|output|log|save|dump|trace|profile|result|report|json|csv)\b[\w-]*")


# A Python that lies anywhere (pyenv, conda) is not code of the project; its version is recorded apart.
_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """A file outside git: `path` relative to the repository's top where it lies in there, else absolute.

    `content` is None when the file is larger than what is kept.
    """

    path: str
    sha256: str
    size: int
    content: bytes | None


def files_named(argv: Sequence[str], cwd: Path) -> list[Path]:
    """Existing files among the words of `argv`, `--flag=value` and `-m module` included; links resolved.

    Without programs of the system, those in a virtual environment, and values of flags that name an output.
    """
    found: dict[Path, None] = {}
    for simple in simple_commands_of(argv):
        for word in _words([w.text for w in simple if not w.expanded]):
            path = _file(word, cwd)
            if path is not None:
                found[path] = None
            if len(found) >= MAX_NAMED:
                return list(found)
    return list(found)


def _words(words: Sequence[str]) -> Iterator[str]:
    for i, word in enumerate(words):
        before = words[i - 1] if i else ""
        flag, equals, value = word.partition("=")
        if equals:
            yield from [] if _OUTPUT_FLAG.fullmatch(flag) else [value]
        if before == "-m":
            module = word.replace(".", "/")
            yield from (f"{module}.py", f"{module}/__main__.py", f"src/{module}.py")
        elif not _OUTPUT_FLAG.fullmatch(before):
            yield word


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


def read_named(path: Path, shown_as: str, keep: int) -> NamedFile | None:
    """The file's digest, and its content when it has at most `keep` bytes. Raises OSError.

    None for a file of more than 64 MiB, which is data rather than code.
    """
    size = path.stat().st_size
    if size > MAX_HASHED_BYTES:
        return None
    with path.open("rb") as file:
        content = file.read(MAX_HASHED_BYTES + 1)
    return NamedFile(
        path=shown_as,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        content=content if len(content) <= keep else None,
    )
