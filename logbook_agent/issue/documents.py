"""The documents that an issue shows: title, body, updates, snapshots, final summary.

Each is the text of a template, made inert as a whole. Its texts and lists have fixed caps; where it is longer than its
room with the largest, the next is taken, and at last it is cut. The same logbook and links give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from logbook_agent.issue import neutral
from logbook_agent.issue.excerpts import CAPS, is_address
from logbook_agent.issue.issue_body import IssueValues
from logbook_agent.issue.update_text import UpdatedEntry, commit_url, entry_values, snapshot_values
from logbook_agent.model.header import Snapshot
from logbook_agent.model.record import Record
from logbook_agent.pages.blocks import table_text
from logbook_agent.pages.templating.templates import Templates
from logbook_agent.text import fit
from logbook_agent.text import markdown as md

# What GitHub takes; counted in the units in which it is most.
TITLE_UNITS = 256


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
        header, links = self.values.header, self.values.links
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

    def title(self) -> str:
        """On one line, of at most 256 characters; what is longer ends in `…`."""
        scope = replace(self.values, cap=CAPS[1]).scope() | {"title": md.one_line(self.values.header.title)}
        text = md.one_line_code(self.templates.render("issue_title.j2", {"logbook": scope}))
        room = TITLE_UNITS
        while _units(title := self._plain(md.cut_line(text, room))) > TITLE_UNITS:
            room -= 8
        return title or self.values.header.prefix

    def block(self, room: int) -> str:
        """The text of the managed block in the issue's body."""
        return self._rendered("issue_body.md.j2", room, lambda values: {"issue": values.body()})

    def update(self, entries: Sequence[UpdatedEntry], room: int) -> str:
        """One comment about some entries."""
        render = partial(table_text, self.templates)

        def shown(values: IssueValues) -> dict[str, object]:
            told = [entry_values(values, entry, render) for entry in entries]
            return {"update": {"entries": told, "logbook": values.logbook}}

        return self._rendered("issue_update.md.j2", room, shown)

    def snapshot(self, snapshot: Snapshot, records: Sequence[Record], room: int) -> str:
        """The comment about a tag: how to repeat what it holds, and the results. `records` are the entries that it
        covers."""
        urls = frozenset(u for u in (snapshot.url, commit_url(snapshot)) if u is not None and is_address(u))

        def shown(values: IssueValues) -> dict[str, object]:
            return {"snapshot": snapshot_values(values, snapshot, records)}

        return self._rendered("issue_snapshot.md.j2", room, shown, self.declared | urls)

    def final(self, room: int) -> str:
        """The comment that closes the thread."""

        def shown(values: IssueValues) -> dict[str, object]:
            names = ("opening", "best", "criteria", "snapshots")
            return {
                "final": {
                    **(values.closing() or {}),
                    **{name: getattr(values, name)() for name in names},
                    "logbook": values.logbook,
                }
            }

        return self._rendered("issue_final.md.j2", room, shown)

    def _rendered(
        self,
        template: str,
        room: int,
        shown: Callable[[IssueValues], Mapping[str, object]],
        declared: frozenset[str] | None = None,
    ) -> str:
        """A document of at most `room` bytes."""
        text = ""
        for cap in CAPS:
            values = replace(self.values, cap=cap)
            text = self.templates.render(template, {"logbook": values.scope(), **shown(values)}).strip("\n")
            # A secret may stand there only once it is put together.
            text = self.templates.redact(neutral.document(text, declared or self.declared))
            if fit.size(text) <= room:
                break
        return fit.cut(text, room)

    def _plain(self, text: str) -> str:
        """A title neutralised: behind a word, what would open a block is text."""
        return self.templates.redact(neutral.document(f"x {text}").removeprefix("x ").strip())


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
