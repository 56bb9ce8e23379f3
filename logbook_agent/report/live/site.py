"""The addresses of the live view: an index, a page for each logbook, what changed on it, and the logs of its runs."""

from __future__ import annotations

import html
import itertools
import json
import re
import secrets
import threading
from collections.abc import Callable

from logbook_agent.features import hook_module
from logbook_agent.model.entry import TOPIC, parse_id
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.run import Artifact, Run
from logbook_agent.report.live.follower import Follower
from logbook_agent.report.live.guard import POLICY, Response, said
from logbook_agent.report.live.live_pages import ASSETS, BookPage, IndexPage, LivePage
from logbook_agent.report.page.document import LiveParts
from logbook_agent.report.page.write import visible_log
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.as_html import visible

_META = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
# What a file may do that some run left.
_SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'none'"
_PARTS = re.compile(r"/(?:([^/]+)/)?parts")
# The page of a logbook `index` has another name, as a file.
_PAGE = re.compile(r"/([^/]+?)(?:\.logbook)?\.html")
_LOG = re.compile(r"/([^/]+)/logs/([^/]+)-([0-9]{1,9})\.txt", re.ASCII)
_FILE = re.compile(r"/([^/]+)/artifacts/([^/]+)-([0-9]{1,9})/([^/]+)", re.ASCII)
_VERSION = re.compile(r'"([0-9a-f]+)\.([0-9]{1,9})"', re.ASCII)
_NOTHING = said(404, "No such page.")


class LiveSite:
    """The logbooks of a root, for viewers. `space` makes a workspace that only looks."""

    def __init__(self, space: Callable[[], Workspace]) -> None:
        self._space = space
        self._followers: dict[str, Follower] = {}
        self._pages: dict[str | None, LivePage] = {}
        self._making = threading.RLock()
        # Versions count from this start of the server: those of another one mean nothing here.
        self._started = secrets.token_hex(4)

    def close(self) -> None:
        for follower in self._followers.values():
            follower.close()

    def answer(self, path: str, known: str | None) -> Response:
        """The answer to a path. `known`: the version of a page that its viewer has."""
        try:
            if path == "/":
                return self._opened(None)
            if found := _PARTS.fullmatch(path):
                return self._changed(found[1], known)
            if found := _PAGE.fullmatch(path):
                return self._opened(found[1])
            if found := _LOG.fullmatch(path):
                return self._log(found[1], found[2], int(found[3]))
            if found := _FILE.fullmatch(path):
                return self._file(found[1], found[2], int(found[3]), found[4])
        except (LogbookError, OSError) as error:
            # The store changes just now.
            text = error.message if isinstance(error, LogbookError) else type(error).__name__
            return said(503, f"This cannot be read now: {visible(text)}")
        return _NOTHING

    def _page(self, topic: str | None) -> LivePage | None:
        """The page of a logbook, or the index; None where there is no such logbook."""
        with self._making:
            if topic not in self._pages:
                if topic is None:
                    self._pages[None] = IndexPage(self._space, self._follower)
                elif not TOPIC.fullmatch(topic) or all(book.topic != topic for book in self._space().books()):
                    return None
                else:
                    self._pages[topic] = BookPage(self._follower(topic), self._href(topic), self._file_href(topic))
            return self._pages[topic]

    def _follower(self, topic: str) -> Follower:
        """Who follows a logbook, for its page and the index."""
        with self._making:
            if topic not in self._followers:
                self._followers[topic] = Follower(self._space, topic)
            return self._followers[topic]

    def _book(self, topic: str) -> Book:
        space = self._space()
        return Book(space.root, topic, redactor=lambda: space.redactor, places=space.places)

    def _href(self, topic: str) -> Callable[[str, int], str | None]:
        book = self._book(topic)

        def href(entry_id: str, run: int) -> str | None:
            return f"{topic}/logs/{entry_id}-{run:02d}.txt" if book.log_path(entry_id, run).is_file() else None

        return href

    def _file_href(self, topic: str) -> Callable[[Run, Artifact], str | None]:
        book, showing = self._book(topic), hook_module("artifacts")

        def href(run: Run, artifact: Artifact) -> str | None:
            if showing is None or not showing.is_here(book, run, artifact):
                return None
            return f"{topic}/artifacts/{run.entry}-{run.run:02d}/{showing.leaving_name(artifact)}"

        return href

    def _opened(self, topic: str | None) -> Response:
        page = self._page(topic)
        if page is None:
            return _NOTHING
        text = page.opened(lambda banner, version: self._live(topic, banner, version))
        if text is None:
            return said(503, f"{topic} cannot be read: logbook doctor")
        # A document, with its own policy as a header, too.
        found = _META.search(text)
        headers = {POLICY: f"{html.unescape(found[1])}; frame-ancestors 'none'"} if found is not None else {}
        body = text.encode("utf-8", "replace")
        return Response(body=body, media_type="text/html; charset=utf-8", headers=headers)

    def _live(self, topic: str | None, banner: str, version: int) -> LiveParts:
        parts = "parts" if topic is None else f"{topic}/parts"
        start = (
            f'<div id="live" class="group" data-parts="{parts}" data-version="{self._started}.{version}">'
            '<p><strong id="live-state" role="status">live</strong> <span id="live-heard" class="muted"></span></p>'
        )
        script = Folder(ASSETS).text("live.js")
        return LiveParts(scripts=[script], connect="'self'", banner=f"{start}{banner}</div>")

    def _changed(self, topic: str | None, known: str | None) -> Response:
        """The parts of a page that changed since a version; 304 where none did; 205 (open the page again) where that
        version was another server's."""
        page = self._page(topic)
        found = _VERSION.fullmatch(known or f'"{self._started}.0"')
        if page is None or found is None:
            return _NOTHING
        if found[1] != self._started:
            return Response(status=205)
        version, changes = page.changes(int(found[2]))
        headers = {"etag": f'"{self._started}.{version}"'}
        if not changes:
            return Response(status=304, headers=headers)
        parts = [{"id": change.id, "html": change.html} for change in changes]
        return Response(body=json.dumps(parts).encode(), media_type="application/json", headers=headers)

    def _log(self, topic: str, entry: str, run: int) -> Response:
        if self._page(topic) is None or parse_id(entry) is None:
            return _NOTHING
        book = self._book(topic)
        pieces = visible_log(book.log_path(entry, run), book.files, self._space().redactor)
        try:
            # Whatever may not be read is met here, before the answer begins.
            first = next(pieces, "")
        except (LogbookError, OSError):
            return said(404, "This log is not on this machine.")
        return Response(body=(piece.encode("utf-8", "replace") for piece in itertools.chain([first], pieces)))

    def _file(self, topic: str, entry: str, run: int, name: str) -> Response:
        """A file that a run left: a picture or a text in its place, any other to be saved. Nothing in it runs."""
        showing = hook_module("artifacts")
        if showing is None or self._page(topic) is None or parse_id(entry) is None:
            return _NOTHING
        book = self._book(topic)
        try:
            found = showing.leaving_named(book, book.run(entry, run), name, self._space().redactor)
        except (LogbookError, OSError):
            found = None
        if found is None:
            return said(404, "This file is not on this machine.")
        headers = {POLICY: _SANDBOX, "content-disposition": "inline" if found.is_shown else "attachment"}
        charset = "; charset=utf-8" if found.is_text else ""
        return Response(body=found.data, media_type=f"{found.media_type}{charset}", headers=headers)
