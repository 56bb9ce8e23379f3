"""`logbook next`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from logbook_agent.agents.kept_commit import kept_steps
from logbook_agent.agents.next_steps import next_steps
from logbook_agent.campaign.typing_place import typing_place
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import emit
from logbook_agent.findings.open_steps import OpenStep, nothing_left
from logbook_agent.findings.open_steps import at_work as being_made
from logbook_agent.findings.read import read
from logbook_agent.store.workspace import naming

_SHOWN = 10
# By entry, how another worktree is ahead: a name of the answer, and its text.
_AtWork: TypeAlias = Mapping[str, tuple[str, str]]


def next_command(
    *,
    common: Common,
) -> int:
    """Say what is open, in order: why, what it settles, and what to type.

    Example: logbook next
    """
    space = common.space()
    book = space.book()
    findings = read(space, book, naming(space, book), typing_place(space))
    found = [*kept_steps(space, book, findings, next_steps(findings))]
    at_work = {claim.entry: ("claimed_by", claim.text) for claim in book.claims.held()}
    shown = [being_made(step) if step.entry in at_work else step for step in found[:_SHOWN]]
    for step in shown:
        if step.entry and step.kind != "next action":
            executed = book.claims.elsewhere(findings.records.record(step.entry))
            at_work |= {step.entry: ("executed", executed.text)} if executed is not None else {}
    left_out = len(found) - len(shown)
    data = {
        "topic": book.topic,
        "steps": [_data(step, at_work) for step in shown],
        **({"left_out": left_out} if left_out else {}),
    }
    text = _text(shown, at_work, left_out) or nothing_left(findings.header)
    emit("next", data, text, as_json=common.as_json, warnings=space.warnings)
    return 0


def _data(step: OpenStep, at_work: _AtWork) -> dict[str, str]:
    """A step as plain data, without what it does not say."""
    plain = {
        "kind": step.kind,
        "id": step.entry,
        "what": step.text,
        "why": step.why,
        "settles": step.settles,
        "command": "" if step.entry in at_work else step.command,
        **dict(filter(None, [at_work.get(step.entry)])),
    }
    return {name: text for name, text in plain.items() if text}


def _text(shown: Sequence[OpenStep], at_work: _AtWork, left_out: int) -> str:
    lines = [line for number, step in enumerate(shown, 1) for line in _lines(number, step, at_work)]
    return "\n".join([*lines, *([f"and {left_out} more"] if left_out else [])])


def _lines(number: int, step: OpenStep, at_work: _AtWork) -> list[str]:
    parts = {
        "why": step.why,
        "about": "" if step.settles in step.text else step.settles,
        **{key.replace("_", " "): text for key, text in filter(None, [at_work.get(step.entry)])},
        "type": "" if step.entry in at_work else step.command,
    }
    of = f" ({step.entry})" if step.entry and step.entry not in step.text else ""
    return [f"{number}. {step.text}{of}", *(f"   {name}: {text}" for name, text in parts.items() if text)]
