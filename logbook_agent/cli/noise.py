"""`logbook noise`."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from typer import Argument, Option

from logbook_agent.campaign.noise import NoiseResult, noise
from logbook_agent.cli.options import Common, Text, Texts, Words
from logbook_agent.cli.output import LiveDisplay, emit
from logbook_agent.cli.run import How, OnOption, ShellOption
from logbook_agent.findings.case_repeats import noise_lines

_REPEAT = 12


def noise_command(
    *,
    command: Annotated[Texts, Argument(metavar="-- [K=V...] CMD...", help="The command, after --.")] = None,
    words: Words,
    how: How,
    repeat: Annotated[
        int, Option("--repeat", metavar="N", help="Run it N times, at least 6; two runs are a pair.")
    ] = _REPEAT,
    on: OnOption = None,
    entry_id: Annotated[Text, Option("--id", metavar="ID", help="Add runs to this measurement of noise.")] = None,
    shell: ShellOption = False,
    common: Common,
) -> int:
    """Run a command several times to learn how far its runs scatter, and what an A/B of it would settle.

    `logbook show ID` prints the scatter again. Example: logbook noise -- python bench.py --quant-mode none
    """
    request = how.request(command or (), words.read(), entry_id)
    request = dataclasses.replace(request, repeat=repeat, on=on, shell=shell)
    space = common.space()
    # The answer has stdout; what the command prints goes to stderr.
    result = noise(space, request, LiveDisplay(all_to_stderr=True))
    text = "" if common.as_json else _text(result)
    emit("noise", result.data(), text, as_json=common.as_json, warnings=space.warnings)
    return result.made.exit_status


def _text(result: NoiseResult) -> str:
    entry, count = result.made.entry, len(result.made.runs)
    nothing = f"nothing was measured: no finished run has a row with a metric; see logbook show {entry.id}"
    lines = noise_lines(result.found) or [nothing]
    return "\n".join([f"{entry.id}: {count} run{'' if count == 1 else 's'}", *lines])
