"""What an issue shows of a logbook: the entries, digests and settings that a plan is made from, and its documents:
title, body, updates, snapshots, final summary.

Each document is the text of a template, made inert as a whole. Its texts and lists have fixed caps; where it is longer
than its room, it is cut. The same logbook and links give the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, partial

from msgspec import Struct, structs

from logbook_agent.findings import facts
from logbook_agent.findings.computed_texts import RenderTable, said_of
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.summaries import trust_of
from logbook_agent.issue import inert
from logbook_agent.issue.destination import links_of
from logbook_agent.issue.issue_body import IssueValues, address_of, pictures
from logbook_agent.issue.marking import book_key
from logbook_agent.issue.values import SyncedEntry, SyncRequest, Wanted
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import VOID
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header, Snapshot
from logbook_agent.model.record import Record, digest
from logbook_agent.pages.blocks import artifacts_text, sections
from logbook_agent.pages.templates import table_text, templates_of
from logbook_agent.pages.views import NamedPlot, named_plots, naming_plots, with_cited_numbers, with_numbers
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import fit
from logbook_agent.text import markdown as md
from logbook_agent.text.address import RepositoryAddress
from logbook_agent.text.fit import size
from logbook_agent.text.shell_words import folded

# A table may have as many bytes as several other texts.
_TABLE_WEIGHT = 4


def entry_values(
    values: IssueValues,
    record: Record,
    plots: Sequence[NamedPlot],
    render: RenderTable,
    cap: int,
) -> dict[str, object]:
    """The values of one entry in the template of updates: its sections as in the view, with links, and with the plots
    that it names; `cap`: the bytes of a section."""
    entry, found = record.entry, values.found
    answer = found.answer_of(entry)
    trust = trust_of(entry, len(record.runs), answer)

    def linked(entry_id: str | None) -> str | None:
        return values.id_link(entry_id) if entry_id is not None else None

    continues, completes, supersedes = map(linked, (entry.continues, entry.completes, entry.supersedes))
    shown = sections(
        structs.replace(
            record, entry=structs.replace(entry, continues=continues, completes=completes, supersedes=supersedes)
        ),
        structs.replace(said_of(record, values.header.metrics, render), command=_commands(record, cap)),
        later={key: [*map(values.id_link, ids)] for key, ids in found.thread.standing[entry.id].later.items()},
        answer=answer,
        plots=pictures(values.links, plots),
        artifacts=artifacts_text(record, values.links.files.get),
    )
    return {
        "id": entry.id,
        "title": inert.line(entry.title, 2 * inert.TITLE_CHARS),
        "opened": values.date(entry.opened),
        "url": values.links.entries.get(entry.id),
        "link": values.id_link(entry.id),
        "kind": entry.kind,
        "state": record.state,
        "confidence": trust.word if trust is not None else None,
        "sections": [
            {
                "label": inert.line(one.label, inert.TITLE_CHARS),
                "text": inert.shortened(one.text, cap * _TABLE_WEIGHT) if one.computed else inert.prose(one.text, cap),
                "computed": one.computed,
            }
            for one in shown
        ],
    }


def _commands(record: Record, cap: int = inert.TEXT_BYTES) -> str:
    """The commands that were executed, each once: verbatim and fenced, or not at all, since half of one must not be
    copied."""
    found, parts = facts.commands_of(record), []
    for one in found[: inert.MOST_ITEMS]:
        times = f"×{one.times}" if one.times > 1 else ""
        about = ", ".join(filter(None, (inert.words(one.label or ""), times)))
        shown = md.fence(folded(one.text), "bash")
        if size(shown) > cap:
            shown = f"*(a command of {size(one.text):,} bytes, in the logbook)*"
        parts.append(f"{inert.escape(about)}:\n\n{shown}" if about else shown)
    more = len(found) - len(parts)
    return "\n\n".join([*parts, *([f"*(and {more:,} more commands, in the logbook)*"] if more else [])])


# -- snapshots ---------------------------------------------------------------------------------------


def snapshot_values(
    values: IssueValues, snapshot: Snapshot, entries: Sequence[Mapping[str, object]]
) -> dict[str, object]:
    """The repro bundle of the entries that it covers: exact commands, what they ran on and with, and the results."""
    return {
        "name": inert.escape(inert.words(snapshot.name)),
        "tag": inert.link(snapshot.name, snapshot.url),
        "url": snapshot.url,
        "commit": snapshot.commit,
        "commit_url": commit_url(snapshot),
        "at": values.date(snapshot.at),
        "entries": entries,
        "results": values.results([str(entry["id"]) for entry in entries]),
    }


def commit_url(snapshot: Snapshot) -> str | None:
    """The commit in the repository that the tag's address is in; None when that address says nothing of it."""
    for part in ("/releases/tag/", "/tree/", "/commit/"):
        base, found, _ = snapshot.url.partition(part)
        if found:
            return f"{base}/commit/{snapshot.commit}"
    return None


# GitHub takes 256; what makes a title inert adds to them.
_TITLE_CHARS = 170
# Of more entries than this an update shows a quarter of each text.
_WHOLE_ENTRIES = 4


def gather(workspace: Workspace, book: Book, request: SyncRequest, issue: RepositoryAddress | None) -> BookTexts:
    """The content of the issue, read from the logbook. Entries that cannot be read are warned about
    and stay in the issue as they are. `issue`: the repository of the issue, as far as it is known."""
    found = with_cited_numbers(read(workspace, book))
    workspace.warnings += [f"not synced: {message}" for message in found.unreadable]
    workspace.warnings += found.baseline_doubts
    recorded, header = book.header, found.header
    if header.closing is not None:
        said = with_numbers(found, header.closing.conclusion, plain=True)
        header = structs.replace(header, closing=structs.replace(header.closing, conclusion=said))
    values = IssueValues(
        found=found, header=header, links=links_of(workspace, book, issue), plots=named_plots(book, found, None)
    )
    plots = {entry.id: named_plots(book, found, entry) for entry in naming_plots(found)}
    # The files of runs that others can see, by the whole name of their entry.
    left = Counter(path.split("/")[1] for path in values.links.files if path.startswith("runs/"))
    readable = {e["id"] for e in found.summaries}
    wanted = Wanted(
        book=book_key(recorded),
        entries=tuple(_entry(values, e["id"], plots.get(e["id"], ()), left[e["name"]]) for e in found.summaries),
        chosen=_chosen(found, request.entries),
        # Of what is recorded, not of what this machine's secrets leave of it: another machine has others.
        snapshots=tuple((s.name, s.commit) for s in recorded.snapshots),
        final=digest(encode(recorded.closing)) if recorded.closing is not None else None,
        final_of=_final_of(found, recorded) if recorded.closing is not None else "",
        new_block=request.new_block,
        unreadable=tuple(i for i in found.order if i not in readable),
    )
    return BookTexts(wanted=wanted, values=values, workspace=workspace, plots=plots)


def _entry(values: IssueValues, entry_id: str, plots: Sequence[NamedPlot], files: int) -> SyncedEntry:
    summary, later = values.thread.by_id[entry_id], values.thread.standing[entry_id].later
    is_linked = entry_id in values.links.entries
    return SyncedEntry(
        id=entry_id,
        name=summary["name"],
        # Without entries that refer to it, the digest is that of its own record.
        digest=digest(summary["digest"], later) if later else summary["digest"],
        stage="void" if summary["state"] == VOID else "settled" if summary["settled"] else "open",
        shown=1 + files + sum(address_of(values.links, plot) is not None for plot in plots) if is_linked else 0,
    )


def _final_of(found: Findings, recorded: Header) -> str:
    """The digest of what the final summary shows: the entries, and parts of the header."""
    criteria = found.header.stop_criteria
    return digest(
        sorted((e["id"], e["digest"]) for e in found.summaries),
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


class BookTexts(Struct, kw_only=True, dict=True):
    """The texts of the issue by the project's templates, from the records, without secrets; `wanted` is what a plan is
    made from. `room` is always in bytes of UTF-8; markers are no part of a text.

    Every method raises StoreError when a template does not fit.
    """

    wanted: Wanted
    values: IssueValues
    workspace: Workspace
    plots: Mapping[str, Sequence[NamedPlot]]

    def __post_init__(self) -> None:
        self._templates = templates_of(self.workspace)

    @cached_property
    def _declared(self) -> frozenset[str]:
        """The addresses that stay live."""
        header = self.values.header
        found = [header.issue.url] if header.issue is not None else []
        found += [link.url for link in header.links]
        found += [c.judgement.evidence.strip() for c in header.stop_criteria if c.judgement is not None]
        return frozenset(filter(inert.is_address, found))

    def title(self) -> str:
        """On one line, of at most 256 characters; what is longer ends in `…`."""
        header = self.values.header
        scope = self.values.scope | {"title": md.one_line(header.title)}
        text = md.one_line_code(self._templates.render("issue_title.j2", {"logbook": scope}))
        return self._plain(md.cut_line(text, _TITLE_CHARS)) or header.prefix

    def _plain(self, text: str) -> str:
        """A title neutralised: behind a word, what would open a block is text."""
        return self._templates.redact(inert.document(f"x {text}").removeprefix("x ").strip())

    def block(self, room: int) -> str:
        """The text of the managed block in the issue's body."""
        return fit.cut(self._rendered("issue_body.md.j2", issue=self.values.body()), room)

    def update_of(self, entry_ids: Sequence[str], room: int) -> str:
        """One comment about some entries."""
        cap = inert.TEXT_BYTES if len(entry_ids) <= _WHOLE_ENTRIES else inert.TEXT_BYTES // 4
        shown = {"entries": self._entries(entry_ids, cap)}
        return fit.cut(self._rendered("issue_update.md.j2", update=shown), room)

    def _entries(self, entry_ids: Sequence[str], cap: int) -> list[dict[str, object]]:
        render = partial(table_text, self._templates)
        return [
            entry_values(self.values, record, self.plots.get(record.id, ()), render, cap)
            for record in map(self._cited, entry_ids)
        ]

    def _cited(self, entry_id: str) -> Record:
        """The record of an entry, with the numbers that its prose cites."""
        found = self.values.found
        record = found.records.record(entry_id)
        fill = partial(with_numbers, found, plain=True)
        fields = tuple(structs.replace(f, text=fill(f.text)) for f in record.entry.fields)
        return structs.replace(
            record, entry=structs.replace(record.entry, title=fill(record.entry.title), fields=fields)
        )

    def snapshot_of(self, name: str, room: int) -> str:
        """The comment about a tag: how to repeat what it holds, and the results."""
        snapshot = next(s for s in self.values.header.snapshots if s.name == name)
        thread = self.values.thread
        ran = [entry_id for entry_id in thread.covered(snapshot) if thread.by_id[entry_id]["runs"]]
        entries = self._entries(ran, inert.TEXT_BYTES)
        shown = snapshot_values(self.values, snapshot, entries)
        return fit.cut(self._rendered("issue_snapshot.md.j2", snapshot=shown), room)

    def final(self, room: int) -> str:
        """The comment that closes the thread."""
        shown = {**(self.values.closing or {}), "opening": self.values.opening, "best": self.values.best}
        return fit.cut(self._rendered("issue_final.md.j2", final=shown), room)

    def _rendered(self, template: str, **values: object) -> str:
        text = self._templates.render(template, {"logbook": self.values.scope, **values}).strip("\n")
        # A secret may stand there only once it is put together.
        return self._templates.redact(inert.document(text, self._declared))
