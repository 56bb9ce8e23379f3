"""The addresses of the live view: an index, a page for each logbook, what changes on it, and the logs of its runs."""

from __future__ import annotations

import asyncio
import codecs
import html
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from logbook_agent.findings.read import read
from logbook_agent.live.banner import ASSETS
from logbook_agent.live.feed import Change, Feed
from logbook_agent.live.guard import POLICY, Access, Guard
from logbook_agent.model.entry import TOPIC, parse_id
from logbook_agent.model.errors import LogbookError
from logbook_agent.report.document import document
from logbook_agent.report.index import index_document
from logbook_agent.report.page import Page
from logbook_agent.store.book import Book
from logbook_agent.store.files import pieces_of
from logbook_agent.store.reading import read_text
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.as_html import visible

_META = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_NUMBER = re.compile(r"[0-9]{1,15}", re.ASCII)
_MOST_VIEWERS = 50


class LiveSite:
    """The logbooks of a root, for viewers. `space` makes a workspace that only looks."""

    def __init__(self, space: Callable[[], Workspace], folder: Path, access: Access) -> None:
        self._space, self._folder = space, folder
        self._feeds: dict[str, Feed] = {}
        self.is_closing = asyncio.Event()
        routes = [
            Route("/", self._index),
            Route("/{topic}.html", self._page),
            Route("/{topic}/events", self._events),
            Route("/{topic}/logs/{entry}-{run:int}.txt", self._log),
        ]
        self.app = Guard(Starlette(routes=routes), access)

    def close(self) -> None:
        self.is_closing.set()
        for feed in self._feeds.values():
            feed.close()

    def _feed(self, topic: str) -> Feed | None:
        if topic not in self._feeds:
            if not TOPIC.fullmatch(topic) or all(book.topic != topic for book in self._space().books()):
                return None
            self._feeds[topic] = Feed(self._space, topic, self._folder, self._href(topic))
        return self._feeds[topic]

    def _book(self, topic: str) -> Book:
        space = self._space()
        return Book(space.root, topic, redactor=lambda: space.redactor, index=space.index_folder)

    def _href(self, topic: str) -> Callable[[str, int], str | None]:
        book = self._book(topic)

        def href(entry_id: str, run: int) -> str | None:
            return f"{topic}/logs/{entry_id}-{run:02d}.txt" if book.log_path(entry_id, run).is_file() else None

        return href

    async def _index(self, request: Request) -> Response:
        return _html(await asyncio.to_thread(self._index_text))

    def _index_text(self) -> str:
        space = self._space()
        found, damaged = [], []
        for book in space.books():
            try:
                findings = read(space, book)
                _ = findings.summaries, findings.settled
                found.append(findings)
            except (LogbookError, OSError) as error:
                damaged.append(f"{book.topic}: {error}")
        return index_document(space, found, damaged)

    async def _page(self, request: Request) -> Response:
        # The page of a logbook `index` has another name, as a file.
        topic = request.path_params["topic"].removesuffix(".logbook")
        feed = self._feed(topic)
        if feed is None:
            return _nothing()

        def made(found: Page, banner: str, version: int) -> str:
            script = read_text(ASSETS / "live.js", within=ASSETS)
            around = (
                f'<div id="live" class="group" data-events="{html.escape(topic)}/events?since={version}">'
                '<p><strong id="live-state" role="status">live</strong> <span id="live-heard" class="muted"></span></p>'
            )
            return document(found, above="/", scripts=[script], connect="'self'", banner=f"{around}{banner}</div>")

        text = await feed.opened(made)
        if text is None:
            return PlainTextResponse(f"{topic} cannot be read: logbook doctor\n", status_code=503)
        return _html(text)

    async def _events(self, request: Request) -> Response:
        feed = self._feed(request.path_params["topic"])
        since = request.headers.get("last-event-id") or request.query_params.get("since", "0")
        if feed is None or not _NUMBER.fullmatch(since):
            return _nothing()
        if feed.viewers >= _MOST_VIEWERS:
            return PlainTextResponse("too many viewers\n", status_code=503)
        return StreamingResponse(self._told(feed, int(since)), media_type="text/event-stream")

    async def _told(self, feed: Feed, since: int) -> AsyncIterator[str]:
        """Server-sent events. Ends when the server does."""
        closing = asyncio.create_task(self.is_closing.wait())
        changes = feed.changes(since)
        coming: asyncio.Future[list[Change]] | None = None
        try:
            while not closing.done():
                coming = asyncio.ensure_future(anext(changes))
                await asyncio.wait({coming, closing}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    break
                found = coming.result()
                if not found:
                    yield "event: beat\ndata:\n\n"
                for change in found:
                    data = json.dumps({"id": change.id, "html": change.html})
                    yield f"id: {change.version}\nevent: part\ndata: {data}\n\n"
        finally:
            closing.cancel()
            if coming is None or coming.done():
                await changes.aclose()
            else:
                # Its viewer left meanwhile: `changes` is at work, and ends when this does.
                coming.cancel()

    async def _log(self, request: Request) -> Response:
        topic, entry, run = (request.path_params[name] for name in ("topic", "entry", "run"))
        if self._feed(topic) is None or parse_id(entry) is None or not 0 < run < 10**9:
            return _nothing()
        book = self._book(topic)
        path = book.log_path(entry, run)
        pieces = _readable(path, book.root)
        try:
            # Whatever may not be read is met here, before the answer begins.
            first = await asyncio.to_thread(next, pieces, "")
        except (LogbookError, OSError):
            return _nothing()
        return StreamingResponse(itertools.chain([first], pieces), media_type="text/plain; charset=utf-8")


def _readable(path: Path, within: Path) -> Iterator[str]:
    """The text of a log, in which no mark turns the direction of what follows."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in pieces_of(path, within=within):
        yield visible(decoder.decode(piece))
    yield visible(decoder.decode(b"", final=True))


def _html(text: str) -> Response:
    """A document, with its own policy as a header, too."""
    found = _META.search(text)
    headers = {POLICY: f"{html.unescape(found[1])}; frame-ancestors 'none'"} if found is not None else {}
    return HTMLResponse(text, headers=headers)


def _nothing() -> Response:
    return PlainTextResponse("There is no such page.\n", status_code=404)
