"""What the logbook has to say: the one side of a plan, and the texts for it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.findings.comparisons.compare import BaselineLikeness
from logbook_agent.findings.measured import measured
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.said import Said, is_long
from logbook_agent.issue.planning.covered import covered_ids
from logbook_agent.issue.planning.markers import book_key
from logbook_agent.issue.planning.wanted import EntryWanted, Stage, Wanted
from logbook_agent.issue.told.document import IssueDocuments
from logbook_agent.issue.told.entries import KnownRuns
from logbook_agent.model.codec import decode, encode
from logbook_agent.model.digest import digest
from logbook_agent.model.entry import VOID
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.look import Look, look, said_in
from logbook_agent.pages.templating.templates import templates_of
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.fit import size
from logbook_agent.text.links import Links

Later = Mapping[str, Mapping[str, Sequence[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Both sides of what a plan needs of the logbook."""

    wanted: Wanted
    documents: BookDocuments


def gather(
    workspace: Workspace, book: Book, links: Links, *, chosen: Sequence[str] = (), new_block: bool = False
) -> Gathered:
    """Read the logbook. Entries that cannot be read are warned about and left as they were told before."""
    found = read(workspace, book)
    workspace.warnings += [f"not synced: {message}" for message in found.unreadable]
    recorded, header = book.header, workspace.redacted_header(found.header)
    later = {i: s.later for i, s in found.thread.standing.items() if s.later}
    digests = {e["id"]: e["digest"] for e in found.summaries}
    wanted = Wanted(
        book=book_key(recorded),
        entries=tuple(_entry(e, later, links, digests) for e in found.summaries),
        chosen=tuple(_chosen(found, chosen)),
        # Of what is recorded, not of what this machine's secrets leave of it: another machine has others.
        snapshots=tuple((s.name, s.commit) for s in recorded.snapshots),
        final=digest(encode(recorded.closing)) if recorded.closing is not None else None,
        final_of=digest(sorted(digests.items())) if recorded.closing is not None else "",
        trusted=frozenset(header.issue.trusted if header.issue is not None else ()),
        managed=header.issue is not None and header.issue.managed,
        new_block=new_block,
        unreadable=tuple(i for i in found.order if i not in digests),
    )
    told = [workspace.redacted(found.with_verdicts(e)) for e in found.summaries]
    settled = workspace.redacted(found.settled)
    texts = IssueDocuments(
        templates_of(workspace), header, links, told, functools.cache(BaselineLikeness(book)), settled
    )
    documents = BookDocuments(workspace=workspace, book=book, header=header, texts=texts, later=later, findings=found)
    return Gathered(wanted=wanted, documents=documents)


def _entry(summary: Mapping[str, Any], later: Later, links: Links, digests: Mapping[str, str]) -> EntryWanted:
    entry_id = summary["id"]
    refers = [later[entry_id]] if entry_id in later else []
    # What it says of a comparison follows from the records of the other entries, too.
    compared = [{i: digests.get(i) for i in summary["compared_with"]}] if summary["compared_with"] else []
    return EntryWanted(
        id=entry_id,
        mark=summary["mark"],
        aliases=tuple(summary["aliases"]),
        # Without entries that refer to it, the digest is that of its own record.
        digest=digest(summary["digest"], *refers, *compared) if refers or compared else summary["digest"],
        stage=_stage(summary),
        linked=links.entry(entry_id) is not None,
        supersedes=summary["supersedes"],
    )


def _stage(summary: Mapping[str, Any]) -> Stage:
    if summary["state"] == VOID:
        return "void"
    return "settled" if summary["settled"] else "open"


def _chosen(found: Findings, chosen: Sequence[str]) -> list[str]:
    ids = list(dict.fromkeys(found.book.resolve(entry_id) for entry_id in chosen))
    for entry_id in ids:
        if entry_id not in found.thread.by_id:
            raise UsageError(
                f"{entry_id} cannot be read, so it is not synced", cause="its record is damaged", hint="logbook doctor"
            )
    return ids


@dataclass(kw_only=True)
class BookDocuments:
    """The texts of an issue, from the records, without secrets. (For `issues.plan`.)"""

    workspace: Workspace
    book: Book
    header: Header
    texts: IssueDocuments
    later: Later
    findings: Findings

    def title(self) -> str:
        return self.workspace.redactor.text(self.texts.title())

    def block(self, room: int) -> str:
        return self._safe(self.texts.block, room)

    def update(self, entry_ids: Sequence[str], room: int) -> str:
        known: dict[str, KnownRuns] = {}
        records = []
        for entry_id in entry_ids:
            seen = look(self.workspace, self.book, entry_id)
            if seen.is_whole and not is_long(len(seen.record.runs)):
                records.append(self._without_secrets(seen.record))
            else:
                known[entry_id] = self._known(seen)
                records.append(self._without_secrets(dataclasses.replace(seen.record, runs=())))
        compared = {record.id: self.findings.compared(record.entry) for record in records}
        return self._safe(lambda left: self.texts.update(records, self.later, left, compared, known), room)

    def snapshot(self, name: str, room: int) -> str:
        snapshot = next(s for s in self.header.snapshots if s.name == name)
        records = [self._record(entry_id) for entry_id in covered_ids(snapshot, self.findings.summaries)]
        return self._safe(lambda left: self.texts.snapshot(snapshot, records, left), room)

    def final(self, room: int) -> str:
        return self._safe(self.texts.final, room)

    def link_back(self, label: str) -> str:
        return self.workspace.redactor.text(self.texts.link_back(label))

    def _known(self, seen: Look) -> KnownRuns:
        """What the runs of a long entry say, without secrets: of so many, not each is read again."""
        workspace, record = self.workspace, seen.record
        said = said_in(self.book, blocks_of(workspace, self.book), seen)
        commands = tuple(
            dataclasses.replace(c, argv=workspace.redactor.argv(c.argv), env=workspace.redactor.mapping(c.env))
            for c in said.commands
        )
        said = decode(Said, workspace.redacted(encode(dataclasses.replace(said, commands=commands))))
        header = self.header.as_of(record.id, record.entry.opened)
        if header.baseline == self.header.baseline:
            found = self.findings.thread.by_id[record.id]["measured"]
        else:
            found = measured(self.book.record(record.id), header)
        return KnownRuns(said=said, measured=workspace.redacted(found))

    def _record(self, entry_id: str) -> Record:
        return self._without_secrets(self.book.record(entry_id))

    def _without_secrets(self, record: Record) -> Record:
        """A record without secrets: what people wrote into a file by hand was seen by nobody yet."""
        runs = tuple(dataclasses.replace(s, run=self.workspace.redacted_run(s.run)) for s in record.runs)
        return dataclasses.replace(record, entry=self.workspace.redacted_entry(record.entry), runs=runs)

    def _safe(self, render: Callable[[int], str], room: int) -> str:
        """A text without secrets, also those that only stand there once it is put together."""
        left = room
        while True:
            text = self.workspace.redactor.text(render(left))
            over = size(text) - room
            if over <= 0:
                return text
            left -= over + 64
