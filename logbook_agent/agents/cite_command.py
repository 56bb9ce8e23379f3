"""`logbook cite`: numbers of the record in files, and whether they still say what it says."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import to_builtins

from logbook_agent.agents.citations import checked, filled, places
from logbook_agent.agents.cited_numbers import findings_in, saying
from logbook_agent.cli.options import Common, arguments, flag
from logbook_agent.cli.output import say, write_bytes
from logbook_agent.model.errors import UsageError
from logbook_agent.store.folder import Folder, read_named
from logbook_agent.text.phrases import counted

_STDIN = "-"
_MOST_BYTES = 16 * 2**20


def cite_command(
    *,
    files: Sequence[str] = arguments("FILE...", "Text files, or - for standard input.", ...),
    check: bool = flag("--check", "Change nothing; exit 1 if a citation is wrong."),
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
    known = saying(findings_in(space))
    read = [(name, _read(space.cwd, name)) for name in files]
    data, lines, wrong = list[dict[str, object]](), list[str](), list[str]()
    for name, before in read:
        text = before if check else filled(before, known)
        faults, count = checked(text, known), sum(1 for _ in places(text))
        if name == _STDIN and not check:
            write_bytes([text.encode("utf-8", "replace")])
        else:
            done = "checked" if check else "filled in" if text != before else "unchanged"
            bad = f", {len(faults)} wrong" if faults else ""
            lines.append(f"{name}: {counted(count if check else max(0, count - len(faults)), 'citation')} {done}{bad}")
        if name != _STDIN and text != before:
            _write(space.cwd / Path(name).expanduser(), text)
        problems = [to_builtins(fault) for fault in faults]
        data.append({"file": name, "citations": count, "changed": text != before, "problems": problems})
        wrong += [f"{name}:{f.line}: [[{f.citation}]]: {f.problem}" for f in faults]
    common.emit("cite", data, "\n".join(lines))
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
