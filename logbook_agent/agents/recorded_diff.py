"""The files of a recorded diff: paths, modes and digests of their contents before and after."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.text.phrases import listed

_HEADER = b"diff --git "
_INDEX = re.compile(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)(?: (\d+))?\n")
_MODE = re.compile(rb"(old|new|new file|deleted file) mode (\d+)\n")
_LINK = "160000"
_COMMIT = re.compile(rb"[-+]Subproject commit ([0-9a-f]+)(?:-dirty)?\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatch:
    """What a diff does to one file, at a `path` from the top of its repository. Object IDs and modes are git's; None
    where the file is not there, and both IDs are None where only the mode changes."""

    path: str
    text: bytes
    old_oid: str | None = None
    new_oid: str | None = None
    old_mode: str | None = None
    new_mode: str | None = None

    @property
    def is_submodule(self) -> bool:
        """Whether it is about the commit of a submodule."""
        return _LINK in (self.old_mode, self.new_mode)

    @property
    def moves_submodule(self) -> bool:
        """Whether it is about another commit of a submodule, not only about changes in there."""
        return self.is_submodule and len(set(_COMMIT.findall(self.text))) != 1

    @property
    def is_mode_alone(self) -> bool:
        """Whether the content stays."""
        return self.old_oid is None and self.new_oid is None


def files_of(diff: bytes) -> list[FilePatch]:
    """The files that a recorded diff changes, in its order. Raises StoreError for a text that is no such diff."""
    found: dict[str, FilePatch] = {}
    for file in map(_file, _split(diff)):
        # A file that becomes a link is recorded as one that goes and one that comes.
        first = found.get(file.path)
        found[file.path] = file if first is None else _joined(first, file)
    return [*found.values()]


def _joined(first: FilePatch, second: FilePatch) -> FilePatch:
    return FilePatch(
        path=first.path,
        text=first.text + second.text,
        old_oid=first.old_oid,
        new_oid=second.new_oid,
        old_mode=first.old_mode,
        new_mode=second.new_mode,
    )


def _split(diff: bytes) -> Iterator[bytes]:
    """The part of each file. A line of a file's content never starts with these words: a sign stands before it."""
    starts = [match.start() for match in re.finditer(rb"^diff --git ", diff, re.MULTILINE)]
    if not diff:
        return
    if not starts or starts[0] != 0:
        raise _no_diff("it does not start with a file")
    yield from (diff[at:end] for at, end in zip(starts, [*starts[1:], len(diff)], strict=True))


def _file(text: bytes) -> FilePatch:
    head, _, rest = text.partition(b"\n")
    path = _path(head.removeprefix(_HEADER))
    modes: dict[bytes, str] = {}
    oids: tuple[str | None, str | None] = (None, None)
    for line in rest.splitlines(keepends=True):
        if line.startswith((b"--- ", b"@@ ", b"GIT binary", b"Binary ")):
            break
        if (match := _MODE.fullmatch(line)) is not None:
            modes[match[1]] = match[2].decode()
        elif (match := _INDEX.fullmatch(line)) is not None:
            oids = _present(match[1]), _present(match[2])
            if match[3] is not None:
                modes |= dict.fromkeys((b"old", b"new"), match[3].decode())
    return FilePatch(
        path=path,
        text=text,
        old_oid=oids[0],
        new_oid=oids[1],
        old_mode=modes.get(b"old", modes.get(b"deleted file")),
        new_mode=modes.get(b"new", modes.get(b"new file")),
    )


def _present(oid: bytes) -> str | None:
    return oid.decode() if oid.strip(b"0") else None


def _path(names: bytes) -> str:
    """The path in `a/PATH b/PATH`, either of which git quotes as C does. Renames are recorded as two files, so both
    sides name the same one."""
    half = len(names) // 2
    old, new = names[:half], names[half + 1 :]
    if old.startswith(b'"'):
        old, new = (codecs.escape_decode(name[1:-1])[0] for name in (old, new))
    path = os.fsdecode(old[2:])
    if old[:2] != b"a/" or new[:2] != b"b/" or old[2:] != new[2:] or not is_plain(path):
        raise _no_diff(f"its header is {names[:200].decode('utf-8', 'replace')!r}")
    return path


def is_plain(path: str) -> bool:
    """Whether a path names something below the folder that it is seen from, and nothing of git's own."""
    steps = path.split("/")
    return "\0" not in path and not any(step in ("", ".", "..") or step.casefold() == ".git" for step in steps)


def _no_diff(why: str) -> StoreError:
    return StoreError("the recorded diff cannot be read", cause=why, hint="logbook doctor")


def chosen(files: Sequence[FilePatch], declared: Sequence[str]) -> list[FilePatch]:
    """Those files that are, or lie below, one of the declared paths (seen from the top of the repository); all of them
    where none is declared. Raises UsageError for a path that the diff does not have."""
    if not declared:
        return [*files]
    places = [PurePosixPath(path) for path in declared]
    for place in places:
        if not any(PurePosixPath(file.path).is_relative_to(place) for file in files):
            raise UsageError(
                f"--paths {place}: the recorded diff does not change it",
                cause=f"it changes {listed([file.path for file in files], 8)}",
                hint=f"--paths {files[0].path}" if files else "leave --paths out",
            )
    return [file for file in files if any(PurePosixPath(file.path).is_relative_to(place) for place in places)]
