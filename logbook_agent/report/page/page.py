"""`logbook report`: the page of a logbook as sections, each one HTML element with a stable ID, and the pages as files.

The sections of the thread come first (`thread_sections.py`), then a section for each entry under its ID. They are
always there; an empty one is hidden.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from logbook_agent.findings.read import Findings, read
from logbook_agent.model.errors import NotFound, StoreError, Taken, UsageError
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.templates import templates_of
from logbook_agent.report.page.document import INDEX, Page, PageSection, card, document, head, index_document, page_file
from logbook_agent.report.page.links import NO_LINKS, Copies, NoLinks
from logbook_agent.report.page.sections import Kept, PageContext, entry_section
from logbook_agent.report.page.thread_sections import foot, sections
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import Workspace


def page(workspace: Workspace, findings: Findings, links: NoLinks = NO_LINKS, *, kept: Kept | None = None) -> Page:
    """The page of a logbook as its records stand, with `links` to the files of its runs.

    Whoever makes the page again and again passes the same `kept`: what did not change is taken from it. What cannot be
    read is said on the page. Raises StoreError when the header cannot be read, or a template of the project fails.
    """
    header, kept = findings.header, {} if kept is None else kept
    # The table of all results needs every record, too: each is read once.
    records = {record.id: record for record in findings.contents.records}
    context = PageContext.of(findings, Blocks(templates_of(workspace), header), links, [*records.values()])
    damaged, entries = [*findings.unreadable], list[PageSection]()
    for summary in findings.summaries:
        try:
            # One that could not be read with the others says why.
            record = records.get(summary["id"]) or findings.records.record(summary["id"])
            entries.append(entry_section(context, record, summary, kept))
        except StoreError as error:
            damaged.append(error.message)
    for gone in kept.keys() - {one.id for one in entries}:
        del kept[gone]
    return Page(
        title=header.title,
        thread=tuple(sections(context, damaged)),
        entries=tuple(entries),
        foot=foot(header, workspace.now()),
        damaged=tuple(damaged),
    )


# Below the root, where git ignores it and nothing of it changes the code that an experiment runs.
OWN = ".report"
# What a page of ours says of itself, near its beginning.
GENERATOR = b'<meta name="generator" content="logbook-agent">'
_HEAD_BYTES = 1000


class ReportFiles(Struct, frozen=True, kw_only=True):
    """The files of a report. `left_out`: how many entries and logbooks could not be read. `binaries`: copies of what
    runs left, in which no secret can be looked for."""

    index: Path
    pages: tuple[Path, ...]
    left_out: int
    binaries: tuple[Path, ...] = ()


def write_report(
    workspace: Workspace, folder: Path | None = None, books: Sequence[Book] | None = None, *, logs: bool = True
) -> ReportFiles:
    """Write the page of each logbook of `books` (None: of all of the root) and the index over all into a folder (None:
    `.report` in the root).

    A page is `TOPIC.html`. With `logs`, the logs that are on this machine are copied to `TOPIC/logs/ID-RUN.txt`, and
    the files that runs left to `TOPIC/artifacts/`. Pages of an earlier report are replaced, other files are left alone.
    The index names logbooks that cannot be read, and a page its entries that cannot be read; a warning names both.
    Raises NotFound without a logbook, UsageError where `folder` is none, Taken where a file of somebody else has the
    name of a page, and StoreError.
    """
    all_books = workspace.books()
    if not all_books:
        raise NotFound(
            f"no logbook in {workspace.root}",
            cause="a report needs at least one logbook, and none was started here",
            hint="logbook start TOPIC, or name another folder of logbooks: --root DIR",
        )
    wanted = [book.topic for book in (all_books if books is None else books)]
    files = _target(workspace, folder, wanted)
    found, damaged = [], []
    pages, binaries, left_out = list[Path](), list[Path](), 0
    for book in all_books:
        try:
            findings = read(workspace, book)
            if book.topic in wanted:
                copies = Copies(book, files) if logs else None
                made = page(workspace, findings, copies or NO_LINKS)
                pages.append(files.path / page_file(book.topic))
                text = document(made, above=INDEX).encode("utf-8", "replace")
                files.write(pages[-1], [text], durable=False)
                binaries += copies.binaries if copies is not None else []
                if made.damaged:
                    left_out += len(made.damaged)
                    workspace.warnings.append(_left_out(book.topic, len(made.damaged)))
            found.append(findings)
        except StoreError as error:
            damaged.append(workspace.redactor.text(f"{book.topic}: {error.message}"))
    workspace.warnings += [f"left out of the report: {message}" for message in damaged]
    last = foot(found[0].header, workspace.now()) if len(found) == 1 else ""
    files.write(INDEX, index_document([head(found, damaged), *map(card, found)], foot=last), durable=False)
    return ReportFiles(
        index=files.path / INDEX, pages=tuple(pages), left_out=left_out + len(damaged), binaries=tuple(binaries)
    )


def _target(workspace: Workspace, folder: Path | None, topics: Sequence[str]) -> Folder:
    """The folder that pages are written to, which is there."""
    # Whoever names a folder chooses where it leads; below the root nothing is written through a link.
    files = Folder(workspace.root / OWN, workspace.root) if folder is None else Folder(folder)
    if os.path.lexists(files.path) and not files.path.is_dir():
        raise UsageError(
            f"{files.path} is not a folder",
            cause="logbook report writes several files into a folder",
            hint="logbook report --out DIR",
        )
    files.make()
    if folder is None and not files.has(".gitignore"):
        files.write(".gitignore", "*\n", durable=False)
    for name in (INDEX, *map(page_file, topics)) if folder is not None else ():
        check_replaceable(files.path / name, files, "--out")
    return files


def _left_out(topic: str, count: int) -> str:
    entries = "entry of {} cannot be read and is" if count == 1 else "entries of {} cannot be read and are"
    return f"{count:,} {entries.format(topic)} left out of its page: logbook doctor"


def check_replaceable(path: Path, files: Folder, option: str) -> None:
    """Raise Taken for a file that is no page of a report. `option` names it."""
    if not path.is_file() or path.is_symlink():
        return
    with files.open(path) as file:
        is_ours = GENERATOR in file.read(_HEAD_BYTES)
    if not is_ours:
        raise Taken(
            f"{path} exists and is not a page of a report",
            cause="a report replaces only pages of an earlier report",
            hint=f"choose another {option}, or move that file away",
        )
