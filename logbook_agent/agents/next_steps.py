"""What is open in a campaign, in order: what every reader of a thread has (`findings/open_steps.py`); where that is
no more than stop criteria without a command, a first comparison; pure."""

from __future__ import annotations

import shlex

from msgspec import structs

from logbook_agent.findings.advice import ab_more, needed_setup
from logbook_agent.findings.open_steps import OpenStep, has_command, is_waiting, open_steps, unmet, waiting
from logbook_agent.findings.read import Findings


def next_steps(found: Findings) -> list[OpenStep]:
    """What is open in a thread; a command that is proposed twice stands at its first step."""
    if found.header.closing is not None:
        return []
    first = found.opening
    kept: dict[str, OpenStep] = {}
    for step in open_steps(found.thread, first.answers):
        step = waiting(found.records, found.here, step) if is_waiting(step) else _in_folder(found, step)
        kept.setdefault(step.command or f"{step.kind} {step.entry} {step.text}", step)
    is_to_compare = first.command and not any(map(has_command, unmet(found.header)))
    if is_to_compare and all(step.kind == "criterion" for step in kept.values()):
        is_measured = any(s["rows"] for s in found.thread.summaries)
        text = "Compare two cases in pairs" if is_measured else "Measure a first case"
        step = OpenStep(kind="first comparison", text=text, why=first.not_settled, command=first.command)
        kept = {**kept, "": step} if is_measured else {"": step, **kept}
    return [_typed(found, step) for step in kept.values()]


def _typed(found: Findings, step: OpenStep) -> OpenStep:
    """A step with its command as it is typed here, or with the budget that allows none, and with what a checkout of its
    code lacks."""
    command = found.typed(step.command)
    lacks = needed_setup(found.entry(step.entry).comparison) if step.entry and ab_more(step.entry) in command else ""
    why = "; ".join(filter(None, [step.why, lacks, "" if command or not step.command else found.budget]))
    return structs.replace(step, command=command, why=why)


def _in_folder(found: Findings, step: OpenStep) -> OpenStep:
    """The command that a next action names, in the folder of the last run of its entry, else at the top."""
    options, end, words = step.command.partition(" -- ")
    if step.kind != "next action" or not end or "--cwd" in options:
        return step
    runs = found.record(step.entry).runs
    path = found.here.folder(runs[-1].run.cwd or "." if runs else ".")
    cwd = f" --cwd {shlex.quote(path)}" if path != "." else ""
    return structs.replace(step, command=f"{options}{cwd}{end}{words}")
