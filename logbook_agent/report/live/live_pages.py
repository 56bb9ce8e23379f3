"""The pages as they change: of one logbook, and the index over all."""

from __future__ import annotations

import abc
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from logbook_agent.findings.read import Findings
from logbook_agent.report.live.follower import Follower, LiveBook, told
from logbook_agent.report.page.document import LiveParts, card, document, head, index_document
from logbook_agent.report.page.entry_section import Kept
from logbook_agent.report.page.links import FileLinks
from logbook_agent.report.page.page import Page, page, page_file
from logbook_agent.report.page.rendering import PageSection, render
from logbook_agent.report.page.thread_sections import running_section
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.as_html import visible

ASSETS = Path(__file__).parent / "assets"


class LivePage(abc.ABC):
    """A page as it was told to its viewers: its parts by ID, each with the version since which it is so; None: it is
    gone. `version` counts all changes; a part that changed twice is sent once, as it is now."""

    def __init__(self) -> None:
        self.version, self.lock = 0, threading.Lock()
        self._parts: dict[str, tuple[int, str | None]] = {}

    @abc.abstractmethod
    def look(self) -> Mapping[str, str]:
        """The parts as they are now. Never raises, whatever the store holds."""

    @abc.abstractmethod
    def document(self, live: LiveParts) -> str | None:
        """The whole document of the last look; None where there could never be one."""

    def update(self) -> None:
        """Look for changes."""
        parts = self.look()
        for id in [*parts, *(self._parts.keys() - parts.keys())]:
            html = parts.get(id)
            if id not in self._parts or self._parts[id][1] != html:
                self.version += 1
                self._parts[id] = self.version, html

    def changes(self, since: int) -> list[dict[str, str | None]]:
        """The parts that changed since a version, in this order."""
        parts = sorted(self._parts.items(), key=lambda part: part[1][0])
        return [{"id": id, "html": html} for id, (version, html) in parts if version > since]

    @property
    def banner(self) -> str:
        """What runs now."""
        return self._parts["now"][1] or ""


def _banner(runs: Iterable[Mapping[str, Any]], series: Iterable[str], trouble: str | None) -> str:
    """The element `live-now`: what runs now, as HTML above the sections of a page."""
    return visible(render(ASSETS, "banner.html.j2", runs=runs, series=series, trouble=trouble))


class BookPage(LivePage):
    """A logbook."""

    def __init__(self, follower: Follower) -> None:
        super().__init__()
        self._follower = follower
        self._kept: Kept = {}
        self._found: Findings | None = None
        self._page: Page | None = None

    def look(self) -> Mapping[str, str]:
        follower, live = self._follower, self._follower.look()
        trouble = live.trouble
        try:
            if live.found is not None and live.found is not self._found:
                self._page = page(follower.workspace, live.found, FileLinks(follower.book), kept=self._kept)
                self._found = live.found
        except Exception as error:  # noqa: BLE001 - whatever a store holds that changes meanwhile, the next look may read it
            trouble = told(error, follower.workspace)
        now = {"now": _banner(live.runs, live.series, trouble)}
        if self._page is None:
            return now
        running = running_section(live.charts)
        thread = tuple(running if one.id == running.id else one for one in self._page.thread)
        self._page = structs.replace(self._page, thread=thread)
        return now | {one.id: one.html for one in (*thread, *self._page.entries)}

    def document(self, live: LiveParts) -> str | None:
        return None if self._page is None else "".join(document(self._page, above="/", live=live))


class IndexPage(LivePage):
    """All logbooks of a root. `follower_of` gives the one who follows a logbook, the same one each time."""

    def __init__(self, space: Callable[[], Workspace], follower_of: Callable[[str], Follower]) -> None:
        super().__init__()
        self._space, self._follower_of = space, follower_of
        self._sections: Sequence[PageSection] = ()
        self._books: dict[str, LiveBook] = {}

    def look(self) -> Mapping[str, str]:
        trouble = None
        try:
            topics = [book.topic for book in self._space().books()]
            self._books = {topic: self._follower_of(topic).look() for topic in topics}
            found = [live.found for live in self._books.values() if live.found is not None]
            damaged = [f"{topic}: {live.trouble}" for topic, live in self._books.items() if live.trouble]
            self._sections = [head(found, damaged), *map(card, found)]
        except Exception as error:  # noqa: BLE001 - as above
            trouble = told(error, self._space())
        runs = [{**run, "page": page_file(topic)} for topic, live in self._books.items() for run in live.runs]
        series = [entry for live in self._books.values() for entry in live.series]
        return {"now": _banner(runs, series, trouble)} | {one.id: one.html for one in self._sections}

    def document(self, live: LiveParts) -> str:
        return index_document(self._sections, live=live)
