"""Renders the view: the blocks whose records changed, or all of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.thread import is_listed
from logbook_agent.model.errors import LogbookError, NotFound, StoreError, UsageError
from logbook_agent.model.record import Record
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.cited import cites, with_numbers
from logbook_agent.pages.plotted import mark_due, naming_plots, plots_of, plots_of_thread
from logbook_agent.pages.templating.templates import templates_of
from logbook_agent.store.book import Book
from logbook_agent.store.sources import HEADER, sources_of
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.text import marked
from logbook_agent.text.marked import Block
from logbook_agent.text.phrases import listed

FOOTER = "footer"
_SHOWN = 6


@contextmanager
def changing(workspace: Workspace, book: Book) -> Iterator[None]:
    """Refresh the view after the changes to the book inside, also when they fail midway."""
    try:
        yield
    finally:
        if book.changed or book.header_changed:
            refresh(workspace, book)


def refresh(workspace: Workspace, book: Book, changed: Iterable[str] = ()) -> None:
    """Render the blocks of `changed` entries, of those that were written to the book, and of those whose files are not
    the ones that their blocks show; where the header was written, also what it fills. The index of what was tried
    follows, too.

    A view that is missing, or that something else than the tool has changed, is rendered as a whole. The records stand
    already and the view follows from them, so trouble with it is a warning: whoever took it for a failure would record
    twice.
    """
    names, header = {*changed, *book.changed}, book.header_changed
    book.changed.clear()
    book.header_changed = False
    try:
        with book.lock():
            _refreshed(workspace, book, names, header_changed=header)
    except (StoreError, UsageError) as error:
        workspace.warnings.append(
            f"recorded, but the view was not updated: {_brief(error)}; correct that, then: {_render(workspace, book)}"
        )


def _refreshed(workspace: Workspace, book: Book, changed: set[str], *, header_changed: bool) -> None:
    present = _standing(workspace, book)
    # Taken first: what is rendered may be newer than that, but never older.
    sources = sources_of(book)
    is_other_header = HEADER not in present or (present[HEADER].source != sources[HEADER] and not header_changed)
    if is_other_header or not present.keys() <= {*sources, FOOTER}:
        _write(book, all_blocks(workspace, book, present))
        return
    found = read(workspace, book)
    changed = changed | {i for i in found.order if i not in present or present[i].source != sources.get(i)}
    # What an entry says of a comparison follows from the rows of the others.
    compares = any(_compares(found, one) for one in changed)
    following = changed | found.comparisons.following(changed) if compares else changed
    citing = {name for name, block in present.items() if cites(block.text, following)}
    wanted = following | citing
    blocks = Blocks(templates_of(workspace), found.header)
    footer = present[FOOTER].text if FOOTER in present else ""
    footer_changed = header_changed or FOOTER in citing
    texts: dict[str, str] = {}
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
    follows |= found.states_comparisons or HEADER in citing
    if header_changed or follows or compares or found.records.header.plots:
        texts[HEADER] = _header_block(found, blocks)
    if footer_changed:
        texts[FOOTER] = _footer_block(found, blocks)
    _write(book, _in_order(present, texts, sources, found.order))
    mark_due(workspace, book, (record.entry for record in seen))


def _compares(found: Findings, entry_id: str) -> bool:
    """Whether an entry states a comparison, whose answer other entries may share."""
    try:
        return found.entry(entry_id).comparison is not None
    except (NotFound, StoreError):
        return False  # its damage is reported where it is rendered


def render(workspace: Workspace, book: Book) -> None:
    """Render every block again."""
    with book.lock():
        _write(book, all_blocks(workspace, book, _standing(workspace, book)))


def _standing(workspace: Workspace, book: Book) -> dict[str, Block]:
    """The blocks of the view by name. None where there is no view, or where something else than the tool has changed
    it: then its text is kept, with a warning."""
    text = book.read_view()
    if text is None or not text.strip():
        return {}
    if marked.is_generated(text):
        return marked.parse(text)
    kept = book.keep_view(text)
    workspace.warnings.append(
        f"{book.view_path.name} was changed by hand or by a merge, and is rendered again from the entries;"
        f" the changed text is in {kept}"
    )
    return {}


def all_blocks(workspace: Workspace, book: Book, present: Mapping[str, Block] | None = None) -> list[Block]:
    """Every block of the view, rendered from the records. An entry that cannot be read keeps its block in `present`;
    without that, a warning says so."""
    sources = sources_of(book)
    found = read(workspace, book)
    blocks = Blocks(templates_of(workspace), found.header)
    mark_due(workspace, book, naming_plots(found))
    texts = {HEADER: _header_block(found, blocks)}
    for entry_id in found.order:
        try:
            record = found.records.record(entry_id)
        except StoreError as error:
            workspace.warnings.append(f"not rendered: {_brief(error)}")
            continue
        texts[entry_id] = _entry_block(found, blocks, record)
    texts[FOOTER] = _footer_block(found, blocks)
    return _in_order(present or {}, texts, sources, found.order)


def _in_order(
    present: Mapping[str, Block], texts: Mapping[str, str], sources: Mapping[str, str], order: Sequence[str]
) -> list[Block]:
    """The blocks that are present, with those that have a new text; a footer without text is left out."""
    # The footer follows from all files. An entry that came after the digests were taken is rendered by the next
    # command.
    new = {name: Block(name, sources.get(name, "0" * 16), marked.written(text)) for name, text in texts.items()}
    blocks = {**present, **new}
    return [blocks[n] for n in (HEADER, *order, FOOTER) if n in blocks and (blocks[n].text or n != FOOTER)]


def _header_block(found: Findings, blocks: Blocks) -> str:
    return with_numbers(found, blocks.header(plots_of_thread(found), found.answered))


def _footer_block(found: Findings, blocks: Blocks) -> str:
    return with_numbers(found, blocks.footer(found.listed))


def _entry_block(found: Findings, blocks: Blocks, record: Record) -> str:
    entry = record.entry
    later, compared = found.later(entry), found.compared(entry)
    return with_numbers(found, blocks.entry(record, later=later, compared=compared, plots=plots_of(found, entry)))


def _write(book: Book, blocks: Iterable[Block]) -> None:
    text = marked.build(book.topic, blocks)
    if text != book.read_view():
        book.write_view(text)


# -- the view as it stands -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewProblem:
    """In what the view is not as it would be rendered: it is `missing`, was `changed` by something else than the tool,
    or some of its `blocks` are out of date."""

    kind: Literal["missing", "changed", "outdated"]
    blocks: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.kind == "missing":
            return "the view is missing"
        if self.kind == "changed":
            return "the view was changed by hand or by a merge"
        return f"the view is out of date: {listed(self.blocks, _SHOWN)}"


def view_problem(workspace: Workspace, book: Book) -> ViewProblem | None:
    """How the view differs from what would be rendered; None where it does not. The block of an entry whose runs go on
    is not compared: it is rendered when they end."""
    text = book.read_view()
    if text is None:
        return ViewProblem(kind="missing")
    if not marked.is_generated(text):
        return ViewProblem(kind="changed")
    blocks = marked.parse(text)
    present = {name: block.text for name, block in blocks.items()}
    wanted = {block.name: block.text for block in all_blocks(workspace, book, blocks)}
    busy = {run.entry for run in book.open_runs() if book.has_entry(run.entry) and _is_running(book, run.entry)}
    names = [name for name in {**wanted, **present} if name not in busy and present.get(name) != wanted.get(name)]
    return ViewProblem(kind="outdated", blocks=tuple(names)) if names else None


def _is_running(book: Book, entry_id: str) -> bool:
    try:
        return book.record(entry_id).state in ("running", "submitted", "orphaned")
    except StoreError:
        return False


def _render(workspace: Workspace, book: Book) -> str:
    """The command that renders this view."""
    return shlex.join(["logbook", *naming(workspace, book), "render"])


def _brief(error: LogbookError) -> str:
    return f"{error.message} ({error.cause})" if error.cause else error.message
