"""The index over all logbooks as it changes: what they come to, and what runs in any of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from logbook_agent.findings.read import Findings
from logbook_agent.model.errors import LogbookError
from logbook_agent.report.live.banner import banner_of
from logbook_agent.report.live.feed import NOW, Feed
from logbook_agent.report.live.follower import Follower, LiveBook
from logbook_agent.report.page.index import card, head, index_document
from logbook_agent.report.page.page import PageSection, page_file
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.redactor import by_shape

# How often is looked for logbooks that were started or are gone (s).
_LIST_S = 1.0


class IndexFeed(Feed):
    """All logbooks of a root. `follower_of` gives the one who follows a logbook, the same one each time."""

    def __init__(self, space: Callable[[], Workspace], follower_of: Callable[[str], Follower]) -> None:
        super().__init__()
        self._space, self._follower_of = space, follower_of
        self._workspace = space()
        self._topics: list[str] = []
        self._trouble: str | None = None
        self._due = float("-inf")
        # By topic: which reading its card is of, the card, and what else the page says of it.
        self._cards: dict[str, tuple[int, PageSection, Findings]] = {}
        self._damaged: list[str] = []

    def _look(self) -> None:
        if time.monotonic() >= self._due:
            self._list()
        self._damaged = []
        going: dict[str, Any] = {"runs": [], "series": []}
        for topic in self._topics:
            try:
                live = self._follower_of(topic).look()
                self._take(topic, live)
            except Exception as error:  # noqa: BLE001 - whatever a store holds that changes meanwhile, the next look may read it
                self._damaged.append(f"{topic}: {_line(error)}")
                continue
            if live.trouble:
                self._damaged.append(f"{topic}: {live.trouble}")
            going["runs"] += [{**run, "page": page_file(topic)} for run in live.going["runs"]]
            going["series"] += live.going["series"]
        self._cards = {topic: self._cards[topic] for topic in self._topics if topic in self._cards}
        found = [findings for _, _, findings in self._cards.values()]
        self._put_all([head(found, self._damaged), *(shown for _, shown, _ in self._cards.values())])
        self._put(NOW, banner_of(going, self._trouble))

    def _list(self) -> None:
        try:
            self._workspace = space = self._space()
            self._topics, self._trouble = [book.topic for book in space.books()], None
        except Exception as error:  # noqa: BLE001 - as above
            self._trouble = _line(error)
        self._due = time.monotonic() + _LIST_S

    def _take(self, topic: str, live: LiveBook) -> None:
        """Make the card of a logbook that was read again."""
        known = self._cards.get(topic)
        if live.found is not None and (known is None or known[0] != live.version):
            self._cards[topic] = live.version, card(live.found), live.found

    def _document(self, live: dict[str, Any]) -> str:
        found = [findings for _, _, findings in self._cards.values()]
        return index_document(self._workspace, found, self._damaged, **live)


def _line(error: Exception) -> str:
    """An error in a line without secrets; of one that is not ours its kind alone: its text may quote anything."""
    text = error.message if isinstance(error, LogbookError) else type(error).__name__
    return " ".join(by_shape().text(text).split("\n"))
