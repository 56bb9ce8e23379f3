"""`logbook cite`: numbers of the record in files, and whether they still say what it says."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from logbook_agent.agents.cited_files import STDIN, CitedFile, cite, write
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import emit, say, write_bytes
from logbook_agent.model.errors import UsageError
from logbook_agent.text.phrases import counted


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
    if STDIN in files and not check and (len(files) > 1 or common.as_json):
        raise UsageError(
            "- cannot be used together with " + ("--json" if common.as_json else "files"),
            cause="text from standard input is written to standard output",
            hint="logbook cite - < pull-request.md",
        )
    found = cite(space, files, check=check)
    write(space, found)
    write_bytes(one.text.encode("utf-8", "replace") for one in found if one.text is not None and one.name == STDIN)
    faults = [f"{one.name}:{f.line}: [[{f.citation}]]: {f.problem}" for one in found for f in one.faults]
    text = "\n".join(_line(one, check=check) for one in found if one.name != STDIN or check)
    emit("cite", [one.data() for one in found], text, as_json=common.as_json, warnings=space.warnings)
    for fault in faults if not common.as_json else ():
        say(fault)
    return 1 if faults else 0


def _line(one: CitedFile, *, check: bool) -> str:
    count = counted(one.citations if check else max(0, one.citations - len(one.faults)), "citation")
    wrong = f", {len(one.faults)} wrong" if one.faults else ""
    done = "checked" if check else "filled in" if one.text is not None else "unchanged"
    return f"{one.name}: {count} {done}{wrong}"
