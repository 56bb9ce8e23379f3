"""The documents that an issue shows: title, body, updates, snapshots, final summary.

Each is the text of a template, made inert as a whole, then cut to its room. The same logbook and links give the same
bytes, whenever they are rendered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from logbook_agent.findings.computed_texts import said_of
from logbook_agent.issue import neutral
from logbook_agent.issue.excerpts import is_address, share, shown
from logbook_agent.issue.issue_body import IssueValues
from logbook_agent.issue.links import Links
from logbook_agent.issue.update_text import UpdatedEntry, commit_url, entry_values, snapshot_values
from logbook_agent.model.header import Header, Snapshot
from logbook_agent.model.record import Record
from logbook_agent.pages.blocks import table_text
from logbook_agent.pages.templating.templates import Templates
from logbook_agent.text import fit
from logbook_agent.text import markdown as md

# What GitHub takes; counted in the units in which it is most.
TITLE_UNITS = 256
# What a template of a title gets to see of a value.
_TITLE_VALUE_BYTES = 1024


@dataclass(kw_only=True)
class IssueDocuments:
    """Texts by the project's templates. `room` is always in bytes of UTF-8; markers are no part of a text.

    Every method raises StoreError when a template does not fit.
    """

    templates: Templates
    values: IssueValues

    @cached_property
    def declared(self) -> frozenset[str]:
        """The addresses that stay live."""
        return _declared(self.values.header, self.values.links)

    def title(self) -> str:
        """On one line, of at most 256 characters; what is longer ends in `…`."""
        scope = shown(self.values.scope(), _TITLE_VALUE_BYTES) | {"title": md.one_line(self.values.header.title)}
        text = md.one_line_code(self.templates.render("issue_title.j2", {"logbook": scope}))
        room = TITLE_UNITS
        while _units(title := self._plain(md.cut_line(text, room))) > TITLE_UNITS:
            room -= 8
        return title or self.values.header.prefix

    def block(self, room: int) -> str:
        """The text of the managed block in the issue's body."""
        values = {"issue": self.values.body(), "logbook": self.values.scope()}
        return self._rendered("issue_body.md.j2", values, room)

    def update(self, entries: Sequence[UpdatedEntry], room: int) -> str:
        """One comment about some entries."""
        metrics, render = self.values.header.metrics, partial(table_text, self.templates)
        told = [entry_values(self.values, e, said_of(e.record, metrics, render)) for e in entries]
        values = {"update": {"entries": told, "logbook": self.values.logbook}}
        return self._rendered("issue_update.md.j2", values, room)

    def snapshot(self, snapshot: Snapshot, records: Sequence[Record], room: int) -> str:
        """The comment about a tag: how to repeat what it holds, and the results. `records` are the entries that it
        covers."""
        urls = frozenset(u for u in (snapshot.url, commit_url(snapshot)) if u is not None and is_address(u))
        values = {"snapshot": snapshot_values(self.values, snapshot, records)}
        return self._rendered("issue_snapshot.md.j2", values, room, self.declared | urls)

    def final(self, room: int) -> str:
        """The comment that closes the thread. Raises ValueError when the thread is open."""
        values, closing = self.values, self.values.closing()
        if closing is None:
            raise ValueError("the thread is not closed")
        said = {
            **closing,
            "opening": values.opening(),
            "best": values.best,
            "criteria": values.criteria(),
            "snapshots": values.snapshots(),
            "logbook": values.logbook,
        }
        return self._rendered("issue_final.md.j2", {"final": said}, room)

    def _rendered(
        self, template: str, values: Mapping[str, object], room: int, declared: frozenset[str] | None = None
    ) -> str:
        """A document of at most `room` bytes. What no document of ours shows of the logbook takes no room in it."""
        given = shown({"logbook": self.values.scope(), **values}, share(values, room))
        text = neutral.document(self.templates.render(template, given).strip("\n"), declared or self.declared)
        # A secret may stand there only once it is put together.
        return fit.cut(self.templates.redact(text), room)

    def _plain(self, text: str) -> str:
        """A title neutralised: behind a word, what would open a block is text."""
        return self.templates.redact(neutral.document(f"x {text}").removeprefix("x ").strip())


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _declared(header: Header, links: Links) -> frozenset[str]:
    found = [
        header.issue.url if header.issue is not None else None,
        *(link.url for link in header.links),
        *(url for snapshot in header.snapshots for url in (snapshot.url, commit_url(snapshot))),
        *(c.judgement.evidence.strip() for c in header.stop_criteria if c.judgement is not None),
        links.view,
        *links.entries.values(),
        *links.plots.values(),
    ]
    return frozenset(url for url in found if url is not None and is_address(url))
