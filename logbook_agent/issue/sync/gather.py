"""What the logbook has to say: the one side of a plan, and the texts for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.findings.best import BestCase, bests
from logbook_agent.findings.opening import Opening
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.said import Said, is_long
from logbook_agent.findings.thread import Summary
from logbook_agent.issue.planning.markers import book_key
from logbook_agent.issue.planning.values import EntryWanted, Wanted
from logbook_agent.issue.sync.place import links_of
from logbook_agent.issue.told.document import IssueDocuments
from logbook_agent.issue.told.pictures import all_pictured
from logbook_agent.issue.told.values import IssueValues
from logbook_agent.model.codec import decode, encode
from logbook_agent.model.entry import VOID
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record, digest
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.look import Look, look, said_in
from logbook_agent.pages.plotted import NamedPlot, named_plots, naming_plots
from logbook_agent.pages.templating.templates import templates_of
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.address import RepositoryAddress
from logbook_agent.text.links import Links

Later = Mapping[str, Mapping[str, Sequence[str]]]


def gather(
    workspace: Workspace,
    book: Book,
    issue: RepositoryAddress | None,
    *,
    chosen: Sequence[str] = (),
    new_block: bool = False,
) -> BookDocuments:
    """Read the logbook. Entries that cannot be read are warned about and left as they were told before. `issue`: the
    repository of the issue, as far as it is known."""
    links = links_of(workspace, book, issue)
    found = read(workspace, book)
    workspace.warnings += [f"not synced: {message}" for message in found.unreadable]
    workspace.warnings += found.baseline_doubts
    recorded, header = book.header, workspace.redacted_header(found.header)
    later = {i: s.later for i, s in found.thread.standing.items() if s.later}
    digests = {e["id"]: e["digest"] for e in found.summaries}
    plots = {entry.id: named_plots(book, found, entry) for entry in naming_plots(found)}
    rests_on = {name: _told_of(found, e) for e in found.summaries for name in (*e["aliases"], e["id"])}
    wanted = Wanted(
        book=book_key(recorded),
        entries=tuple(
            _entry(
                e,
                later,
                links,
                _rests_on(found, e, rests_on),
                plots.get(e["id"], ()),
            )
            for e in found.summaries
        ),
        chosen=_chosen(found, chosen),
        # Of what is recorded, not of what this machine's secrets leave of it: another machine has others.
        snapshots=tuple((s.name, s.commit) for s in recorded.snapshots),
        final=digest(encode(recorded.closing)) if recorded.closing is not None else None,
        final_of=_final_of(found, recorded, digests) if recorded.closing is not None else "",
        trusted=frozenset(header.issue.trusted if header.issue is not None else ()),
        managed=header.issue is not None and header.issue.managed,
        new_block=new_block,
        unreadable=tuple(i for i in found.order if i not in digests),
    )
    values = IssueValues(
        header=header,
        links=links,
        summaries=[workspace.redacted(e) for e in found.summaries],
        first=decode(Opening, workspace.redacted(encode(found.opening))),
        best_cases=[decode(BestCase, workspace.redacted(encode(best))) for best in bests(found.thread, found.answers)],
        plots=named_plots(book, found, None),
    )
    return BookDocuments(
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
    summary: Mapping[str, Any],
    later: Later,
    links: Links,
    compared: Mapping[str, object],
    plots: Sequence[NamedPlot],
) -> EntryWanted:
    entry_id = summary["id"]
    refers = [later[entry_id]] if entry_id in later else []
    others = [*refers, *([compared] if compared else [])]
    return EntryWanted(
        id=entry_id,
        mark=summary["mark"],
        aliases=tuple(summary["aliases"]),
        # Without entries that refer to it, the digest is that of its own record.
        digest=digest(summary["digest"], *others) if others else summary["digest"],
        stage="void" if summary["state"] == VOID else "settled" if summary["settled"] else "open",
        linked=links.entry(entry_id) is not None,
        pictured=all_pictured(links, plots),
        supersedes=summary["supersedes"],
    )


def _rests_on(found: Findings, summary: Summary, told: Mapping[str, object]) -> dict[str, object]:
    """What is told of the other entries from whose runs follows what an entry says of its comparison and contrasts."""
    names = found.sharing(summary["id"]) if summary["comparison"] is not None else set()
    if summary["contrasts"]:
        names |= {name for one in found.entry(summary["id"]).contrasts for name in one.entries}
    return {name: told.get(name) for name in sorted(names - {summary["id"]})}


def _told_of(found: Findings, summary: Summary) -> object:
    """What others say of a comparison with an entry changes with this: its record, and why it does not count."""
    why = found.thread.standing[summary["id"]].why
    return [summary["digest"], why] if why else summary["digest"]


def _final_of(found: Findings, recorded: Header, digests: Mapping[str, str]) -> str:
    """What the final summary says changes with this: the entries, and what the header has to say in it."""
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


@dataclass(kw_only=True)
class BookDocuments(IssueDocuments):
    """What a logbook has to say to its issue: what is `wanted`, the one side of a plan, and the texts of it, from the
    records, without secrets."""

    wanted: Wanted
    workspace: Workspace
    book: Book
    later: Later
    findings: Findings
    plots: Mapping[str, Sequence[NamedPlot]]

    def update_of(self, entry_ids: Sequence[str], room: int) -> str:
        said: dict[str, Said] = {}
        records = []
        for entry_id in entry_ids:
            seen = look(self.workspace, self.book, entry_id)
            record = seen.record
            if not seen.is_whole or is_long(len(record.runs)):
                said[entry_id] = self._said(seen)
                record = dataclasses.replace(record, runs=())
            records.append(self._without_secrets(record))
        compared = {record.id: self.findings.compared(record.entry) for record in records}
        return self.update(records, self.later, room, compared, said, self.plots)

    def snapshot_of(self, name: str, room: int) -> str:
        header = self.values.header
        snapshot = next(s for s in header.snapshots if s.name == name)
        covered = self.findings.thread.covered(snapshot)
        return self.snapshot(snapshot, [self._without_secrets(self.book.record(i)) for i in covered], room)

    def _said(self, seen: Look) -> Said:
        """What the runs of a long entry say, without secrets: of so many, not each is read again."""
        workspace = self.workspace
        said = said_in(self.book, blocks_of(workspace, self.book), seen)
        commands = tuple(
            dataclasses.replace(c, argv=workspace.redactor.argv(c.argv), env=workspace.redactor.mapping(c.env))
            for c in said.commands
        )
        return decode(Said, workspace.redacted(encode(dataclasses.replace(said, commands=commands))))

    def _without_secrets(self, record: Record) -> Record:
        """A record without secrets: what people wrote into a file by hand was seen by nobody yet."""
        runs = tuple(dataclasses.replace(s, run=self.workspace.redacted_run(s.run)) for s in record.runs)
        return dataclasses.replace(record, entry=self.workspace.redacted_entry(record.entry), runs=runs)
