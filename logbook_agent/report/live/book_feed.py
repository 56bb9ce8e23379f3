"""The page of one logbook as it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from logbook_agent.report.live.banner import banner_of
from logbook_agent.report.live.feed import NOW, Feed
from logbook_agent.report.live.follower import Follower
from logbook_agent.report.page.document import document
from logbook_agent.report.page.page import Kept, Page, page


class BookFeed(Feed):
    """A logbook for any number of viewers."""

    def __init__(self, follower: Follower, log_href: Callable[[str, int], str | None]) -> None:
        super().__init__()
        self._follower, self._log_href = follower, log_href
        self._kept: Kept = {}
        self._page: Page | None = None
        self._read = 0
        self._trouble: str | None = None

    def _look(self) -> None:
        live = self._follower.look()
        if live.found is not None and live.version != self._read:
            try:
                made = page(self._follower.workspace, live.found, log_href=self._log_href, kept=self._kept)
            except Exception as error:  # noqa: BLE001 - whatever a store holds that changes meanwhile, the next look may read it
                self._trouble = self._follower.told(error)
            else:
                self._page, self._read, self._trouble = made, live.version, None
                self._put_all(made.sections)
        self._put(NOW, banner_of(live.going, live.trouble or self._trouble))

    def _document(self, live: dict[str, Any]) -> str | None:
        return None if self._page is None else "".join(document(self._page, above="/", **live))
