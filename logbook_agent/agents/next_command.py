"""`logbook next`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated

from typer import Option

from logbook_agent.agents.next_answer import next_data, next_proposals
from logbook_agent.agents.next_steps import Proposal
from logbook_agent.cli import main
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import emit, say
from logbook_agent.model.errors import UsageError

_SHOWN = 12


def next_command(
    *,
    run: Annotated[
        bool,
        Option("--run", help="Run the first step with a complete command that nobody claims and its budget allows."),
    ] = False,
    everything: Annotated[bool, Option("--all", help=f"Show all steps, not the first {_SHOWN}.")] = False,
    common: Common,
) -> int:
    """Say what to do next, in order: why, what it settles, what to type, what it costs.

    What cannot answer its question within its budget comes first. A refuted idea comes back only when something that
    its entry names has changed: the code, a version, the baseline.

    Example: logbook next
    """
    space = common.space()
    book = space.book()
    found = next_proposals(space, book)
    if run:
        return _carried_out(common, found)
    shown = found if everything else found[:_SHOWN]
    data = {"topic": book.topic, **next_data(shown, len(found) - len(shown))}
    emit("next", data, _text(shown, len(found) - len(shown)), as_json=common.as_json, warnings=space.warnings)
    return 0


def _text(shown: Sequence[Proposal], left_out: int) -> str:
    if not shown:
        return "nothing is left to do here: set stop criteria, or write a next action (logbook edit ID --next TEXT)"
    lines = [
        f"as planned, this cannot answer its question: {one.step.text} ({one.trouble})" for one in shown if one.trouble
    ]
    lines += [line for number, one in enumerate(shown, 1) for line in one.lines(number)]
    return "\n".join([*lines, *([f"and {left_out} more: logbook next --all"] if left_out else [])])


def _carried_out(common: Common, found: Sequence[Proposal]) -> int:
    """Carry out the first step that can be; the exit code of that."""
    chosen = next((one for one in found if one.can_run), None)
    if chosen is None:
        raise UsageError(
            "no step can be run as it stands",
            cause=f"the first: {found[0].step.text}" if found else "nothing is left to do",
            hint="see what is missing: logbook next",
        )
    words = shlex.split(chosen.step.command)[1:]
    say(f"next: {chosen.step.text}\n{chosen.step.command}")
    shared = [*(("-L", common.logbook) if common.logbook else ()), *(("--root", common.root) if common.root else ())]
    return main([words[0], *shared, *(("--json",) if common.as_json else ()), *words[1:]])
