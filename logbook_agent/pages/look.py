"""An entry as its block needs it: of a long one, what the index keeps of its first runs, and the runs after them.

What is kept is used only while the first runs have the times of change and the sizes that they had, and everything else
that it follows from is the same; so it is what would be made of the records now.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from logbook_agent.findings.attempts import mark_of
from logbook_agent.findings.said import Said, first_part, is_long
from logbook_agent.model.codec import decode, encode
from logbook_agent.model.entry import Entry, State
from logbook_agent.model.record import Record, RunStatus, latest_states, record_of, run_state, runs_are_left, state_with
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.templating.templates import templates_of
from logbook_agent.store.book import Book
from logbook_agent.store.reading import builtin_folder
from logbook_agent.store.runs_index import are_settled
from logbook_agent.store.workspace import Workspace

if TYPE_CHECKING:
    from logbook_agent.store.runs_index import Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is kept of the first runs of a long entry. `unsettled` are the states of the latest runs of those commands
    whose latest run did not finish, by a digest of the command; `unfinished` those of the runs that have not ended, by
    number, which change with living processes."""

    said: Said
    last: int
    unsettled: dict[str, State]
    unfinished: dict[str, State]
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """An entry, with all its runs or, where `is_whole` is False, with those after the first part of a long entry.

    `first` is how many runs the first part of its block covers, and `kept` what the index has of it. `key` is what that
    part is kept under; None when it is not to be kept."""

    record: Record
    first: int
    is_whole: bool = True
    kept: Kept | None = None
    key: str | None = None


def look(workspace: Workspace, book: Book, entry_id: str) -> Look:
    """An entry as its block needs it. Raises StoreError when a record that is read for it cannot be."""
    entry = book.entry(entry_id)
    stamps = book.run_stamps(entry.id)
    if not is_long(len(stamps)):
        record = record_of(entry, book.runs(entry.id, stamps=stamps), book.life)
        return Look(record=record, first=len(record.runs))
    count = first_part(len(stamps))
    numbers, found = list(stamps), list(stamps.values())
    key = _key(workspace, book, entry, numbers[:count], found[:count])
    kept = _kept(book, entry.id, key, stamps)
    if kept is None or not kept.complete:
        record = record_of(entry, book.runs(entry.id, stamps=stamps), book.life)
        is_settled = are_settled(found[:count])
        return Look(record=record, first=count, kept=kept, key=key if is_settled else None)
    rest = _statuses(book, entry.id, {number: stamps[number] for number in numbers[count:]})
    record = Record(entry=entry, runs=rest, state=_state(entry, kept, rest))
    return Look(record=record, first=count, kept=kept, is_whole=False)


def said_in(book: Book, blocks: Blocks, seen: Look) -> Said:
    """What the block of an entry says of its runs."""
    record, kept = seen.record, seen.kept
    if not seen.is_whole and kept is not None:
        return blocks.said_with_rest(kept.said, record)
    if kept is None:
        kept = _made(blocks, record, seen.first)
        if seen.key is not None and record.runs:
            book.said.put(record.id, seen.key, json.dumps(encode(kept)))
    return blocks.said_with_rest(kept.said, dataclasses.replace(record, runs=record.runs[seen.first :]))


def _made(blocks: Blocks, record: Record, count: int) -> Kept:
    first = record.runs[:count]
    return Kept(
        said=blocks.said_of_first(record, count),
        last=first[-1].run.run if first else 0,
        unsettled={_digest(*k): state for k, state in latest_states(first).items() if state != "finished"},
        unfinished={str(s.run.run): s.state for s in first if s.run.exit is None},
        complete=not runs_are_left(record.entry, first),
    )


def _kept(book: Book, entry_id: str, key: str, stamps: Mapping[int, Stamp]) -> Kept | None:
    """What is kept under a key, unless it does not fit, or a run that had not ended then stands otherwise now."""
    text = book.said.get(entry_id, key)
    if text is None:
        return None
    try:
        kept = decode(Kept, json.loads(text))
        numbers = [int(number) for number in kept.unfinished]
        now = _statuses(book, entry_id, {n: stamps[n] for n in numbers})
    except (ValueError, KeyError, RecursionError):
        return None
    return kept if {str(s.run.run): s.state for s in now} == kept.unfinished else None


def _statuses(book: Book, entry_id: str, stamps: Mapping[int, Stamp]) -> tuple[RunStatus, ...]:
    return tuple(RunStatus(run=run, state=run_state(run, book.life)) for run in book.runs(entry_id, stamps=stamps))


def _state(entry: Entry, kept: Kept, rest: Sequence[RunStatus]) -> State:
    latest = {**kept.unsettled, **{_digest(*k): state for k, state in latest_states(rest).items()}}
    return state_with(entry, latest.values(), runs_left=False)


def _digest(label: str | None, argv: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps([label, *argv]).encode()).hexdigest()[:32]


def _key(workspace: Workspace, book: Book, entry: Entry, numbers: Sequence[int], stamps: Sequence[Stamp]) -> str:
    """A digest of all that is kept follows from, but for living processes."""
    changed = array("q", chain(numbers, chain.from_iterable(stamps)))
    facts = {
        k: v
        for k, v in encode(entry).items()
        if k in ("id", "kind", "aliases", "commands", "recipe", "comparison", "contrasts")
    }
    about = [
        facts,
        encode(book.header.metrics),
        template_stamps(workspace, "table.md.j2"),
        hashlib.sha256(changed.tobytes()).hexdigest(),
        # Which commands are said to have failed, in the hints that are kept beside.
        mark_of(Record(entry=entry, state=entry.state or "finished")) is not None,
    ]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


def template_stamps(workspace: Workspace, *names: str) -> list[list[object]]:
    """What changes with these built-in templates, and with those of the project."""
    override = templates_of(workspace).override
    own = sorted(override.rglob("*")) if override is not None else ()
    return [_file(path) for path in (*(builtin_folder("templates") / name for name in names), *own)]


def _file(path: Path) -> list[object]:
    state = path.stat()
    return [str(path), state.st_ctime_ns, state.st_size]
