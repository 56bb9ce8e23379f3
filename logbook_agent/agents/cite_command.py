"""`logbook cite`: numbers of the record in files, and whether they still say what it says."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from logbook_agent.agents.citations import Fault, checked, filled, places
from logbook_agent.agents.cited_numbers import findings_in, saying
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import emit, say, write_bytes
from logbook_agent.model.errors import UsageError
from logbook_agent.store.folder import Folder
from logbook_agent.store.opening import read_named
from logbook_agent.text.phrases import counted

_STDIN = "-"
_MOST_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class _CitedFile:
    """A file with its text, the text with the numbers of the record, and what is wrong with some of its citations."""

    name: str
    before: str
    text: str
    faults: list[Fault]

    @property
    def citations(self) -> int:
        return sum(1 for _ in places(self.text))

    def line(self, *, check: bool) -> str:
        count = self.citations if check else max(0, self.citations - len(self.faults))
        done = "checked" if check else "filled in" if self.text != self.before else "unchanged"
        wrong = f", {len(self.faults)} wrong" if self.faults else ""
        return f"{self.name}: {counted(count, 'citation')} {done}{wrong}"

    def data(self) -> dict[str, object]:
        return {
            "file": self.name,
            "citations": self.citations,
            "changed": self.text != self.before,
            "problems": [asdict(fault) for fault in self.faults],
        }


def cite_command(
    *,
    files: Annotated[list[str], Argument(metavar="FILE...", help="Text files, or - for standard input.")],
    check: Annotated[bool, Option("--check", help="Change nothing; exit 1 if a citation is wrong.")] = False,
    common: Common,
) -> int:
    """Fill in or check the numbers that files cite from the record.

    Replaces [[MOE-I8-003 tflops@int8]] by the number, [[MOE-I8-003 vs base tflops]] by the change that this comparison
    found, and [[MOE-I8-003 vs MOE-I8-002 tflops]] by the change between two entries; the citation stays beside it. A
    citation is wrong if the entry is void or superseded, if the sides are not comparable, or if the record has another
    number.

    Example: logbook cite README.md

    Example: logbook cite README.md docs/results.md --check
    """
    space = common.space()
    if _STDIN in files and not check and (len(files) > 1 or common.as_json):
        raise UsageError(
            "- cannot be used together with " + ("--json" if common.as_json else "files"),
            cause="text from standard input is written to standard output",
            hint="logbook cite - < pull-request.md",
        )
    known, found = saying(findings_in(space)), list[_CitedFile]()
    for name in files:
        before = _read(space.cwd, name)
        text, faults = (before, checked(before, known)) if check else filled(before, known)
        found.append(_CitedFile(name=name, before=before, text=text, faults=faults))
    for one in found:
        if one.name == _STDIN and not check:
            write_bytes([one.text.encode("utf-8", "replace")])
        elif one.text != one.before:
            _write(space.cwd / Path(one.name).expanduser(), one.text)
    shown = [one.line(check=check) for one in found if check or one.name != _STDIN]
    emit("cite", [one.data() for one in found], "\n".join(shown), as_json=common.as_json, warnings=space.warnings)
    wrong = [f"{one.name}:{f.line}: [[{f.citation}]]: {f.problem}" for one in found for f in one.faults]
    for line in wrong if not common.as_json else ():
        say(line)
    return 1 if wrong else 0


def _read(cwd: Path, name: str) -> str:
    if name == _STDIN:
        return sys.stdin.read()
    path = cwd / Path(name).expanduser()
    if not path.is_file():
        raise UsageError(
            f"cannot read {name}", cause="it is not a file", hint="name files, or - for standard input: logbook cite -"
        )
    try:
        # As it is, with its own ends of lines.
        return read_named(path, limit=_MOST_BYTES).decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"cannot read {name}",
            cause=f"it is not UTF-8 text (byte {error.start})",
            hint=f"iconv -t UTF-8 {name}",
        ) from error


def _write(path: Path, text: str) -> None:
    path = Path(os.path.realpath(path))
    Folder(path.parent).write(path, text)
