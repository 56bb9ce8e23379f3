"""The files of a command: those that its words name, which it reads or writes, and the code that git neither tracks nor
ignores, which no command has to name: what a program imports; and the data that the user names as inputs."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from logbook_agent.model.code import CodeRules, CommandWords
from logbook_agent.model.worker_report import InputFile

MAX_NAMED = 64
# Of untracked code.
MOST_FILES, MOST_BYTES = 1_000, 10 * 2**20
_ENVIRONMENT = "pyvenv.cfg"
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
# A Python that lies anywhere (pyenv, conda) is not code of the project; its version is recorded apart.
_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*")


class NamedFiles(NamedTuple):
    """Existing files among the words of a command, `--flag=value` and `-m module` included; links resolved. Programs of
    the system, and those in a virtual environment, are left out."""

    read: list[Path]
    written: set[Path]


def files_named(words: CommandWords, cwd: Path) -> NamedFiles:
    found: dict[Path, None] = {}
    written = {_file(target, cwd) for target in words.written}
    for simple in words.simple:
        for word, is_output in _words(simple):
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
    return any(os.path.exists(parent / _ENVIRONMENT) for parent in path.parents[:6])  # noqa: PTH110  as above


# -- those that no word names ------------------------------------------------------------------------------


def unnamed_sources(
    top: Path, untracked: Iterable[str], tracked: Iterable[str], rules: CodeRules
) -> tuple[list[Path], list[str]]:
    """Those of the `untracked` files that are code, outside of hidden folders and virtual environments. Settings are
    code only in a folder with `tracked` files: many programs write theirs into folders of their own, run by run.

    Above 1,000 files or 10 MB: none, and a problem.
    """
    names = [PurePosixPath(name) for name in untracked]
    environments = {name.parent for name in names if name.name == _ENVIRONMENT}
    folders = {PurePosixPath(), *(PurePosixPath(name).parent for name in tracked)}
    found, size = list[Path](), 0
    for name in names:
        if _is_source(name, rules, folders) and environments.isdisjoint(name.parents):
            try:
                state = (top / name).lstat()
            except OSError:
                continue  # gone meanwhile
            if stat.S_ISREG(state.st_mode):
                found.append(top / name)
                size += state.st_size
    if len(found) > MOST_FILES or size > MOST_BYTES:
        return [], [
            f"code not identified fully: {len(found):,} untracked files of code with {size / 1e6:.1f} MB are left out"
            f" (at most {MOST_FILES:,} files and 10 MB are read); add them to git or to .gitignore"
        ]
    return found, []


def _is_source(name: PurePosixPath, rules: CodeRules, folders: Collection[PurePosixPath]) -> bool:
    path = str(name)
    return (
        rules.is_source(path)
        and not rules.is_output(path)
        and not any(part.startswith(".") for part in name.parent.parts)
        and (not rules.is_setting(path) or name.parent in folders)
    )


# -- inputs that the user names --------------------------------------------------------------------


_PIECE_BYTES = 2**20


def input_facts(names: Sequence[str], cwd: Path) -> tuple[tuple[InputFile, ...], list[str]]:
    """The inputs as they are now, named as they were typed for a command in `cwd`; and what could not be read."""
    found, problems = [], []
    for name in dict.fromkeys(names):
        try:
            found.append(input_file(name, cwd / Path(name).expanduser()))
        except OSError as error:
            problems.append(f"input {name}: not read: {error.strerror or error}")
    return tuple(found), problems


def input_file(name: str, path: Path) -> InputFile:
    """The digest and size of a file, or of all files below a folder with their paths. Raises OSError."""
    if not path.is_dir():
        digest, size = _digest(path)
        return InputFile(path=name, sha256=digest, bytes=size)
    whole, total = hashlib.sha256(), 0
    for file in _files(path):
        digest, size = _digest(file)
        whole.update(os.fsencode(file.relative_to(path)) + f"\0{digest}\0".encode())
        total += size
    return InputFile(path=name, sha256=whole.hexdigest(), bytes=total)


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder in order of their paths; no link to a folder is followed."""
    found = [Path(above) / name for above, _, names in os.walk(folder, onerror=_raise) for name in names]
    yield from sorted(found, key=os.fsencode)


def _raise(error: OSError) -> None:
    raise error


def _digest(path: Path) -> tuple[str, int]:
    # A pipe has no end, or gives what it has only once: to the command.
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file")
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size
