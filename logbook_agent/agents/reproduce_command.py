"""`logbook reproduce`: a recorded run made again, and whether its numbers came again."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from logbook_agent.agents.reproduction import reproduce
from logbook_agent.cli.displays import run_display
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import emit


def reproduce_command(
    *,
    entry_id: Annotated[str, Argument(metavar="ID", help="The entry.")],
    number: Annotated[
        int | None, Option("--run", metavar="N", help="The run to repeat. [the last that finished]")
    ] = None,
    common: Common,
) -> int:
    """Repeat a recorded run, and compare it with its record.

    Checks out the recorded commit and diff beside your tree, which stays as it is, and records nothing. The answer is
    `reproduced`, `differs` (exit code 1) or `cannot` (1), which names what is missing.

    Example: logbook reproduce MOE-I8-003
    """
    space = common.space()
    with run_display(all_to_stderr=True) as display:
        found = reproduce(space, entry_id, display, number=number)
    emit("reproduce", found.data(), "\n".join(found.lines()), as_json=common.as_json, warnings=space.warnings)
    return 0 if found.outcome == "reproduced" else 1
