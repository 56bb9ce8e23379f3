"""Bringing the view up to date: the blocks that changed, or all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from logbook_agent.findings.criteria.current import has_predicates, with_outcomes
from logbook_agent.findings.later import later_entries, mentioning
from logbook_agent.findings.standing import Claim, claim_of, standing_of
from logbook_agent.findings.tried.hints import remember
from logbook_agent.model.entry import NEGATIVE_RESULT
from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.model.record import Record
from logbook_agent.pages.blocks import Blocks, in_footer
from logbook_agent.pages.look import Look, look, said_in
from logbook_agent.pages.templating.templates import templates_of
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import marked as views

HEADER = "header"
FOOTER = "footer"


def refresh(workspace: Workspace, book: Book, changed: Iterable[str], *, header: bool = False) -> None:
    """Splice the blocks of `changed` entries, and of any that the view lacks, into the view; with `header` also
    those that the header fills.

    What was edited by hand is left alone and warned about; so is a marker that does not pair. A view that is
    missing is built; one with conflict markers is put together from both sides, after a backup. The records
    stand already and the view follows from them, so trouble with it is a warning: whoever took it for a
    failure would record twice.
    """
    try:
        _refresh(workspace, book, list(changed), header)
    except StoreError as error:
        workspace.warnings.append(
            f"recorded, but the view was not updated: {_brief(error)}; correct that, then: logbook render"
        )


def _refresh(workspace: Workspace, book: Book, changed: Sequence[str], header_changed: bool) -> None:
    with book.lock():
        text = book.read_view()
        if text is None:
            _rebuild(workspace, book)
            return
        if views.has_conflict(text):
            _render_over(workspace, book, _without_conflict(workspace, book, text), on_disk=text)
            return
        present = _parsed(workspace, book, text)
        folder_ns = book.entries_changed_ns()
        order = book.entry_ids()
        wanted = set(changed) | (set(order) - set(present))
        mentions = {entry_id: mentioning(book, entry_id, order) for entry_id in changed}
        # What an entry says of a comparison follows from the rows of the others.
        wanted |= {e.id for i, found in mentions.items() for e in found if any(i in c.entries for c in e.comparisons)}
        blocks = _blocks(workspace, book)
        texts: dict[str, str | None] = {}
        footer = present[FOOTER].text(text) if FOOTER in present else ""
        footer_changed = header_changed
        rendered: list[Look] = []
        for entry_id in (i for i in order if i in wanted):
            try:
                seen = look(workspace, book, entry_id)
            except StoreError as error:
                workspace.warnings.append(f"not rendered: {_brief(error)}")
                continue
            rendered.append(seen)
            later = later_entries(book, entry_id, order, mentions.get(entry_id))
            texts[entry_id] = _entry_block(book, blocks, seen, later)
            footer_changed |= in_footer(seen.record) or f"{entry_id} " in footer
        # What is said of a predicate follows from the rows of all entries.
        if HEADER not in present or header_changed or has_predicates(book.header):
            texts[HEADER] = blocks.header()
        if footer_changed:
            gathered = _scanned(book, order)[1]
            texts[FOOTER] = blocks.footer(gathered, negative_verdicts(book, gathered)) or None
        _write(workspace, book, text, present, texts, order)
    remember(book, [(seen.record, seen.is_whole) for seen in rendered], entries=len(order), folder_ns=folder_ns)


def render(workspace: Workspace, book: Book, *, discard_edits: bool = False) -> None:
    """Render every block again (a template or the header changed). Hand edits stay unless discarded,
    and then the view as it was is saved first."""
    with book.lock():
        text = book.read_view()
        if text is None or discard_edits:
            _rebuild(workspace, book)
            return
        whole = _without_conflict(workspace, book, text) if views.has_conflict(text) else text
        _render_over(workspace, book, whole, on_disk=text)


def _render_over(workspace: Workspace, book: Book, text: str, *, on_disk: str) -> None:
    """Every block of a view anew, but for those edited by hand."""
    present = _parsed(workspace, book, text)
    texts: dict[str, str | None] = dict(all_blocks(workspace, book))
    order = book.entry_ids()
    # A damaged entry keeps the block it had.
    texts.update({name: None for name in present if name not in texts and name not in order})
    _write(workspace, book, text, present, texts, order, on_disk)


def _parsed(workspace: Workspace, book: Book, text: str) -> dict[str, views.Block]:
    """The blocks of a view. Markers that do not pair are somebody's text and stay; they are warned about."""
    strays: list[str] = []
    present = views.parse(text, strays)
    workspace.warnings += [
        f"{book.view_path.name}: {stray}; left as it is, beside a new block: copy the words you need and remove it"
        for stray in strays[:3]
    ]
    return present


def _without_conflict(workspace: Workspace, book: Book, text: str) -> str:
    """A view that a merge left with conflict markers, with the hand edits of both sides, after a backup."""
    backup = book.backup_view(workspace.now().strftime("%Y%m%dT%H%M%S%f"))
    ours, theirs = views.sides(text)
    merged, both = views.with_edits_of(ours, theirs)
    workspace.warnings.append(f"{book.view_path.name} was rebuilt; the old one is {backup}")
    workspace.warnings += [f"{name} was edited by hand on both sides; theirs is in that backup" for name in both]
    return merged


def compared_texts(book: Book, record: Record) -> Sequence[str]:
    """What the comparisons that an entry keeps come to."""
    if not record.entry.comparisons:
        return ()
    # Few entries keep one, and nothing else here needs tables and statistics.
    from logbook_agent.findings.comparisons.compare import comparison_text

    return comparison_text(book, record)


def negative_verdicts(book: Book, records: Sequence[Record]) -> dict[str, list[str]]:
    """By ID, what the comparisons that entries keep found to be no gain, as Markdown."""
    keeping = [r for r in records if r.entry.comparisons]
    if not keeping:
        return {}
    from logbook_agent.findings.tried.listed import verdicts
    from logbook_agent.findings.tried.texts import verdict_lines

    return {r.id: texts for r in keeping if (texts := verdict_lines(verdicts(book, r)))}


def _blocks(workspace: Workspace, book: Book) -> Blocks:
    return Blocks(templates_of(workspace), with_outcomes(workspace, book))


def all_blocks(workspace: Workspace, book: Book) -> list[tuple[str, str]]:
    """Every block of the view by its name, rendered from the records; what cannot be read is warned about."""
    # A command that records one entry renders that alone.
    from logbook_agent.store.parallel import on_all_cores

    blocks = _blocks(workspace, book)
    order = book.entry_ids()
    later, gathered = _scanned(book, order)

    def text(entry_id: str) -> str | None:
        try:
            seen = look(workspace, book, entry_id)
        except StoreError:
            return None
        return _entry_block(book, blocks, seen, later.get(entry_id, {}))

    found = [(HEADER, blocks.header())]
    for entry_id, rendered in zip(order, on_all_cores(order, text), strict=True):
        if rendered is None:
            workspace.warnings.append(_damage(book, entry_id))
        else:
            found.append((entry_id, rendered))
    footer = blocks.footer(gathered, negative_verdicts(book, gathered))
    if footer:
        found.append((FOOTER, footer))
    return found


def _entry_block(book: Book, blocks: Blocks, seen: Look, later: Mapping[str, Sequence[str]]) -> str:
    compared = compared_texts(book, seen.record)
    return blocks.entry(seen.record, later=later, compared=compared, said=said_in(book, blocks, seen))


def _scanned(book: Book, order: Sequence[str]) -> tuple[dict[str, dict[str, list[str]]], list[Record]]:
    """What entries say of others (by the entry it is said of), and the records that the footer speaks of.

    Only entries whose text can be one of these are read as records.
    """
    claims: list[Claim] = []
    gathered: list[Record] = []
    for entry_id in order:
        try:
            text = book.entry_text(entry_id)
            refers = "\nsupersedes:" in text or "\ncompletes:" in text
            gathers = "decision" in text or "\ncomparisons:" in text or NEGATIVE_RESULT.casefold() in text.casefold()
            if not refers and not gathers:
                continue
            record = book.record(entry_id)
        except StoreError:
            continue  # warned about where it is rendered
        claims.append(claim_of(record.entry))
        if in_footer(record):
            gathered.append(record)
    targets = {str(t) for c in claims for t in (c.completes, c.supersedes) if t is not None}
    return {t: standing_of(t, "noted", claims).later for t in targets}, gathered


def _damage(book: Book, entry_id: str) -> str:
    try:
        book.record(entry_id)
    except StoreError as error:
        return f"not rendered: {_brief(error)}"
    return f"not rendered: {entry_id} could not be read a moment ago"


def _rebuild(workspace: Workspace, book: Book) -> None:
    text = views.build(all_blocks(workspace, book))
    if book.read_view() is not None:
        backup = book.backup_view(workspace.now().strftime("%Y%m%dT%H%M%S%f"))
        workspace.warnings.append(f"{book.view_path.name} was rebuilt; the old one is {backup}")
    book.write_view(text)


def _write(
    workspace: Workspace,
    book: Book,
    text: str,
    present: dict[str, views.Block],
    texts: dict[str, str | None],
    order: Sequence[str],
    on_disk: str | None = None,
) -> None:
    """Splice and write; `on_disk` is the file as it is, where `text` was made of it (of a merge conflict)."""
    new, kept = views.splice(text, texts, (HEADER, *order, FOOTER), present)
    for name in kept:
        workspace.warnings.append(
            f"{book.view_path.name}: {name} was edited by hand and left as it is;"
            " `logbook absorb` copies the edit into the entry, `logbook render --discard-edits` drops it,"
            " after a backup"
        )
    if new != (text if on_disk is None else on_disk):
        book.write_view(new)


def _brief(error: LogbookError) -> str:
    return f"{error.message} ({error.cause})" if error.cause else error.message
