"""A page as it changes: what each viewer has not seen yet."""

from __future__ import annotations

import abc
import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from logbook_agent.report.live.follower import LOOK_S
from logbook_agent.report.page.page import PageSection

# A viewer hears from the server at least so often.
BEAT_S = 5.0
# The name of the banner among what has changed.
NOW = "now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A part of the page that is another one since `version`: its HTML, or None where it is gone."""

    version: int
    id: str
    html: str | None


class Feed(abc.ABC):
    """One page for any number of viewers. While there is none, nothing is read.

    `version` counts all changes; a part that changed twice is sent once, as it is now.
    """

    def __init__(self) -> None:
        self._parts: dict[str, Change] = {}
        self.version = 0
        self._lock = threading.Lock()
        self._changed = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self.viewers = 0

    @abc.abstractmethod
    def _look(self) -> None:
        """Look for changes and `_put` them. What the store holds raises nothing."""

    @abc.abstractmethod
    def _document(self, live: dict[str, Any]) -> str | None:
        """The whole document; None where there could never be one. `live`: what `document` takes of a live page."""

    async def opened(self, live_of: Callable[[str, int], dict[str, Any]]) -> str | None:
        """The document as it is now; None where it could never be read. `live_of` gives what is live in it, for the
        banner and the version."""

        def made() -> str | None:
            with self._lock:
                self._look()
                return self._document(live_of(self._html(NOW), self.version))

        return await asyncio.to_thread(made)

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

    async def _keep_looking(self) -> None:
        while self.viewers:
            if await asyncio.to_thread(self._look_again):
                changed, self._changed = self._changed, asyncio.Event()
                changed.set()
            await asyncio.sleep(LOOK_S)

    def _look_again(self) -> bool:
        """Look for changes; whether there are some."""
        with self._lock:
            before = self.version
            self._look()
            return self.version != before

    def _html(self, id: str) -> str:
        part = self._parts.get(id)
        return (part.html if part is not None else None) or ""

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
            self.version += 1
            self._parts[id] = Change(version=self.version, id=id, html=html)
