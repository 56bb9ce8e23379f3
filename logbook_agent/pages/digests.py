"""What each block of the view should be, by its digest. The index keeps those of entries, so that whoever looks at the
whole view renders only what may have changed."""

from __future__ import annotations

from collections.abc import Mapping

from logbook_agent.findings.read import Findings, read
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import StoreError
from logbook_agent.model.record import digest
from logbook_agent.pages.look import template_stamps
from logbook_agent.pages.plotted import plots_of
from logbook_agent.pages.views import all_blocks
from logbook_agent.store.book import Book
from logbook_agent.store.index import stamp_of
from logbook_agent.store.runs_index import are_settled
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import marked

_KIND = "block"


def block_digests(workspace: Workspace, book: Book, there: Mapping[str, str]) -> dict[str, str]:
    """The digest of every block, by its name, as the records have it now; what cannot be read is warned about. `there`
    are the texts in the view: one that may hold a secret is made again, since what is one may have changed."""
    found = read(workspace, book)
    keys, kept, redactor = _keys(workspace, book, found), book.said.all(_KIND), book.redactor
    known = {
        name: kept[name][1]
        for name, text in there.items()
        if name in keys and name in kept and kept[name][0] == keys[name] and not redactor.may_hold_some(text)
    }
    made = {name: marked.digest(marked.written(t)) for name, t in all_blocks(workspace, book, found, but=known)}
    # The state of a run that has not ended follows from living processes.
    fresh = [i for i in made if i in keys and all(run.exit is not None for run in book.runs(i))]
    if fresh:
        book.said.put_all([(f"{_KIND} {i}", keys[i], made[i]) for i in fresh])
    return known | made


def _keys(workspace: Workspace, book: Book, found: Findings) -> dict[str, str]:
    """By entry, a digest of all that its block follows from, but for living processes; entries whose files changed a
    moment ago, or cannot be read, have none."""
    about = digest(encode(found.header), template_stamps(workspace, "entry.md.j2", "table.md.j2"))
    keys = {}
    for entry_id in found.order:
        try:
            entry = found.entry(entry_id)
            stamp = stamp_of(str(book.entry_path(entry_id)), str(book.runs_folder / entry_id), lambda _: None)
            if are_settled([(stamp.newest_ns, 0)]):
                others = found.later(entry), encode(found.compared(entry))
                files = stamp.entry, stamp.folder, stamp.runs
                keys[entry_id] = digest(about, files, others, plots_of(found, entry))
        except (StoreError, OSError):
            continue  # whoever renders it warns about it
    return keys
