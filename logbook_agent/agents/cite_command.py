"""`logbook cite`: numbers of the record in files, and whether they still say what it says."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from logbook_agent.agents.citations import Cited, Fault, checked, filled, places
from logbook_agent.agents.cited_numbers import saying
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import emit, say, write_bytes
from logbook_agent.findings.read import Findings, read
from logbook_agent.model.errors import UsageError
from logbook_agent.store.files import write_text
from logbook_agent.store.reading import read_text
from logbook_agent.store.workspace import Workspace

_STDIN = "-"
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
    known = _record(workspace)
    found = []
    for name in files:
        text = _read(workspace, name)
        count = sum(1 for _ in places(text))
        if check:
            found.append(CitedFile(name=name, citations=count, faults=tuple(checked(text, known))))
        else:
            new, faults = filled(text, known)
            changed = new if new != text or name == _STDIN else None
            found.append(CitedFile(name=name, citations=count, faults=tuple(faults), text=changed))
    return found


def _record(workspace: Workspace) -> Callable[[str], Cited]:
    """What the logbooks of the root say of a citation."""
    read_already: dict[str, Findings] = {}

    def findings_of(entry_id: str) -> Findings:
        book = workspace.book(entry_id)
        if book.topic not in read_already:
            read_already[book.topic] = read(workspace, book)
        return read_already[book.topic]

    return saying(findings_of)


def _path(workspace: Workspace, name: str) -> Path:
    return Path(os.path.realpath(workspace.cwd / Path(name).expanduser()))


def _read(workspace: Workspace, name: str) -> str:
    if name == _STDIN:
        return sys.stdin.read()
    path = _path(workspace, name)
    if not path.is_file():
        raise UsageError(
            f"cannot read {name}", cause="it is not a file", hint="name files, or - for standard input: logbook cite -"
        )
    return read_text(path, within=path.parent, limit=_MOST_BYTES)


def cite_command(
    *,
    files: Annotated[list[str], Argument(metavar="FILE...", help="Files of text; - reads standard input.")],
    check: Annotated[
        bool, Option("--check", help="Change nothing; exit 1 where the record does not say what a file says.")
    ] = False,
    common: Common,
) -> int:
    """Fill in, or check, the numbers that files cite from the record.

    [[MOE-I8-003 tflops@int8]] is a number, [[MOE-I8-003 vs MOE-I8-002 tflops]] a change. Each becomes the number, with
    the citation beside it. A citation fails where the entry is void or superseded, where the sides are not alike, or
    where the record has another number.

    Example: logbook cite README.md

    Example: logbook cite README.md docs/results.md --check
    """
    space = common.space()
    if _STDIN in files and not check and (len(files) > 1 or common.as_json):
        raise UsageError(
            "- cannot be used together with " + ("--json" if common.as_json else "files"),
            cause="the text that is read from standard input is written to standard output",
            hint="logbook cite - < pull-request.md",
        )
    found = cite(space, files, check=check)
    for one in found:
        if one.text is not None and one.name == _STDIN:
            write_bytes([one.text.encode("utf-8", "replace")])
        elif one.text is not None:
            path = _path(space, one.name)
            write_text(path, one.text, within=path.parent)
    faults = [f"{one.name}:{f.line}: [[{f.citation}]]: {f.problem}" for one in found for f in one.faults]
    text = "\n".join(_line(one, check=check) for one in found if one.name != _STDIN or check)
    emit("cite", [one.data() for one in found], text, as_json=common.as_json, warnings=space.warnings)
    for fault in faults if not common.as_json else ():
        say(fault)
    return 1 if faults else 0


def _line(one: CitedFile, *, check: bool) -> str:
    count = f"{one.citations} citation{'s' * (one.citations != 1)}"
    wrong = f", {len(one.faults)} wrong" if one.faults else ""
    done = "checked" if check else "filled in" if one.text is not None else "unchanged"
    return f"{one.name}: {count} {done}{wrong}"
