"""What judges the results of an entry: gates, labels that may differ, and the acceptance of its withheld numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from shlex import quote
from typing import TypeVar

from msgspec import Struct, structs

from logbook_agent.findings.advice import ab_afresh
from logbook_agent.model.entry import Acceptance, Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import SAME, WITHHELD, is_nothing, parse_gate
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.text.markdown import one_line
from logbook_agent.text.phrases import listed

Judged = TypeVar("Judged", Entry, Header)
_EXAMPLE = "--gate 'ok == 1'"


class Judging(Struct, frozen=True, kw_only=True):
    """Gates to add, labels that may differ from now on, and what to `drop`: a gate or a label. `accept` is why withheld
    numbers count, those of `runs` (empty: of all withheld runs)."""

    gates: Sequence[str] = ()
    free: Sequence[str] = ()
    drop: Sequence[str] = ()
    accept: str | None = None
    runs: Sequence[str] = ()


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
    samples = (is_nothing(n, m) for row in run.rows for n, m in row.metrics.items())
    return any(p.grade == WITHHELD for p in run.problems) or any(samples)


def with_gates(of: Judged, gates: Sequence[str], free: Sequence[str], dropped: Sequence[str] = ()) -> Judged:
    """The entry or header with these gates and labels that may differ beside its own. Of a label that had to be the
    same and may differ now, or the other way round, the latest word counts."""
    gone = [*dropped, *(f"{SAME} {name}" for name in free)]
    held: list[str] = [gate.name for gate in map(parse_gate, gates) if gate.op == SAME]
    return structs.replace(of, gates=_changed(of.gates, gates, gone), free=_changed(of.free, free, [*dropped, *held]))


def _changed(before: Sequence[str], added: Sequence[str], dropped: Sequence[str]) -> tuple[str, ...]:
    gone = {text.replace(" ", "") for text in dropped}
    return tuple(dict.fromkeys([*(text for text in before if text.replace(" ", "") not in gone), *added]))


def check_gates(record: Record, gates: Sequence[str]) -> None:
    """Raises UsageError for a new gate on a metric that decides the pairs of an entry: whoever has seen them could
    choose the answer by its limit."""
    stated = record.entry.comparison
    pairs = [s.run for s in record.runs if s.counts and s.run.part is not None and s.run.rows]
    fresh = [gate for gate in gates if gate not in record.entry.gates]
    late = next(
        (gate for gate in fresh if stated is not None and parse_gate(gate).limits(stated.question.metrics)), None
    )
    if stated is None or late is None or not pairs:
        return
    again = f"with the gate from the beginning: {ab_afresh(record.id)}"
    is_typed = stated.run is not None and not stated.run.in_process
    raise UsageError(
        f"the gate {late!r} is too late for {record.id}, which {parse_gate(late).name} decides",
        cause="its pairs were seen already, and a limit that is chosen afterwards can choose the answer",
        hint=f"{again} {' '.join(f'--gate {quote(gate)}' for gate in fresh)}"
        if is_typed
        else f"state the gate before the first pair of a new comparison; logbook show {record.id}",
    )


def with_judging(record: Record, entry: Entry, wanted: Judging, at: str, run_named: Callable[[str, str], int]) -> Entry:
    """The entry with gates and acceptances changed. Raises UsageError for an acceptance of what is not withheld, and
    for a gate that comes too late."""
    gates, accepted = checked_gates(wanted.gates), entry.accepted
    check_gates(record, gates)
    if wanted.accept is not None:
        withheld = [s.run.run for s in record.runs if _may_be_withheld(s.run)]
        runs = tuple([run_named(record.id, text) for text in wanted.runs] or withheld)
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
    return structs.replace(with_gates(entry, gates, wanted.free, wanted.drop), accepted=accepted)
