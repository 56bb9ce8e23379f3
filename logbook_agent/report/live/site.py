"""The live pages, of one logbook and the index over all, as they change; their addresses, and those of the files of
runs."""

from __future__ import annotations

import abc
import itertools
import json
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup
from msgspec import structs

from logbook_agent.features import hook_module
from logbook_agent.findings.read import Findings
from logbook_agent.model.entry import parse_id
from logbook_agent.model.errors import LogbookError
from logbook_agent.report.live.follower import Follower, LiveBook, told
from logbook_agent.report.live.server import POLICY, Response, said
from logbook_agent.report.page.document import (
    LiveParts,
    Page,
    PageSection,
    card,
    document,
    head,
    index_document,
    page_file,
    render,
)
from logbook_agent.report.page.links import FileLinks, visible_log
from logbook_agent.report.page.page import page
from logbook_agent.report.page.sections import Kept
from logbook_agent.report.page.thread_sections import running_section
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
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
        return None if self._page is None else document(self._page, above="/", live=live)


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


# What a page may not do beside what it says of itself, and what a file may do that some run left.
_FRAMED = "frame-ancestors 'none'"
_SANDBOX = f"sandbox; default-src 'none'; {_FRAMED}"
_RUN = re.compile(r"(.+)-([0-9]{1,9})", re.ASCII)
_VERSION = re.compile(r'"([0-9a-f]+)\.([0-9]{1,9})"', re.ASCII)
_NOTHING = said(404, "No such page.")


class LiveSite:
    """The logbooks of a root, for viewers. `space` makes a workspace that only looks."""

    def __init__(self, space: Callable[[], Workspace]) -> None:
        self.space = space
        self._followers: dict[str, Follower] = {}
        self._pages: dict[str, LivePage] = {}
        self._index = IndexPage(space, self._follower)
        self._lock = threading.RLock()
        # Versions count from this start of the server: those of another one mean nothing here.
        self._started = secrets.token_hex(4)

    def _book(self, topic: str) -> Book | None:
        """A logbook, read from its files; None where there is none."""
        return next((book for book in self.space().books() if book.topic == topic), None)

    def _follower(self, topic: str) -> Follower:
        """Who follows a logbook, for its page and the index."""
        with self._lock:
            if topic not in self._followers:
                self._followers[topic] = Follower(self.space, topic)
            return self._followers[topic]

    def _page(self, topic: str | None) -> LivePage | None:
        """The page of a logbook, or the index; None where there is no such logbook."""
        with self._lock:
            if topic is None:
                return self._index
            if topic not in self._pages and self._book(topic) is not None:
                self._pages[topic] = BookPage(self._follower(topic))
            return self._pages.get(topic)

    def answer(self, path: str, known: str | None) -> Response:
        """The answer to a path. `known`: the version of a page that its viewer has."""
        try:
            match path.split("/")[1:]:
                case [""]:
                    return self._opened(None)
                case ["parts"]:
                    return self._changed(None, known)
                case [topic, "parts"]:
                    return self._changed(topic, known)
                case [name] if name.endswith(".html"):
                    # The page of a logbook `index` has another name, as a file.
                    return self._opened(name[:-5].removesuffix(".logbook"))
                case [topic, "logs", name] if name.endswith(".txt"):
                    return self._log(topic, name[:-4])
                case [topic, "artifacts", run, name]:
                    return self._file(topic, run, name)
        except (LogbookError, OSError) as error:
            # The store changes just now.
            return said(503, f"This cannot be read now: {told(error, self.space())}")
        return _NOTHING

    def _opened(self, topic: str | None) -> Response:
        page = self._page(topic)
        if page is None:
            return _NOTHING
        with page.lock:
            page.update()
            text = page.document(self._live(topic, page))
        if text is None:
            return said(503, f"{topic} cannot be read: logbook doctor")
        # The document has its own policy.
        return Response(
            body=[text.encode("utf-8", "replace")], media_type="text/html; charset=utf-8", headers={POLICY: _FRAMED}
        )

    def _live(self, topic: str | None, page: LivePage) -> LiveParts:
        banner = render(
            ASSETS,
            "live.html.j2",
            parts="parts" if topic is None else f"{topic}/parts",
            version=f"{self._started}.{page.version}",
            now=Markup(page.banner),  # noqa: S704 - escaped where it is made
        )
        return LiveParts(script=Folder(ASSETS).text("live.js"), banner=Markup(banner))  # noqa: S704 - so is this

    def _changed(self, topic: str | None, known: str | None) -> Response:
        """The parts of a page that changed since a version; 304 where none did; 205 (open the page again) where that
        version was another server's."""
        page = self._page(topic)
        version = _VERSION.fullmatch(known or f'"{self._started}.0"')
        if page is None or version is None:
            return _NOTHING
        if version[1] != self._started:
            return Response(status=205)
        with page.lock:
            page.update()
            etag, parts = {"etag": f'"{self._started}.{page.version}"'}, page.changes(int(version[2]))
        if not parts:
            return Response(status=304, headers=etag)
        return Response(body=[json.dumps(parts).encode()], media_type="application/json", headers=etag)

    def _run(self, topic: str, name: str) -> tuple[Book, str, int] | None:
        """A logbook, an entry and a run, by `ID-RUN`; None for what cannot be one."""
        found, book = _RUN.fullmatch(name), self._book(topic)
        if found is None or book is None or parse_id(found[1]) is None:
            return None
        return book, found[1], int(found[2])

    def _log(self, topic: str, name: str) -> Response:
        if (run := self._run(topic, name)) is None:
            return _NOTHING
        book, entry, number = run
        pieces = visible_log(book, entry, number)
        try:
            # Whatever may not be read is met here, before the answer begins.
            first = next(pieces, b"")
        except (LogbookError, OSError):
            return said(404, "This log is not on this machine.")
        return Response(body=itertools.chain([first], pieces))

    def _file(self, topic: str, run_name: str, name: str) -> Response:
        """A file that a run left: a picture or a text in its place, any other to be saved. Nothing in it runs."""
        showing = hook_module("artifacts")
        if showing is None or (run := self._run(topic, run_name)) is None:
            return _NOTHING
        book, entry, number = run
        try:
            file = showing.leaving_named(book, book.run(entry, number), name, book.redactor)
        except (LogbookError, OSError):
            file = None
        if file is None:
            return said(404, "This file is not on this machine.")
        headers = {POLICY: _SANDBOX, "content-disposition": "inline" if file.is_shown else "attachment"}
        charset = "; charset=utf-8" if file.is_text else ""
        return Response(body=[file.data], media_type=f"{file.media_type}{charset}", headers=headers)
