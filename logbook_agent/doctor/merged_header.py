"""What the header says of an ID that two clones gave out: whose word it is decides which entry it means."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping

from logbook_agent.doctor.finding import Examination
from logbook_agent.doctor.sides import Sides
from logbook_agent.model.errors import StoreError
from logbook_agent.model.header import Header
from logbook_agent.running.provenance.merges import merges_of
from logbook_agent.store import records

# A place in a header that names an entry, alike on both sides: what kind it is, and what tells it from the others.
Place = tuple[str, ...]


def places_of(header: Header) -> dict[Place, str]:
    """Where a header names entries, and which."""
    found: dict[Place, str] = {}

    def seen(place: Place, entry_id: str) -> str:
        found[place] = entry_id
        return entry_id

    _renamed(header, seen)
    return found


def words_of(place: Place) -> str:
    """`the baseline`, `stop criterion 'all measured'`."""
    kind, *rest = place
    return " ".join([kind, *(repr(word) for word in rest[:1])])


def doubtful(examination: Examination, entry_id: str, sides: Sides) -> list[Place]:
    """The places that name this ID, of which nobody can tell whose entry they mean."""
    theirs = _theirs(examination, entry_id, sides)
    own = _ours(examination, entry_id, sides)
    named = [place for place, found in places_of(examination.book.header).items() if found == entry_id]
    return [place for place in named if place not in theirs and place not in own]


def rename_theirs(examination: Examination, entry_id: str, sides: Sides, new_id: str) -> list[Place]:
    """Let what the header has from their side name the new ID; the places that were changed. The book is locked."""
    book = examination.book
    theirs = _theirs(examination, entry_id, sides)
    header = book.reread_header()
    changed = [place for place, found in places_of(header).items() if found == entry_id and place in theirs]
    if changed:
        examination.backup(book.header_path)
        book.write_header(_renamed(header, lambda place, found: new_id if place in changed else found))
    return changed


def _renamed(header: Header, named: Callable[[Place, str], str]) -> Header:
    """With what `named` makes of each place and the ID there. The last entry there was is a moment, and stays."""
    baseline = header.baseline
    if baseline is not None and baseline.entry is not None:
        baseline = dataclasses.replace(baseline, entry=named(("the baseline",), baseline.entry))
    moves = list(header.baseline_moves)
    for n, move in enumerate(moves):
        if move.before is not None and move.before.entry is not None:
            place = ("the baseline before", move.reason, move.at)
            before = dataclasses.replace(move.before, entry=named(place, move.before.entry))
            moves[n] = dataclasses.replace(move, before=before)
    criteria = list(header.stop_criteria)
    for n, criterion in enumerate(criteria):
        if criterion.judgement is not None:
            evidence = named(("stop criterion", criterion.text), criterion.judgement.evidence)
            judgement = dataclasses.replace(criterion.judgement, evidence=evidence)
            criteria[n] = dataclasses.replace(criterion, judgement=judgement)
    snapshots = [
        dataclasses.replace(s, entries=tuple(named(("snapshot", s.name, i), i) for i in s.entries))
        for s in header.snapshots
    ]
    return dataclasses.replace(
        header,
        baseline=baseline,
        baseline_moves=tuple(moves),
        stop_criteria=tuple(criteria),
        snapshots=tuple(snapshots),
    )


def _theirs(examination: Examination, entry_id: str, sides: Sides) -> set[Place]:
    """The places that name the ID in their header and not in ours."""
    ours, theirs = next(_headers(examination, entry_id, sides), ({}, {}))
    return {p for p, found in theirs.items() if found == entry_id and ours.get(p) != entry_id}


def _ours(examination: Examination, entry_id: str, sides: Sides) -> set[Place]:
    ours, theirs = next(_headers(examination, entry_id, sides), ({}, {}))
    return {p for p, found in ours.items() if found == entry_id and theirs.get(p) != entry_id}


def _headers(
    examination: Examination, entry_id: str, sides: Sides
) -> Iterator[tuple[Mapping[Place, str], Mapping[Place, str]]]:
    """What our and their header named, in the merge that brought these two entries together."""
    book = examination.book
    name = f"entries/{entry_id}.yaml"
    for joined in merges_of(book.folder):
        if (joined.read(joined.ours, name), joined.read(joined.theirs, name)) != (sides.ours, sides.theirs):
            continue
        headers = [joined.read(commit, book.header_path.name) for commit in (joined.ours, joined.theirs)]
        with contextlib.suppress(StoreError):
            ours, theirs = (
                places_of(records.header_of(data, book.header_path)) if data is not None else {} for data in headers
            )
            yield ours, theirs
