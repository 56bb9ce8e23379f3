"""`logbook render --absorb`: hand edits of the view go into the entries they belong to."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from logbook_agent.entries.drafts import with_earlier_hypothesis, with_next_after
from logbook_agent.findings.read import Findings, read
from logbook_agent.model.entry import Entry, id_number
from logbook_agent.model.errors import StoreError
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.cited import with_numbers, without_numbers
from logbook_agent.pages.hand_edits import StandingText, TakenEdit, read_own, take
from logbook_agent.pages.plotted import plots_of
from logbook_agent.pages.views import FOOTER, HEADER, changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import marked as views
from logbook_agent.text.times import day


@dataclass(frozen=True, slots=True, kw_only=True)
class Absorbed:
    """An entry into which edits went. `changed`: title, confidence, labels; empty when only the layout of
    the block differed. `diff`: the block before and after, as a unified diff."""

    id: str
    changed: tuple[str, ...]
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedEdit:
    """An edit that was left in the view, and why."""

    id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsorbResult:
    absorbed: tuple[Absorbed, ...]
    refused: tuple[RefusedEdit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What is to be done about one block: `entry` is written unless None, the block rendered when nothing in
    it was refused."""

    block: views.Block
    entry: Entry | None = None
    text: str = ""
    absorbed: Absorbed | None = None
    refused: tuple[str, ...] = ()


def absorb(workspace: Workspace, book: Book, ids: Sequence[str] = (), *, dry_run: bool = False) -> AbsorbResult:
    """Take the hand edits of these entries' blocks, or of all, into the entries.

    Raises StoreError, with nothing changed, when the blocks of the view or the project's template cannot be
    read.
    """
    wanted = [book.resolve(i) for i in ids]
    found = read(workspace, book)
    with changing(workspace, book), nullcontext() if dry_run else book.lock():
        view = book.read_view() or ""
        blocks = _blocks(book, view)
        edited = [b for b in blocks if b.edited(view) and (not wanted or b.name in wanted)]
        steps = [_step(workspace, book, found, view, block) for block in edited]
        if not dry_run:
            _write(book, view, steps)
    return AbsorbResult(
        absorbed=tuple(s.absorbed for s in steps if s.absorbed is not None),
        refused=tuple(RefusedEdit(id=s.block.name, why=why) for s in steps for why in s.refused),
    )


def _blocks(book: Book, view: str) -> list[views.Block]:
    name = book.view_path.name
    if views.has_conflict(view):
        raise StoreError(
            f"{name} holds conflict markers",
            cause="a merge left two versions of the view unresolved",
            hint="resolve them in an editor, then run: logbook render --absorb",
        )
    try:
        return list(views.parse(view).values())
    except views.ViewError as error:
        raise StoreError(
            f"{name}, {error}",
            cause="a line with logbook:block or logbook:end was changed, copied or removed by hand",
            hint="put that line back, as in the last commit of the view, then run: logbook render --absorb",
        ) from error


def _step(workspace: Workspace, book: Book, found: Findings, view: str, block: views.Block) -> _Step:
    why = _not_an_entry(book, block.name)
    if why is not None:
        return _Step(block=block, refused=(why,))
    try:
        record = book.record(block.name)
    except StoreError as error:
        return _Step(block=block, refused=(error.message,))
    later, compared = found.later(record.entry), found.compared(record.entry)
    form, plots = blocks_of(workspace, book), plots_of(found, record.entry)
    rendered = form.entry(record, later=later, compared=compared, plots=plots)
    standing = StandingText(
        text=without_numbers(block.text(view)),
        line=view.count("\n", 0, block.text_start) + 1,
        is_first=lambda text: views.digest(views.protect(with_numbers(found, text).strip("\n"))) == block.hash,
        clean=workspace.redactor.text,
    )
    taken: TakenEdit = take(
        record, form.sections(record, later=later, compared=compared, plots=plots), rendered, standing
    )
    # Without its secrets, as it will be written: what was understood must be what a reader of the next view finds.
    changed = with_earlier_hypothesis(record, taken.entry, day(workspace.stamp(), book.header.zone))
    changed = with_next_after(record, changed)
    new = workspace.redacted_entry(changed) if taken.changed else record.entry
    now = dataclasses.replace(record, entry=new)
    text = form.entry(now, later=later, compared=compared, plots=plots)
    read_own(now, form.sections(now, later=later, compared=compared, plots=plots), text)
    text = with_numbers(found, text)
    nothing = not taken.changed and taken.refused
    return _Step(
        block=block,
        entry=now.entry if taken.changed else None,
        text=text,
        absorbed=None
        if nothing
        else Absorbed(id=record.id, changed=taken.changed, diff=_diff(record.id, with_numbers(found, rendered), text)),
        refused=taken.refused,
    )


def _not_an_entry(book: Book, name: str) -> str | None:
    if name == HEADER:
        return "the header is changed by commands: logbook edit without ID, logbook baseline, logbook criteria"
    if name == FOOTER:
        return "the footer is gathered from the entries: make the change in the entry that it names"
    if id_number(name, book.header.prefix) is None or not book.has_entry(name):
        return f"there is no entry file {book.entries_folder.name}/{name}.yaml"
    return None


def _diff(entry_id: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.strip("\n").split("\n"),
        after.strip("\n").split("\n"),
        f"{entry_id} as recorded",
        f"{entry_id} as edited",
        lineterm="",
        n=1,
    )
    return "\n".join(lines)


def _write(book: Book, view: str, steps: Sequence[_Step]) -> None:
    """Entries first: if the tool dies before the view is written, the edits still stand there too.

    A block with an edit that was refused keeps its text. When other edits in it were taken, its marker gets
    the hash of what the tool would write now, so that the next absorb sees what is left.
    """
    for step in steps:
        if step.entry is not None:
            book.write_entry(step.entry)
    new = view
    for step in sorted(steps, key=lambda s: s.block.start, reverse=True):
        block = views.render_block(step.block.name, step.text)
        if not step.refused:
            new = new[: step.block.start] + block + new[step.block.end :]
        elif step.entry is not None:
            marker, _, _ = block.partition("\n")
            new = new[: step.block.start] + marker + new[new.index("\n", step.block.start) :]
    if new != view:
        book.write_view(new)
