"""`logbook next`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import structs

from logbook_agent.agents.kept_commit import kept_steps
from logbook_agent.agents.next_steps import next_steps
from logbook_agent.campaign.typing_place import typing_place
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import emit
from logbook_agent.findings.open_steps import OpenStep, nothing_left, waiting_for
from logbook_agent.findings.read import read
from logbook_agent.model.entry import sorted_ids
from logbook_agent.pages.views import with_cited_numbers
from logbook_agent.store.book import Book
from logbook_agent.store.book_runs import going_runs, open_series
from logbook_agent.store.workspace import naming

_SHOWN = 10
# By entry, who makes its runs, or made them elsewhere: a name of the answer, and its text.
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
    waits = _waits(book)
    steps = kept_steps(space, book, findings, next_steps(with_cited_numbers(findings)))
    found = _with_waits([*steps], waits, findings.header.prefix)
    at_work = {claim.entry: ("claimed_by", claim.text) for claim in book.claims.held()}
    shown = list[OpenStep]()
    for step in found[:_SHOWN]:
        if step.entry in waits and step.kind != "next action":
            step = waiting_for(step, waits[step.entry])
        elif step.entry and step.kind != "next action":
            executed = book.elsewhere(findings.records.record(step.entry))
            if executed is not None:
                at_work[step.entry] = "executed", executed.text
                step = structs.replace(step, command="")
        shown.append(step)
    left_out = len(found) - len(shown)
    data = {
        "topic": book.topic,
        "steps": [_data(step, at_work) for step in shown],
        **({"left_out": left_out} if left_out else {}),
        **({} if shown else {"nothing_left": nothing_left(findings.header)}),
    }
    text = _text(shown, at_work, left_out) or nothing_left(findings.header)
    emit("next", data, text, as_json=common.as_json, warnings=space.warnings)
    return 0


def _waits(book: Book) -> dict[str, str]:
    """What to type to wait for the entries whose runs are made now, by entry; empty where another host makes them."""
    here = [*open_series(book), *(one.run.entry for one in going_runs(book))]
    claims = {claim.entry: claim.wait(str(book.root)) for claim in book.claims.held()}
    return {entry: f"logbook wait {entry}" for entry in here} | claims


def _with_waits(found: Sequence[OpenStep], waits: Mapping[str, str], prefix: str) -> list[OpenStep]:
    """The steps, one of them for each entry that is waited for, beside the next actions that people wrote."""
    first: dict[str, OpenStep] = {}
    for step in found:
        if step.kind != "next action":
            first.setdefault(step.entry, step)
    idle = sorted_ids((entry for entry, wait in waits.items() if wait and entry not in first), prefix)
    left = [
        step for step in found if step.entry not in waits or step.kind == "next action" or step is first[step.entry]
    ]
    # A first number may come of what is waited for.
    left = [step for step in left if step.kind != "first comparison" or not any(waits.values())]
    return [*left, *(OpenStep(kind="run", text="", entry=entry) for entry in idle)]


def _data(step: OpenStep, at_work: _AtWork) -> dict[str, str]:
    """A step as plain data, without what it does not say."""
    plain = {
        "kind": step.kind,
        "id": step.entry,
        "what": step.text,
        "why": step.why,
        "settles": step.settles,
        "command": step.command,
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
        "type": step.command,
    }
    of = f" ({step.entry})" if step.entry and step.entry not in step.text else ""
    return [f"{number}. {step.text}{of}", *(f"   {name}: {text}" for name, text in parts.items() if text)]
