"""The view: conflicts, markers that do not pair, blocks that were edited, that are out of date or missing."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from logbook_agent.doctor.examination import DOCTOR_FIX, Examination
from logbook_agent.model.errors import StoreError
from logbook_agent.pages.views import all_blocks, render
from logbook_agent.store.trouble import Trouble
from logbook_agent.text import marked as views
from logbook_agent.text.marked import Block
from logbook_agent.text.phrases import listed

_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ")
_SHOWN = 6


def check_view(examination: Examination) -> Iterator[Trouble]:
    book = examination.book
    text = book.read_view()
    if text is None:
        yield _rebuild(examination, "the view is missing", None)
        return
    if views.has_conflict(text):
        yield _rebuild(examination, "a merge left its conflict markers in the view", _conflict_line(text))
        return
    strays: list[str] = []
    there = views.parse(text, strays)
    yield from (_stray(examination, stray) for stray in strays)
    yield from _edited(examination, text, there)
    yield from _out_of_date(examination, text, there)


def _rebuild(examination: Examination, message: str, line: int | None) -> Trouble:
    mend = f"{DOCTOR_FIX} rebuilds it" + (", after a backup" if line is not None else "")
    fix = functools.partial(_render, examination, "rebuilt")
    return Trouble("error", "view", examination.book.view_path, message, mend, fix, line=line)


def _stray(examination: Examination, stray: str) -> Trouble:
    """A marker that does not pair. What stands around it may be somebody's words, so nothing is mended here."""
    place, _, problem = stray.partition(": ")
    mend = (
        "logbook render puts a new block beside it; then take the words you need and delete those lines, or"
        " logbook render --discard-edits, after a backup"
    )
    line = int(place.removeprefix("line "))
    return Trouble("error", "view", examination.book.view_path, problem, mend, line=line)


def _render(examination: Examination, done: str) -> str:
    render(examination.workspace, examination.book)
    return done


def _conflict_line(text: str) -> int | None:
    return next((n for n, line in enumerate(text.split("\n"), 1) if line.startswith(_CONFLICT)), None)


def _edited(examination: Examination, text: str, there: Mapping[str, Block]) -> Iterator[Trouble]:
    for block in there.values():
        if block.edited(text):
            message = f"the block of {block.name} was edited by hand"
            mend = (
                "logbook render --absorb copies the words into the entry;"
                " logbook render --discard-edits drops them, after a backup"
            )
            line, path = text.count("\n", 0, block.start) + 1, examination.book.view_path
            yield Trouble("warning", "edited-block", path, message, mend, line=line, items=(block.name,))


def _out_of_date(examination: Examination, text: str, there: Mapping[str, Block]) -> Iterator[Trouble]:
    book = examination.book
    said = len(examination.workspace.warnings)
    try:
        wanted = {n: views.digest(views.written(block)) for n, block in all_blocks(examination.workspace, book)}
    except StoreError as error:
        # A template of the project, say. The other checks do without it.
        message = f"cannot be rendered: {error.message} ({error.cause})"
        yield Trouble("error", "view-block", book.view_path, message, error.hint)
        return
    del examination.workspace.warnings[said:]  # of damaged records another check tells
    ids = set(book.entry_ids())
    busy = {run.entry for run in book.open_runs() if _is_running(examination, run.entry)}
    settled = [n for n, b in there.items() if n in wanted and n not in busy and not b.edited(text)]
    stale = [n for n in settled if wanted[n] != there[n].hash]
    missing = [n for n in wanted if n not in there and n not in busy]
    surplus = [n for n in there if n not in wanted and n not in ids and not there[n].edited(text)]
    for names, what in (
        (stale, "out of date: records, templates or the header changed"),
        (missing, "missing in the view"),
        (surplus, "in the view without an entry"),
    ):
        if names:
            message, mend = f"{listed(names, _SHOWN)}: {what}", f"logbook render, or {DOCTOR_FIX}"
            line = text.count("\n", 0, there[names[0]].start) + 1 if names[0] in there else None
            fix = functools.partial(_render, examination, "rendered")
            yield Trouble("warning", "view-block", book.view_path, message, mend, fix, line=line, items=tuple(names))


def _is_running(examination: Examination, entry_id: str) -> bool:
    """A run that goes on is rendered when it ends."""
    try:
        return examination.book.record(entry_id).state in ("running", "submitted", "orphaned")
    except StoreError:
        return False
