"""What is open in a campaign, in order: what every reader of a thread has (`findings/open_steps.py`), then cells of the
matrix that nobody measured, and a first comparison; pure."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping

from logbook_agent.findings.advice import command_in, settled_by
from logbook_agent.findings.cases import cases
from logbook_agent.findings.open_steps import OpenStep, open_steps
from logbook_agent.findings.read import Findings
from logbook_agent.findings.tables.frame import Frame, Item, frame_of, show
from logbook_agent.model.entry import HYPOTHESIS, settled
from logbook_agent.text.phrases import counted
from logbook_agent.text.shell_words import assignments

# Cells of a matrix that are looked at, and those that are listed.
_CELLS, _SHOWN = 1_000, 3


def next_steps(found: Findings) -> list[OpenStep]:
    """What is open in a thread; a command that is proposed twice stands at its first step."""
    if found.header.closing is not None:
        return []
    first = found.opening
    kept: dict[str, OpenStep] = {}
    for step in (*open_steps(found.thread, first.answers), *itertools.islice(_cells(found), _SHOWN)):
        if step.kind == "plan":
            step = _plan(found, step)
        kept.setdefault(step.command or f"{step.kind} {step.entry} {step.text}", step)
    if first.command and first.not_settled:
        text = "Compare two cases in pairs"
        step = OpenStep(kind="first comparison", text=text, why=first.not_settled, command=first.command)
        kept.setdefault(step.command, step)
    return [*kept.values()]


def _plan(found: Findings, step: OpenStep) -> OpenStep:
    """A planned entry with what it asks; without a command where none is planned."""
    record = found.records.record(step.entry)
    asked = (record.entry.text(HYPOTHESIS) or "").partition("\n")[0]
    return dataclasses.replace(step, settles=asked, command=step.command if record.pending_commands else "")


def _cells(found: Findings) -> Iterator[OpenStep]:
    """The cells of the matrix that no row fills; of a large matrix its values alone."""
    axes = {axis.axis: axis.values for axis in found.header.matrix if axis.values}
    if not axes:
        return
    records = [r for r in found.counting if settled(r.state)]
    frame = frame_of([c for c in cases(*records) if c.row.failed is None and c.state in ("finished", None)])
    cells: Iterator[dict[str, str]]
    products = itertools.product(*axes.values())
    cells = (dict(zip(axes, values, strict=True)) for values in itertools.islice(products, _CELLS))
    if any(axis not in frame.axes() for axis in axes):
        cells = ({axis: value} for axis, values in axes.items() for value in values)
    left = [cell for cell in cells if not frame.having(cell)]
    for cell in left:
        yield OpenStep(
            kind="matrix",
            text=f"Measure {assignments(cell)}",
            why=f"{counted(len(left), 'cell')} of the matrix {'was' if len(left) == 1 else 'were'} not measured",
            settles=f"the cell {assignments(cell)}",
            command=_beside(frame, cell, axes),
        )


def _beside(frame: Frame, cell: Mapping[str, str], axes: Mapping[str, tuple[str, ...]]) -> str:
    """The A/B of a cell with a measured one that differs in a single axis; empty where there is none."""
    for axis in reversed([*axes]):
        if axis not in cell:
            continue
        others = frame.having({name: value for name, value in cell.items() if name != axis})
        base = _nearest(others, axis, axes[axis])
        if base is not None and (value := base.place.get(axis)) is not None:
            return command_in(settled_by(axis, [show(value), cell[axis]], [base]))
    return ""


def _nearest(items: list[Item], axis: str, values: tuple[str, ...]) -> Item | None:
    """The item with the first value of an axis that any of them has, else the latest."""
    of = {show(item.place.get(axis)): item for item in items}
    return next((of[value] for value in values if value in of), items[-1] if items else None)
