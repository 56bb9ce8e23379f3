"""The addresses of the live view: an index, a page for each logbook, what changed on it, and the files of its runs."""

from __future__ import annotations

import itertools
import json
import re
import secrets
import threading
from collections.abc import Callable

from markupsafe import Markup

from logbook_agent.features import hook_module
from logbook_agent.model.entry import parse_id
from logbook_agent.model.errors import LogbookError
from logbook_agent.report.live.follower import Follower, told
from logbook_agent.report.live.live_pages import ASSETS, BookPage, IndexPage, LivePage
from logbook_agent.report.live.server import POLICY, Response, said
from logbook_agent.report.page.document import LiveParts
from logbook_agent.report.page.links import visible_log
from logbook_agent.report.page.rendering import render
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import Workspace

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
        self._pages: dict[str | None, LivePage] = {}
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
            if topic not in self._pages:
                if topic is None:
                    self._pages[None] = IndexPage(self.space, self._follower)
                elif self._book(topic) is None:
                    return None
                else:
                    self._pages[topic] = BookPage(self._follower(topic))
            return self._pages[topic]

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
