"""One logbook, followed as it changes under whoever looks at it."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from logbook_agent.findings.read import Findings, read
from logbook_agent.model.errors import LogbookError
from logbook_agent.report.live.going import GoingNow
from logbook_agent.report.live.marks import Marks
from logbook_agent.report.live.remembered import RememberedBook
from logbook_agent.running.launch.output import readable
from logbook_agent.store.workspace import Workspace

# How often is looked for a change (s); a reading that takes long is made again no sooner than so many times that.
LOOK_S = 0.25
_REST = 2.0
# What could not be read is tried again after so long, although nothing has changed.
_AGAIN_S = 1.0
_NOTHING: dict[str, Any] = {"runs": [], "series": []}


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBook:
    """What is known of a logbook. `version` is another one whenever the records have changed; `trouble` says why it
    cannot be read now: then all else is what it was before. `found` None: it could not be read yet."""

    version: int = 0
    found: Findings | None = None
    going: dict[str, Any] = field(default_factory=lambda: dict(_NOTHING))
    trouble: str | None = None


class Follower:
    """Reads a logbook when it has changed. `space()` makes a workspace that only looks."""

    def __init__(self, space: Callable[[], Workspace], topic: str) -> None:
        self._space, self._topic = space, topic
        self.workspace = space()
        self.book = self._made()
        self._marks = Marks(self.book)
        self._going = GoingNow(self.workspace, self._redact)
        self._due, self._is_stale = 0.0, True
        self.last = LiveBook()
        self._lock = threading.Lock()

    def look(self) -> LiveBook:
        """What is known now. Quick where nothing has changed; never raises for what the store holds. Several threads
        may ask."""
        with self._lock:
            return self._look()

    def _look(self) -> LiveBook:
        self._is_stale = self._marks.have_changed() or self._is_stale
        going, trouble = self._look_at_runs()
        if _states(going) != _states(self.last.going):
            self._is_stale = True  # a process that died changes no file
        if self._is_stale and time.monotonic() >= self._due:
            self._read(going)
        elif going != self.last.going or (trouble and trouble != self.last.trouble):
            self.last = dataclasses.replace(self.last, going=going, trouble=trouble or self.last.trouble)
        return self.last

    def close(self) -> None:
        self._going.close()

    def _read(self, going: dict[str, Any]) -> None:
        began = time.monotonic()
        self._is_stale = False
        try:
            space = self._space()
            if space.config != self.workspace.config:
                # Another branch may hide other secrets: what is remembered was read by the settings before.
                self.workspace = space
                self.book = self._made()
            found = read(self.workspace, self.book)
            _ = found.summaries, found.header
            self.last = LiveBook(version=self.last.version + 1, found=found, going=going)
        except Exception as error:  # noqa: BLE001 - whatever a store holds that changes meanwhile, the next look may read it
            self.last = dataclasses.replace(self.last, going=going, trouble=self.told(error))
            self._is_stale, began = True, began - _AGAIN_S / _REST
        self._due = time.monotonic() + _REST * (time.monotonic() - began)

    def _look_at_runs(self) -> tuple[dict[str, Any], str | None]:
        try:
            return self._going.look(self.book, self.last.version), None
        except Exception as error:  # noqa: BLE001 - as above
            return self.last.going, self.told(error)

    def _made(self) -> RememberedBook:
        """What is read by the settings of this workspace."""
        space = self.workspace
        return RememberedBook(space.root, self._topic, redactor=lambda: space.redactor, places=space.places)

    def _redact(self, text: str) -> str:
        return self.workspace.redactor.text(text)

    def told(self, error: Exception) -> str:
        """What is said of an error, in a line without secrets."""
        text = error.message if isinstance(error, LogbookError) else f"{type(error).__name__}: {error}"
        return readable(text.replace("\n", " ").encode(errors="replace"), self._redact)


def _states(going: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(one["id"], one["run"], one["state"], one["ended"]) for one in going["runs"]]
