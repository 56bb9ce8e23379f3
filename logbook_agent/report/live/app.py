"""The addresses of the live view: an index, a page for each logbook, what changes on it, and the logs of its runs."""

from __future__ import annotations

import asyncio
import functools
import html
import itertools
import json
import re
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from logbook_agent.features import hook_module
from logbook_agent.model.entry import TOPIC, parse_id
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.run import Artifact, Run
from logbook_agent.report.live.feeds import ASSETS, BookFeed, Change, Feed, IndexFeed
from logbook_agent.report.live.follower import Follower
from logbook_agent.report.live.guard import POLICY, Access, Guard
from logbook_agent.report.page.document import LiveParts
from logbook_agent.report.page.write import visible_log
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.as_html import visible

_META = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
# Which start of a server, and a version of a page that it counted.
_SINCE = re.compile(r"([0-9a-f]{8})\.([0-9]{1,15})", re.ASCII)
# What a file may do that some run left.
_SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'none'"
_RETRY_MS = 1000
_MOST_VIEWERS = 50
# What a store that changes just now may raise.
_TROUBLE = (LogbookError, OSError)


class LiveSite:
    """The logbooks of a root, for viewers. `space` makes a workspace that only looks."""

    def __init__(self, space: Callable[[], Workspace], access: Access) -> None:
        self._space = space
        self._followers: dict[str, Follower] = {}
        self._feeds: dict[str, Feed] = {}
        self._making = threading.RLock()
        # Versions count from this start of the server: those of another one mean nothing here.
        self._started = secrets.token_hex(4)
        self.is_closing = asyncio.Event()
        routes = [
            Route("/", self._index),
            Route("/events", self._events),
            Route("/{topic}.html", self._page),
            Route("/{topic}/events", self._events),
            Route("/{topic}/logs/{entry}-{run:int}.txt", self._log),
            Route("/{topic}/artifacts/{entry}-{run:int}/{name}", self._file),
        ]
        self.app = Guard(Starlette(routes=routes, exception_handlers=dict.fromkeys(_TROUBLE, _unreadable)), access)

    def close(self) -> None:
        self.is_closing.set()
        for feed in self._feeds.values():
            feed.close()
        for follower in self._followers.values():
            follower.close()

    async def _feed(self, topic: str | None) -> Feed | None:
        """The feed of a logbook, or of the index; None where there is no such logbook."""
        return self._feeds.get(topic or "") or await asyncio.to_thread(self._made, topic)

    def _made(self, topic: str | None) -> Feed | None:
        with self._making:
            if topic is None:
                return self._feeds.setdefault("", IndexFeed(self._space, self._follower))
            if topic not in self._feeds:
                if not TOPIC.fullmatch(topic) or all(book.topic != topic for book in self._space().books()):
                    return None
                self._feeds[topic] = BookFeed(self._follower(topic), self._href(topic), self._file_href(topic))
            return self._feeds[topic]

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

    async def _index(self, request: Request) -> Response:
        return await self._opened(None)

    async def _page(self, request: Request) -> Response:
        # The page of a logbook `index` has another name, as a file.
        return await self._opened(request.path_params["topic"].removesuffix(".logbook"))

    async def _opened(self, topic: str | None) -> Response:
        feed = await self._feed(topic)
        if feed is None:
            return _nothing()
        text = await feed.opened(functools.partial(self._live, "events" if topic is None else f"{topic}/events"))
        if text is None:
            return PlainTextResponse(f"{topic} cannot be read: logbook doctor\n", status_code=503)
        return _html(text)

    def _live(self, events: str, banner: str, version: int) -> LiveParts:
        around = (
            f'<div id="live" class="group" data-events="{events}" data-since="{self._started}.{version}">'
            '<p><strong id="live-state" role="status">live</strong> <span id="live-heard" class="muted"></span></p>'
        )
        script = Folder(ASSETS).text("live.js")
        return LiveParts(scripts=[script], connect="'self'", banner=f"{around}{banner}</div>")

    async def _events(self, request: Request) -> Response:
        feed = await self._feed(request.path_params.get("topic"))
        since = _SINCE.fullmatch(request.headers.get("last-event-id") or request.query_params.get("since", ""))
        if feed is None or since is None:
            return _nothing()
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        if feed.viewers >= _MOST_VIEWERS:
            return PlainTextResponse("too many viewers\n", status_code=503)
        started, version = since.groups()
        told = self._told(feed, int(version)) if started == self._started else _another_server()
        return StreamingResponse(told, media_type="text/event-stream")

    async def _told(self, feed: Feed, since: int) -> AsyncIterator[str]:
        """Server-sent events; a beat has the time by this clock (ms). Ends when the server does."""
        closing = asyncio.create_task(self.is_closing.wait())
        changes = feed.changes(since)
        coming: asyncio.Future[list[Change]] | None = None
        try:
            yield f"retry: {_RETRY_MS}\n\n"
            while not closing.done():
                coming = asyncio.ensure_future(anext(changes))
                await asyncio.wait({coming, closing}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    break
                found = coming.result()
                if not found:
                    yield f"event: beat\ndata: {time.time_ns() // 10**6}\n\n"
                for change in found:
                    data = json.dumps({"id": change.id, "html": change.html})
                    yield f"id: {self._started}.{change.version}\nevent: part\ndata: {data}\n\n"
        finally:
            closing.cancel()
            if coming is None or coming.done():
                await changes.aclose()
            else:
                # Its viewer left meanwhile: `changes` is at work, and ends when this does.
                coming.cancel()

    async def _log(self, request: Request) -> Response:
        topic, entry, run = (request.path_params[name] for name in ("topic", "entry", "run"))
        if await self._feed(topic) is None or parse_id(entry) is None or not 0 < run < 10**9:
            return _nothing()
        book = self._book(topic)
        path = book.log_path(entry, run)
        pieces = visible_log(path, book.files, self._space().redactor)
        try:
            # Whatever may not be read is met here, before the answer begins.
            first = await asyncio.to_thread(next, pieces, "")
        except (LogbookError, OSError):
            return PlainTextResponse("This log is not on this machine.\n", status_code=404)
        return StreamingResponse(itertools.chain([first], pieces), media_type="text/plain; charset=utf-8")

    async def _file(self, request: Request) -> Response:
        """A file that a run left: a picture or a text in its place, any other to be saved. Nothing in it runs."""
        topic, entry, run, name = (request.path_params[key] for key in ("topic", "entry", "run", "name"))
        showing = hook_module("artifacts")
        if showing is None or await self._feed(topic) is None or parse_id(entry) is None or not 0 < run < 10**9:
            return _nothing()
        book = self._book(topic)
        try:
            record = await asyncio.to_thread(book.run, entry, run)
            found = await asyncio.to_thread(showing.leaving_named, book, record, name, self._space().redactor)
        except (LogbookError, OSError):
            found = None
        if found is None:
            return PlainTextResponse("This file is not on this machine.\n", status_code=404)
        headers = {POLICY: _SANDBOX, "content-disposition": "inline" if found.is_shown else "attachment"}
        charset = "; charset=utf-8" if found.is_text else ""
        return Response(found.data, headers=headers, media_type=f"{found.media_type}{charset}")


async def _another_server() -> AsyncIterator[str]:
    """For a page of a server before this one: it opens itself again."""
    yield "event: reload\ndata:\n\n"


async def _unreadable(request: Request, error: Exception) -> Response:
    text = error.message if isinstance(error, LogbookError) else type(error).__name__
    return PlainTextResponse(f"This cannot be read now: {visible(text)}\n", status_code=503)


def _html(text: str) -> Response:
    """A document, with its own policy as a header, too."""
    found = _META.search(text)
    headers = {POLICY: f"{html.unescape(found[1])}; frame-ancestors 'none'"} if found is not None else {}
    return HTMLResponse(text, headers=headers)


def _nothing() -> Response:
    return PlainTextResponse("No such page.\n", status_code=404)
