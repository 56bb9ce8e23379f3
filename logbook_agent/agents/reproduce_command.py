"""`logbook reproduce`: a recorded run made again, and whether its numbers came again."""

from __future__ import annotations

from logbook_agent.agents.reproduction import reproduce
from logbook_agent.cli.displays import run_display
from logbook_agent.cli.options import Common, Text, argument, option


def reproduce_command(
    *,
    reference: str = argument("ID[/RUN]", "The entry, whose last finished run is repeated, or one of its runs.", ...),
    setup: Text = option(
        "--setup COMMAND", "Shell command that prepares the checkout, in the place of a recorded one."
    ),
    common: Common,
) -> int:
    """Repeat a recorded run, and compare it with its record.

    Checks out the recorded commit and diff beside your tree, which stays as it is, runs the setup of an A/B there, and
    records nothing. The answer is `reproduced`, `differs` (exit code 1) or `cannot` (1), which names what is missing.
    Numbers are compared with the median of the runs that repeat it, with ID/RUN with those of that run.

    Example: logbook reproduce MOE-I8-003

    Example: logbook reproduce MOE-I8-003/2
    """
    with run_display(all_to_stderr=True) as display:
        found = reproduce(common.space(), reference, setup, display)
    common.emit("reproduce", found.data(), "\n".join(found.lines()))
    return 0 if found.outcome == "reproduced" else 1
