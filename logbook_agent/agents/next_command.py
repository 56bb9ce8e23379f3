"""`logbook next`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from logbook_agent.agents.next_steps import next_steps
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import emit
from logbook_agent.findings.open_steps import OpenStep
from logbook_agent.findings.read import read
from logbook_agent.store.workspace import naming

_SHOWN = 10


def next_command(
    *,
    common: Common,
) -> int:
    """Say what is open, in order: why, what it settles, and what to type.

    Example: logbook next
    """
    space = common.space()
    book = space.book()
    claims = {claim.entry: claim.text for claim in book.claims.held()}
    found = next_steps(read(space, book, naming(space, book)))
    shown = found[:_SHOWN]
    left_out = len(found) - len(shown)
    data = {
        "topic": book.topic,
        "steps": [_data(step, claims) for step in shown],
        **({"left_out": left_out} if left_out else {}),
    }
    emit("next", data, _text(shown, claims, left_out), as_json=common.as_json, warnings=space.warnings)
    return 0


def _data(step: OpenStep, claims: Mapping[str, str]) -> dict[str, str]:
    """A step as plain data, without what it does not say."""
    plain = {
        "kind": step.kind,
        "id": step.entry,
        "what": step.text,
        "why": step.why,
        "settles": step.settles,
        "command": "" if step.entry in claims else step.command,
        "claimed_by": claims.get(step.entry, ""),
    }
    return {name: text for name, text in plain.items() if text}


def _text(shown: Sequence[OpenStep], claims: Mapping[str, str], left_out: int) -> str:
    if not shown:
        return "nothing is left to do here: set stop criteria, or write a next action: logbook edit --help"
    lines = [line for number, step in enumerate(shown, 1) for line in _lines(number, step, claims)]
    return "\n".join([*lines, *([f"and {left_out} more"] if left_out else [])])


def _lines(number: int, step: OpenStep, claims: Mapping[str, str]) -> list[str]:
    parts = {
        "why": step.why,
        "settles": "" if step.settles in step.text else step.settles,
        "claimed by": claims.get(step.entry, ""),
        "type": "" if step.entry in claims else step.command,
    }
    of = f" ({step.entry})" if step.entry and step.entry not in step.text else ""
    return [f"{number}. {step.text}{of}", *(f"   {name}: {text}" for name, text in parts.items() if text)]
