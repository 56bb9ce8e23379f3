"""The citations of files, filled in or held against the record."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.agents.citations import Fault, checked, filled, places
from logbook_agent.agents.cited_numbers import saying
from logbook_agent.findings.read import Findings, read
from logbook_agent.model.errors import UsageError
from logbook_agent.store.files import write_text
from logbook_agent.store.reading import read_bytes
from logbook_agent.store.workspace import Workspace

STDIN = "-"
_MOST_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedFile:
    """A file, how many citations it has, what is wrong with them, and its new text, None where nothing changes."""

    name: str
    citations: int
    faults: tuple[Fault, ...] = ()
    text: str | None = None

    def data(self) -> dict[str, object]:
        return {
            "file": self.name,
            "citations": self.citations,
            "changed": self.text is not None,
            "problems": [fault.data() for fault in self.faults],
        }


def cite(workspace: Workspace, files: Sequence[str], *, check: bool = False) -> list[CitedFile]:
    """The citations of files, filled in, or with `check` held against the record. Nothing is written yet. Raises
    UsageError for a file that cannot be read."""
    known = saying(findings_in(workspace))
    found = []
    for name in files:
        text = _read(workspace, name)
        count = sum(1 for _ in places(text))
        if check:
            found.append(CitedFile(name=name, citations=count, faults=tuple(checked(text, known))))
        else:
            new, faults = filled(text, known)
            changed = new if new != text or name == STDIN else None
            found.append(CitedFile(name=name, citations=count, faults=tuple(faults), text=changed))
    return found


def findings_in(workspace: Workspace) -> Callable[[str], Findings]:
    """What finds the logbook of an entry, each read once."""
    read_already: dict[str, Findings] = {}

    def findings_of(entry_id: str) -> Findings:
        book = workspace.book(entry_id)
        if book.topic not in read_already:
            read_already[book.topic] = read(workspace, book)
        return read_already[book.topic]

    return findings_of


def _path(workspace: Workspace, name: str) -> Path:
    return Path(os.path.realpath(workspace.cwd / Path(name).expanduser()))


def _read(workspace: Workspace, name: str) -> str:
    if name == STDIN:
        return sys.stdin.read()
    path = _path(workspace, name)
    if not path.is_file():
        raise UsageError(
            f"cannot read {name}", cause="it is not a file", hint="name files, or - for standard input: logbook cite -"
        )
    try:
        # As it is, with its own ends of lines.
        return read_bytes(path, within=path.parent, limit=_MOST_BYTES).decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"cannot read {name}",
            cause=f"it is not UTF-8 text (byte {error.start})",
            hint=f"iconv -t UTF-8 {name}",
        ) from error


def write(workspace: Workspace, found: Sequence[CitedFile]) -> None:
    """Write the files whose text has changed."""
    for one in found:
        if one.text is not None and one.name != STDIN:
            path = _path(workspace, one.name)
            mode = stat.S_IMODE(path.stat().st_mode)
            write_text(path, one.text, within=path.parent)
            path.chmod(mode)
