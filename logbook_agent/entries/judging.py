"""What judges results: gates, labels that may differ and metrics of a logbook, changed with a reason; gates of an
entry, and the acceptance of its withheld numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from logbook_agent.entries.stated import parse_metric
from logbook_agent.model.entry import Acceptance, Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import WITHHELD, parse_gate
from logbook_agent.model.header import Header, HeaderChange
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.pages.views import render
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import one_line
from logbook_agent.text.phrases import listed

_EXAMPLE = "--gate 'ok == 1'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Gates to add, labels that may differ from now on, metrics to declare, and what to `drop`: a gate, a label or a
    metric. `accept` is why withheld numbers count, those of `runs` (empty: of all withheld runs)."""

    gates: Sequence[str] = ()
    free: Sequence[str] = ()
    metrics: Sequence[str] = ()
    drop: Sequence[str] = ()
    accept: str | None = None
    runs: Sequence[int] = ()


NOTHING = Judging()


def checked_gates(texts: Sequence[str]) -> tuple[str, ...]:
    """The gates in their one form. Raises UsageError."""
    try:
        return tuple(str(parse_gate(text)) for text in texts)
    except ValueError as error:
        raise UsageError(
            f"--gate: {error}", cause="a gate is a condition on one name that rows report", hint=_EXAMPLE
        ) from None


def _may_be_withheld(run: Run) -> bool:
    """Whether rows of a run are withheld in their entry, or hold a zero, which other entries may make one."""
    samples = (0 in m.samples for row in run.rows for m in row.metrics.values())
    return any(p.grade == WITHHELD for p in run.problems) or any(samples)


def _changed(before: Sequence[str], added: Sequence[str], dropped: Sequence[str]) -> tuple[str, ...]:
    gone = {text.replace(" ", "") for text in dropped}
    return tuple(dict.fromkeys(text for text in (*before, *added) if text.replace(" ", "") not in gone))


def change_header(workspace: Workspace, book: Book, wanted: Judging, reason: str | None) -> Header:
    """Change what judges all results of a logbook, and render its view again. Raises UsageError without a reason."""
    gates, metrics = checked_gates(wanted.gates), [parse_metric(text) for text in wanted.metrics]
    said = [*(f"gate {g}" for g in gates), *(f"{name} may differ" for name in wanted.free)]
    said += [*(f"metric {text}" for text in wanted.metrics), *(f"without {text}" for text in wanted.drop)]
    if not said or wanted.accept is not None:
        raise UsageError(
            "no entry given",
            cause="without an ID, only gates, free labels and metrics of the logbook can be changed",
            hint="logbook edit ID, or logbook list for the IDs",
        )
    if not reason:
        raise UsageError(
            "changing what judges the results needs a reason",
            cause="it may change answers that others have already read",
            hint=f"logbook edit {_EXAMPLE} --reason '...'",
        )

    def change(header: Header) -> Header:
        named = {m.name: m for m in header.metrics if m.name not in wanted.drop} | {m.name: m for m in metrics}
        new = dataclasses.replace(
            header,
            gates=_changed(header.gates, gates, wanted.drop),
            free=_changed(header.free, wanted.free, wanted.drop),
            metrics=tuple(named.values()),
        )
        if new == header:
            cause = "the change is already in place, or the name to drop does not exist"
            raise UsageError(f"nothing to change in {book.topic}", cause=cause, hint="logbook status")
        at = HeaderChange(at=workspace.stamp(), what=", ".join(said), reason=one_line(reason))
        return dataclasses.replace(new, changes=(*header.changes, at))

    header = book.change_header(change)
    render(workspace, book)
    return header


def with_judging(record: Record, entry: Entry, wanted: Judging, at: str) -> Entry:
    """The entry with gates and acceptances changed. Raises UsageError for an acceptance of what is not withheld."""
    gates, accepted = _changed(entry.gates, checked_gates(wanted.gates), wanted.drop), entry.accepted
    if wanted.accept is not None:
        withheld = [s.run.run for s in record.runs if _may_be_withheld(s.run)]
        runs = tuple(wanted.runs or withheld)
        if not runs or not {*runs} <= {*withheld}:
            raise UsageError(
                f"run {listed([*map(str, runs)], 3)} is not withheld" if runs else f"no run of {record.id} is withheld",
                cause="only numbers that are withheld can be accepted",
                hint=f"logbook show {record.id}",
            )
        if not wanted.accept.strip():
            raise UsageError(
                "--accept is empty", cause="later readers must know why the numbers count", hint="--accept '...'"
            )
        accepted = (*accepted, Acceptance(runs=runs, why=one_line(wanted.accept), at=at))
    return dataclasses.replace(
        entry, gates=gates, free=_changed(entry.free, wanted.free, wanted.drop), accepted=accepted
    )
