"""The pages as they change: `BookPage` is the page of one logbook, `IndexPage` the index over all."""

from __future__ import annotations

import abc
import dataclasses
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logbook_agent.findings.read import Findings
from logbook_agent.model.run import Artifact, Run
from logbook_agent.report.live.activity import LiveRun
from logbook_agent.report.live.follower import LOOK_S, Follower, LiveBook, line_of
from logbook_agent.report.page.document import LiveParts, card, document, head, index_document
from logbook_agent.report.page.entry_section import kept_nowhere
from logbook_agent.report.page.page import Kept, Page, PageSection, page, page_file, render_html, running_section
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.as_html import visible

ASSETS = Path(__file__).parent / "assets"
# The name of the banner among what has changed.
NOW = "now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A part of the page that is another one since `version`: its HTML, or None where it is gone."""

    version: int
    id: str
    html: str | None


class LivePage(abc.ABC):
    """One page for any number of viewers. Only what they ask is looked for, once for all who ask meanwhile.

    `version` counts all changes; a part that changed twice is sent once, as it is now.
    """

    def __init__(self) -> None:
        self._parts: dict[str, Change] = {}
        self._version = 0
        self._lock = threading.Lock()
        self._looked = float("-inf")

    @abc.abstractmethod
    def _look(self) -> None:
        """Look for changes and `_put` them. Never raises, whatever the store holds."""

    @abc.abstractmethod
    def _document(self, live: LiveParts) -> str | None:
        """The whole document; None where there could never be one."""

    def opened(self, live_of: Callable[[str, int], LiveParts]) -> str | None:
        """The document as it is now; None where it could never be read. `live_of` gives what is live in it, for the
        banner and the version."""
        with self._lock:
            self._look()
            banner = self._parts.get(NOW)
            return self._document(live_of((banner and banner.html) or "", self._version))

    def changes(self, since: int) -> tuple[int, list[Change]]:
        """The version as it is now, and the changes since another one in their order."""
        with self._lock:
            if time.monotonic() - self._looked >= LOOK_S:
                self._look()
                self._looked = time.monotonic()
            new = [change for change in self._parts.values() if change.version > since]
            return self._version, sorted(new, key=lambda change: change.version)

    def _put_all(self, sections: Iterable[PageSection]) -> None:
        """All parts but the banner: others are gone."""
        there = {NOW}
        for section in sections:
            there.add(section.id)
            self._put(section.id, section.html)
        for gone in self._parts.keys() - there:
            self._put(gone, None)

    def _put(self, id: str, html: str | None) -> None:
        before = self._parts.get(id)
        if before is None or before.html != html:
            self._version += 1
            self._parts[id] = Change(version=self._version, id=id, html=html)


class PagedRun(LiveRun):
    """A run that goes on, with the file of its page."""

    page: str


def banner_of(runs: Sequence[LiveRun], series: Sequence[str], trouble: str | None) -> str:
    """The element `live-now`: what runs now, as HTML above the sections of a page."""
    return visible(render_html(ASSETS, "banner.html.j2", {"runs": runs, "series": series, "trouble": trouble}))


class BookPage(LivePage):
    """A logbook for any number of viewers."""

    def __init__(
        self,
        follower: Follower,
        log_href: Callable[[str, int], str | None],
        file_href: Callable[[Run, Artifact], str | None] = kept_nowhere,
    ) -> None:
        super().__init__()
        self._follower, self._log_href, self._file_href = follower, log_href, file_href
        self._kept: Kept = {}
        self._page: Page | None = None
        self._read = 0
        self._trouble: str | None = None
        # The page whose sections were put last, and the charts of what runs.
        self._shown: tuple[Page | None, list[dict[str, Any]]] = (None, [])

    def _look(self) -> None:
        live = self._follower.look()
        if live.found is not None and live.version != self._read:
            try:
                made = page(
                    self._follower.workspace,
                    live.found,
                    log_href=self._log_href,
                    file_href=self._file_href,
                    kept=self._kept,
                )
            except Exception as error:  # noqa: BLE001 - whatever a store holds that changes meanwhile, the next look may read it
                self._trouble = self._follower.told(error)
            else:
                self._page, self._read, self._trouble = made, live.version, None
        if self._page is not None and (self._page, live.going["charts"]) != self._shown:
            self._show(self._page, live.going["charts"])
        self._put(NOW, banner_of(live.going["runs"], live.going["series"], live.trouble or self._trouble))

    def _show(self, made: Page, charts: list[dict[str, Any]]) -> None:
        """Put all sections of a page, with the charts of what runs."""
        running = running_section(charts)
        sections = tuple(running if part.id == running.id else part for part in made.sections)
        self._page = dataclasses.replace(made, sections=sections)
        self._shown = self._page, charts
        self._put_all(sections)

    def _document(self, live: LiveParts) -> str | None:
        return None if self._page is None else "".join(document(self._page, above="/", live=live))


class IndexPage(LivePage):
    """All logbooks of a root. `follower_of` gives the one who follows a logbook, the same one each time."""

    def __init__(self, space: Callable[[], Workspace], follower_of: Callable[[str], Follower]) -> None:
        super().__init__()
        self._space, self._follower_of = space, follower_of
        self._workspace = space()
        self._topics: list[str] = []
        self._trouble: str | None = None
        # By topic: which reading its card is of, the card, and what else the page says of it.
        self._cards: dict[str, tuple[int, PageSection, Findings]] = {}
        self._damaged: list[str] = []

    def _look(self) -> None:
        self._list()
        self._damaged = []
        runs: list[LiveRun] = []
        series: list[str] = []
        for topic in self._topics:
            try:
                live = self._follower_of(topic).look()
                self._take(topic, live)
            except Exception as error:  # noqa: BLE001 - whatever a store holds that changes meanwhile, the next look may read it
                self._damaged.append(f"{topic}: {line_of(error, self._workspace)}")
                continue
            if live.trouble:
                self._damaged.append(f"{topic}: {live.trouble}")
            runs += [PagedRun(**run, page=page_file(topic)) for run in live.going["runs"]]
            series += live.going["series"]
        self._cards = {topic: self._cards[topic] for topic in self._topics if topic in self._cards}
        found = [findings for _, _, findings in self._cards.values()]
        self._put_all([head(found, self._damaged), *(shown for _, shown, _ in self._cards.values())])
        self._put(NOW, banner_of(runs, series, self._trouble))

    def _list(self) -> None:
        try:
            self._workspace = space = self._space()
            self._topics, self._trouble = [book.topic for book in space.books()], None
        except Exception as error:  # noqa: BLE001 - as above
            self._trouble = line_of(error, self._workspace)

    def _take(self, topic: str, live: LiveBook) -> None:
        """Make the card of a logbook that was read again."""
        known = self._cards.get(topic)
        if live.found is not None and (known is None or known[0] != live.version):
            self._cards[topic] = live.version, card(live.found), live.found

    def _document(self, live: LiveParts) -> str:
        found = [findings for _, _, findings in self._cards.values()]
        return index_document(self._workspace, found, self._damaged, live=live)
