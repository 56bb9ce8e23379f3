"""Brings the view up to date: the blocks that changed, or all of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.thread import is_listed
from logbook_agent.model.errors import LogbookError, NotFound, StoreError
from logbook_agent.model.record import Record
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.cited import cites, with_numbers
from logbook_agent.pages.plotted import mark_due, naming_plots, plots_of, plots_of_thread
from logbook_agent.pages.templating.templates import templates_of
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.text import marked

HEADER = "header"
FOOTER = "footer"


@contextmanager
def changing(workspace: Workspace, book: Book) -> Iterator[None]:
    """Refresh the view after the changes to the book inside, also when they fail midway."""
    try:
        yield
    finally:
        if book.changed or book.header_changed:
            refresh(workspace, book)


def refresh(workspace: Workspace, book: Book, changed: Iterable[str] = ()) -> None:
    """Splice the blocks of `changed` entries, of those that were written to the book, and of any that the view lacks,
    into the view; where the header was written, also what it fills. The index of what was tried follows, too.

    What was edited by hand is left alone and warned about; so is a marker that does not pair. A view that is
    missing is built; one with conflict markers is built from our side, after a backup. The records stand already
    and the view follows from them, so trouble with it is a warning: whoever took it for a failure would record twice.
    """
    names, header = {*changed, *book.changed}, book.header_changed
    book.changed.clear()
    book.header_changed = False
    try:
        with book.lock():
            _refreshed(workspace, book, names, header_changed=header)
    except StoreError as error:
        workspace.warnings.append(
            f"recorded, but the view was not updated: {_brief(error)}; correct that, then: {_render(workspace, book)}"
        )


def _refreshed(workspace: Workspace, book: Book, changed: set[str], *, header_changed: bool) -> None:
    text = book.read_view()
    if text is None:
        _rebuild(workspace, book)
        return
    if marked.has_conflict(text):
        _render_over(workspace, book, _without_conflict(workspace, book, text), on_disk=text)
        return
    present = _parsed(workspace, book, text)
    found = read(workspace, book)
    # What an entry says of a comparison follows from the rows of the others.
    compares = any(_compares(found, one) for one in changed)
    following = changed | found.comparisons.following(changed) if compares else changed
    citing = {name for name, block in present.items() if cites(block.text(text), following)}
    wanted = following | (set(found.order) - set(present)) | citing
    blocks = Blocks(templates_of(workspace), found.header)
    footer = present[FOOTER].text(text) if FOOTER in present else ""
    footer_changed = header_changed or FOOTER in citing
    texts: dict[str, str | None] = {}
    seen: list[Record] = []
    for entry_id in (i for i in found.order if i in wanted):
        try:
            record = found.records.record(entry_id)
        except StoreError as error:
            workspace.warnings.append(f"not rendered: {_brief(error)}")
            continue
        seen.append(record)
        texts[entry_id] = _entry_block(found, blocks, record)
        is_named = is_listed(record.entry) or record.entry.comparison is not None
        footer_changed |= is_named or f"{entry_id} " in footer
    # What is said of a predicate follows from the rows of all entries; of a judgement, from the state of its evidence.
    follows = found.header.has_predicates or not found.header.evidence.isdisjoint(changed)
    # The answers of comparisons are shown with what failed and what comes next, which any entry may change.
    follows |= found.states_comparisons or HEADER not in present or HEADER in citing
    if header_changed or follows or compares or found.records.header.plots:
        texts[HEADER] = with_numbers(found, blocks.header(plots_of_thread(found), found.answered))
    if footer_changed:
        texts[FOOTER] = with_numbers(found, blocks.footer(found.listed)) or None
    _write(workspace, book, text, present, texts, found.order)
    mark_due(workspace, book, (record.entry for record in seen))


def _compares(found: Findings, entry_id: str) -> bool:
    """Whether an entry states a comparison, whose answer other entries may share."""
    try:
        return found.entry(entry_id).comparison is not None
    except (NotFound, StoreError):
        return False  # its damage is reported where it is rendered


def render(workspace: Workspace, book: Book, *, discard_edits: bool = False) -> None:
    """Render every block again (a template or the header changed). Hand edits of blocks stay unless discarded,
    and then the view as it was is saved first; what stands between blocks stays in any case."""
    with book.lock():
        text = book.read_view()
        if text is None:
            _rebuild(workspace, book)
            return
        if discard_edits:
            _discard_edits(workspace, book, text)
            return
        whole = _without_conflict(workspace, book, text) if marked.has_conflict(text) else text
        _render_over(workspace, book, whole, on_disk=text)


def _discard_edits(workspace: Workspace, book: Book, text: str) -> None:
    """Render every block again, after a backup, also those edited by hand. The whole view is built again if its blocks
    cannot be told apart (a marker does not pair, a merge left its own, there is no block)."""
    strays: list[str] = []
    if marked.has_conflict(text) or not marked.parse(text, strays) or strays:
        _rebuild(workspace, book)
        return
    backup = book.backup_view(workspace.moment())
    workspace.warnings.append(f"{book.view_path.name} was rebuilt; the old one is {backup}")
    _render_over(workspace, book, text, on_disk=text, over_edits=True)


def _render_over(workspace: Workspace, book: Book, text: str, *, on_disk: str, over_edits: bool = False) -> None:
    """Render every block of a view again, but for those edited by hand unless `over_edits`."""
    present = _parsed(workspace, book, text)
    texts: dict[str, str | None] = dict(all_blocks(workspace, book))
    order = book.entry_ids()
    # A damaged entry keeps the block it had.
    texts.update({name: None for name in present if name not in texts and name not in order})
    _write(workspace, book, text, present, texts, order, on_disk, over_edits=over_edits)


def _parsed(workspace: Workspace, book: Book, text: str) -> dict[str, marked.Block]:
    """The blocks of a view. Markers that do not pair stay as text, with a warning."""
    strays: list[str] = []
    present = marked.parse(text, strays)
    workspace.warnings += [
        f"{book.view_path.name}: {stray}; left as it is, beside a new block: copy the words you need and remove it"
        for stray in strays[:3]
    ]
    return present


def _without_conflict(workspace: Workspace, book: Book, text: str) -> str:
    """Our side of a view with conflict markers, after a backup."""
    backup = book.backup_view(workspace.moment())
    workspace.warnings.append(
        f"{book.view_path.name} was rebuilt from our side of the merge; hand edits of the other side are in {backup}"
    )
    return marked.our_side(text)


def all_blocks(workspace: Workspace, book: Book) -> list[tuple[str, str]]:
    """Every block of the view by its name, rendered from the records; what cannot be read is warned about."""
    found = read(workspace, book)
    blocks = Blocks(templates_of(workspace), found.header)
    mark_due(workspace, book, naming_plots(found))

    made = [(HEADER, with_numbers(found, blocks.header(plots_of_thread(found), found.answered)))]
    for entry_id in found.order:
        try:
            record = found.records.record(entry_id)
        except StoreError as error:
            workspace.warnings.append(f"not rendered: {_brief(error)}")
            continue
        made.append((entry_id, _entry_block(found, blocks, record)))
    footer = with_numbers(found, blocks.footer(found.listed))
    return [*made, (FOOTER, footer)] if footer else made


def _entry_block(found: Findings, blocks: Blocks, record: Record) -> str:
    entry = record.entry
    later, compared = found.later(entry), found.compared(entry)
    return with_numbers(found, blocks.entry(record, later=later, compared=compared, plots=plots_of(found, entry)))


def _rebuild(workspace: Workspace, book: Book) -> None:
    text = marked.build(all_blocks(workspace, book))
    if book.read_view() is not None:
        backup = book.backup_view(workspace.moment())
        workspace.warnings.append(
            f"{book.view_path.name} was rebuilt, without the text between its blocks; the old one is {backup}"
        )
    book.write_view(text)


def _write(
    workspace: Workspace,
    book: Book,
    text: str,
    present: dict[str, marked.Block],
    texts: dict[str, str | None],
    order: Sequence[str],
    on_disk: str | None = None,
    *,
    over_edits: bool = False,
) -> None:
    """Splice the texts into the view and write it; `on_disk` is the file as it is, if `text` was made of it."""
    new, kept = marked.splice(text, texts, (HEADER, *order, FOOTER), present, over_edits=over_edits)
    for name in kept:
        workspace.warnings.append(
            f"{book.view_path.name}: {name} was edited by hand and left as it is;"
            f" `{_render(workspace, book)} --absorb` copies the edit into the entry,"
            f" `{_render(workspace, book)} --discard-edits` drops it, after a backup"
        )
    if new != (text if on_disk is None else on_disk):
        book.write_view(new)


def _render(workspace: Workspace, book: Book) -> str:
    """The command that renders this view."""
    return shlex.join(["logbook", *naming(workspace, book), "render"])


def _brief(error: LogbookError) -> str:
    return f"{error.message} ({error.cause})" if error.cause else error.message
