"""The page of one logbook as it changes: what each viewer has not seen yet."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.live.banner import banner_of
from logbook_agent.live.follower import LOOK_S, Follower
from logbook_agent.model.errors import LogbookError
from logbook_agent.report.page import Kept, Page, page
from logbook_agent.store.workspace import Workspace

# A viewer hears from the server at least so often.
BEAT_S = 5.0
# The name under which a page is opened, and that of its banner among what has changed.
_NOW = "now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A part of the page that is another one since `version`: its HTML, or None where it is gone."""

    version: int
    id: str
    html: str | None


class Feed:
    """One logbook for any number of viewers. While there is none, nothing is read.

    `version` counts all changes; a part that changed twice is sent once, as it is now.
    """

    def __init__(
        self, space: Callable[[], Workspace], topic: str, folder: Path, log_href: Callable[[str, int], str | None]
    ) -> None:
        self.topic = topic
        self._follower = Follower(space, topic, folder)
        self._log_href = log_href
        self._kept: Kept = {}
        self._page: Page | None = None
        self._read = 0
        self._trouble: str | None = None
        self._parts: dict[str, Change] = {}
        self.version = 0
        self._lock = threading.Lock()
        self._changed = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self.viewers = 0

    async def opened(self, document_of: Callable[[Page, str, int], str]) -> str | None:
        """The document as it is now, made of the page, the banner and the version; None where the logbook could never
        be read."""
        await asyncio.to_thread(self._look)
        with self._lock:
            found = self._page
            banner, version = self._parts[_NOW].html or "", self.version
        return None if found is None else await asyncio.to_thread(document_of, found, banner, version)

    async def changes(self, since: int) -> AsyncGenerator[list[Change], None]:
        """What has changed since a version, then what changes; an empty list is a beat. Ends when its reader does."""
        self.viewers += 1
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._keep_looking())
        try:
            while True:
                changed = self._changed
                with self._lock:
                    new = sorted((c for c in self._parts.values() if c.version > since), key=lambda c: c.version)
                    since = self.version
                yield new
                if not new or self._changed is changed:
                    with_timeout = asyncio.wait_for(changed.wait(), BEAT_S)
                    try:
                        await with_timeout
                    except TimeoutError:
                        continue
        finally:
            self.viewers -= 1

    def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        self._follower.close()

    async def _keep_looking(self) -> None:
        while self.viewers:
            if await asyncio.to_thread(self._look):
                changed, self._changed = self._changed, asyncio.Event()
                changed.set()
            await asyncio.sleep(LOOK_S)

    def _look(self) -> bool:
        """Look for changes; whether there are some."""
        with self._lock:
            before = self.version
            live = self._follower.look()
            trouble = live.trouble
            if live.found is not None and live.version != self._read:
                try:
                    self._take(page(self._follower.workspace, live.found, log_href=self._log_href, kept=self._kept))
                    self._read, self._trouble = live.version, None
                except (LogbookError, OSError) as error:
                    # The store changes just now. The next look reads it again; a template that fails stays.
                    self._trouble = str(error)
            self._put(_NOW, banner_of(live.going, trouble or self._trouble))
            return self.version != before

    def _take(self, made: Page) -> None:
        self._page = made
        for section in made.sections:
            self._put(section.id, section.html)
        for gone in self._parts.keys() - {_NOW, *(section.id for section in made.sections)}:
            self._put(gone, None)

    def _put(self, id: str, html: str | None) -> None:
        before = self._parts.get(id)
        if before is None or before.html != html:
            self.version += 1
            self._parts[id] = Change(version=self.version, id=id, html=html)
