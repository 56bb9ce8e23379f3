"""Renders the view: the block of an entry whose data did not change comes from the cache."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Literal

from msgspec import Struct

from logbook_agent.findings.read import Findings, read
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.record import GOING, digest
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.cited import with_numbers
from logbook_agent.pages.plotted import mark_due, plots_of
from logbook_agent.pages.templating.templates import templates_of
from logbook_agent.store.book import Book
from logbook_agent.store.repository import is_in_index
from logbook_agent.store.user_config import made_folder
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.text import marked
from logbook_agent.text.marked import Block
from logbook_agent.text.phrases import listed

HEADER, FOOTER = "header", "footer"
_PLACE = "blocks"
_SHOWN = 6
# In the folder of what goes on: other content whenever somebody has changed records.
_SIGN = ".changed"
_ATTEMPTS = 3


@contextmanager
def changing(workspace: Workspace, book: Book) -> Iterator[None]:
    """Refresh the view after the changes to the book inside, also when they fail midway."""
    try:
        yield
    finally:
        if book.changed:
            refresh(workspace, book)


def refresh(workspace: Workspace, book: Book) -> None:
    """Render what changed since the view was written.

    The records stand already and the view follows from them, so trouble with it is a warning: whoever took it for a
    failure would record twice.
    """
    changed = {*book.changed}
    book.changed.clear()
    try:
        _write(workspace, book, changed)
    except (StoreError, UsageError) as error:
        again = shlex.join(["logbook", *naming(workspace, book), "render"])
        workspace.warnings.append(f"recorded, but the view was not updated: {error.said}; correct that, then: {again}")


def render(workspace: Workspace, book: Book) -> None:
    """Render the view, and draw every plot that it shows."""
    _write(workspace, book, None)


def _write(workspace: Workspace, book: Book, changed: Collection[str] | None) -> None:
    """Write the view of what there is, and note the entries whose plots are to be drawn: those that `changed`, and
    whose block is another one than before; None: all of them.

    No lock is held. Whoever changed a record leaves a sign, and renders then. Where another sign stands after the view
    was written, its text may be older than that change, and may have replaced the text that showed it: it is rendered
    again. In a stream of changes that does not end it is left to whoever made the last one.
    """
    book.files.make(book.open_folder)
    sign = book.open_folder / _SIGN
    book.files.write(sign, token_hex(8), durable=False)
    for attempt in itertools.count(1):
        before = book.files.text(sign)
        present = _standing(workspace, book)
        warned = len(workspace.warnings)
        blocks = all_blocks(workspace, book, present)
        _mark_due(workspace, book, present, blocks, changed)
        text = marked.build(book.topic, blocks)
        if attempt > _ATTEMPTS and book.files.text(sign) != before:
            return
        if text != book.read_view():
            book.files.write(book.view_path, text, durable=book.durable)
        if book.files.text(sign) == before:
            return
        del workspace.warnings[warned:]


def _mark_due(
    workspace: Workspace,
    book: Book,
    present: Mapping[str, Block],
    blocks: Collection[Block],
    changed: Collection[str] | None,
) -> None:
    shown = {block.text for block in present.values()}
    due = [b for b in blocks if changed is None or b.name in changed or b.text not in shown]
    entries = (b for b in due if b.name not in (HEADER, FOOTER))
    mark_due(workspace, book, [b.name for b in entries if f"]({book.topic}/plots/" in b.text])


def _standing(workspace: Workspace, book: Book) -> dict[str, Block]:
    """The blocks of the view by name. None where there is no view, or where something else than the tool has changed
    it: then its text is kept, with a warning, unless git holds it, as after a merge."""
    text = book.read_view()
    if text is None or not text.strip():
        return {}
    if marked.is_generated(text):
        return marked.parse(text)
    data = text.encode("utf-8", "replace")
    if is_in_index(book.view_path, data):
        return {}
    kept = _keep(book, data)
    workspace.warnings.append(
        f"{book.view_path.name} was changed by hand or by a merge, and is rendered again from the entries;"
        f" the changed text is in {kept}"
    )
    return {}


def _keep(book: Book, data: bytes) -> Path:
    """Keep a view that something else than the tool has changed, in the user's state; where it is kept. Raises
    UsageError where there is no place for it."""
    state = made_folder(book.state, "the text of a view that was changed")
    kept = f".views/{book.topic}.{marked.digest(data)}.md"
    state.make(".views", private=True)
    if not state.has(kept):
        state.write(kept, data, durable=book.durable, private=True)
    return state.at(kept)


def all_blocks(workspace: Workspace, book: Book, present: Mapping[str, Block] | None = None) -> list[Block]:
    """Every block of the view, rendered from the records. An entry that cannot be read keeps its block in `present`;
    without that, a warning says so."""
    found = read(workspace, book)
    blocks = Blocks(templates_of(workspace), found.header)
    texts = {
        HEADER: with_numbers(found, blocks.header(plots_of(found, None), found.answered)),
        **_entry_blocks(workspace, book, found, blocks),
        FOOTER: with_numbers(found, blocks.footer(found.listed)),
    }
    shown = {**(present or {}), **{name: Block(name, marked.written(text)) for name, text in texts.items()}}
    return [shown[n] for n in (HEADER, *found.order, FOOTER) if n in shown and (shown[n].text or n != FOOTER)]


def _entry_blocks(workspace: Workspace, book: Book, found: Findings, blocks: Blocks) -> dict[str, str]:
    """The block of each entry. One that follows from the same data as before comes from the cache."""
    templates, redactor = templates_of(workspace), workspace.redactor
    header = found.header if templates.folder is not None else found.records.header
    common = digest(encode(header), templates.stamps(), redactor.settings_key)
    summaries = {summary["id"]: summary for summary in found.summaries}
    kept = book.cache.values(_PLACE)
    texts: dict[str, str] = {}
    fresh: dict[str, str] = {}
    for entry_id in found.order:
        key = ""
        try:
            if (summary := summaries.get(entry_id)) is not None:
                answer = found.comparisons.answer_of(entry_id) if summary["comparison"] is not None else None
                key = digest(common, summary["digest"], found.later(entry_id), encode(answer))
                before, _, text = kept.get(entry_id, "").partition("\n")
                if before == key and not any(form in text for form in redactor.forms):
                    texts[entry_id] = with_numbers(found, text)
                    continue
            record = found.record(entry_id)
        except StoreError as error:
            workspace.warnings.append(f"not rendered: {error.said}")
            continue
        later, answer = found.later(entry_id), found.answer_of(record.entry)
        text = blocks.entry(record, later=later, answer=answer, plots=plots_of(found, record.entry))
        texts[entry_id] = with_numbers(found, text)
        if key and not record.entry.plots:  # a plot follows from the records of other entries
            fresh[entry_id] = f"{key}\n{text}"
    if fresh:
        book.cache.keep(_PLACE, fresh, kept.keys() - {*found.order})
    return texts


# -- the view as it stands -----------------------------------------------------------------------------


class ViewProblem(Struct, frozen=True, kw_only=True):
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
        return book.record(entry_id).state in GOING
    except StoreError:
        return False
