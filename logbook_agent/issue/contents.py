"""The content of an issue, read from the logbook: the entries, digests and settings that a plan is made from, and the
texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from logbook_agent.features import hook_module
from logbook_agent.findings.best import bests
from logbook_agent.findings.read import Findings, read
from logbook_agent.issue.destination import links_of
from logbook_agent.issue.documents import IssueDocuments
from logbook_agent.issue.issue_body import IssueValues
from logbook_agent.issue.issue_results import LeftFile, all_pictured
from logbook_agent.issue.links import Links
from logbook_agent.issue.marking import book_key
from logbook_agent.issue.update_text import UpdatedEntry
from logbook_agent.issue.values import SyncedEntry, Wanted
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import VOID
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record, digest
from logbook_agent.model.summary import Summary
from logbook_agent.pages.cited import opening_with_numbers, with_numbers
from logbook_agent.pages.plotted import NamedPlot, named_plots, naming_plots
from logbook_agent.pages.sections import NO_LATER
from logbook_agent.pages.templating.templates import templates_of
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import RepositoryAddress

Later = Mapping[str, Mapping[str, Sequence[str]]]


def gather(
    workspace: Workspace,
    book: Book,
    issue: RepositoryAddress | None,
    *,
    chosen: Sequence[str] = (),
    new_block: bool = False,
) -> BookTexts:
    """The content of the issue, read from the logbook. Entries that cannot be read are warned about
    and stay in the issue as they are. `issue`: the repository of the issue, as far as it is known."""
    links = links_of(workspace, book, issue)
    found = read(workspace, book)
    workspace.warnings += [f"not synced: {message}" for message in found.unreadable]
    workspace.warnings += found.baseline_doubts
    recorded, header = book.header, _with_numbers(found)
    later = {i: s.later for i, s in found.thread.standing.items() if s.later}
    digests = {e["id"]: e["digest"] for e in found.summaries}
    plots = {entry.id: named_plots(book, found, entry) for entry in naming_plots(found)}
    files = {record.id: left for record in found.contents.records if (left := _files_of(record))}
    wanted = Wanted(
        book=book_key(recorded),
        entries=tuple(_entry(e, later, links, plots.get(e["id"], ()), files.get(e["id"], ())) for e in found.summaries),
        chosen=_chosen(found, chosen),
        # Of what is recorded, not of what this machine's secrets leave of it: another machine has others.
        snapshots=tuple((s.name, s.commit) for s in recorded.snapshots),
        final=digest(encode(recorded.closing)) if recorded.closing is not None else None,
        final_of=_final_of(found, recorded, digests) if recorded.closing is not None else "",
        new_block=new_block,
        unreadable=tuple(i for i in found.order if i not in digests),
    )
    values = IssueValues(
        header=header,
        links=links,
        summaries=found.summaries,
        first=opening_with_numbers(found),
        best_cases=bests(found.thread, found.answers),
        plots=named_plots(book, found, None),
    )
    return BookTexts(
        wanted=wanted,
        templates=templates_of(workspace),
        values=values,
        workspace=workspace,
        book=book,
        later=later,
        findings=found,
        plots=plots,
    )


def _entry(
    summary: Summary,
    later: Later,
    links: Links,
    plots: Sequence[NamedPlot],
    files: Sequence[LeftFile],
) -> SyncedEntry:
    entry_id = summary["id"]
    refers = [later[entry_id]] if entry_id in later else []
    return SyncedEntry(
        id=entry_id,
        name=summary["name"],
        # Without entries that refer to it, the digest is that of its own record.
        digest=digest(summary["digest"], *refers) if refers else summary["digest"],
        stage="void" if summary["state"] == VOID else "settled" if summary["settled"] else "open",
        shown=0 if links.entry(entry_id) is None else 2 if all_pictured(links, plots, files) else 1,
    )


def _with_numbers(found: Findings) -> Header:
    """The header, its conclusion with the numbers that it cites."""
    closing = found.header.closing
    if closing is None:
        return found.header
    said = with_numbers(found, closing.conclusion, plain=True)
    return replace(found.header, closing=replace(closing, conclusion=said))


def _final_of(found: Findings, recorded: Header, digests: Mapping[str, str]) -> str:
    """The digest of what the final summary shows: the entries, and parts of the header."""
    criteria = found.header.stop_criteria
    return digest(
        sorted(digests.items()),
        [encode(part) for part in (recorded.stop_criteria, recorded.baseline, recorded.snapshots, recorded.metrics)],
        # What was computed follows from the records, and from the day.
        [[c.met, c.doubt, c.computed.state if c.computed is not None else None] for c in criteria],
    )


def _chosen(found: Findings, chosen: Sequence[str]) -> tuple[str, ...]:
    ids = tuple(dict.fromkeys(found.records.resolve(entry_id) for entry_id in chosen))
    for entry_id in ids:
        if entry_id not in found.thread.by_id:
            raise UsageError(
                f"{entry_id} cannot be read, so it is not synced", cause="its record is damaged", hint="logbook doctor"
            )
    return ids


def _files_of(record: Record) -> Sequence[LeftFile]:
    """The files that the runs of an entry left; none where the feature that shows them is missing."""
    if not any(status.run.artifacts for status in record.runs) or (showing := hook_module("artifacts")) is None:
        return ()
    found: Sequence[LeftFile] = showing.named(record)
    return found


@dataclass(kw_only=True)
class BookTexts(IssueDocuments):
    """The texts of the issue, from the records, without secrets; `wanted` is what a plan is made from."""

    wanted: Wanted
    workspace: Workspace
    book: Book
    later: Later
    findings: Findings
    plots: Mapping[str, Sequence[NamedPlot]]
    # A plan is made several times in a sync, with the same texts.
    _updates: dict[tuple[tuple[str, ...], int], str] = field(default_factory=dict)

    @property
    def links(self) -> Links:
        return self.values.links

    def update_of(self, entry_ids: Sequence[str], room: int) -> str:
        key = (tuple(entry_ids), room)
        if key not in self._updates:
            self._updates[key] = self.update([self._updated(entry_id) for entry_id in entry_ids], room)
        return self._updates[key]

    def _updated(self, entry_id: str) -> UpdatedEntry:
        record = self._cited(self.findings.records.record(entry_id))
        return UpdatedEntry(
            record=record,
            later=self.later.get(entry_id, NO_LATER),
            compared=self.findings.compared(record.entry),
            plots=self.plots.get(entry_id, ()),
            files=_files_of(record),
        )

    def _cited(self, record: Record) -> Record:
        """The record with the numbers that its prose cites."""
        fields = (replace(f, text=with_numbers(self.findings, f.text, plain=True)) for f in record.entry.fields)
        return replace(record, entry=replace(record.entry, fields=tuple(fields)))

    def snapshot_of(self, name: str, room: int) -> str:
        header = self.values.header
        snapshot = next(s for s in header.snapshots if s.name == name)
        covered = self.findings.thread.covered(snapshot)
        return self.snapshot(snapshot, [self.findings.records.record(i) for i in covered], room)
