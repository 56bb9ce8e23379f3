"""The predictions of a thread for those that tell of them. Nothing is read where nothing was predicted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

from logbook_agent.findings.predictions.checked import Checks, checks_of
from logbook_agent.findings.predictions.rows import PREDICTS
from logbook_agent.findings.predictions.told import NOTHING, Beside, beside, check_data, direction_data
from logbook_agent.findings.thread import Thread
from logbook_agent.model.entry import PREDICTION
from logbook_agent.model.errors import StoreError
from logbook_agent.store.book import Book

# More entries than this are not opened to see whether one predicts something.
_LOOKED_AT = 100


class ThreadPredictions:
    """`order` gives the IDs of all entries, `thread` what their summaries say. `written`: entries that this process has
    just written, of which the book knows whether they predict."""

    def __init__(
        self,
        book: Book,
        order: Callable[[], Sequence[str]],
        thread: Callable[[], Thread],
        written: Collection[str],
    ) -> None:
        self._book, self._order, self._thread = book, order, thread
        self._written = {*written}

    @cached_property
    def checks(self) -> Checks:
        """All predictions of entries that count, with what was measured of their cases."""
        return checks_of(self._thread())

    @cached_property
    def exist(self) -> bool:
        """Whether any entry predicts something. Of entries that were seen before the index of hints knows it, so that
        mostly no record is read. Where very many were never seen, as in a fresh clone, what they are called tells."""
        book = self._book
        if book.wrote_predictions or book.tried.found(PREDICTS):
            return True
        unseen = book.tried.unseen(self._order())[0] - self._written
        predicts = self._has_predictions if len(unseen) <= _LOOKED_AT else self._is_prediction
        return any(map(predicts, unseen))

    def _has_predictions(self, entry_id: str) -> bool:
        try:
            return any(run.predictions for run in self._book.runs(entry_id))
        except StoreError:
            return False  # its damage is told where it is shown

    def _is_prediction(self, entry_id: str) -> bool:
        try:
            return f"\nkind: {PREDICTION}\n" in self._book.entry_text(entry_id)
        except StoreError:
            return False

    def beside(self, entry_id: str) -> Beside:
        """What follows from other entries of the predictions of an entry, and of its measurements."""
        return beside(self.checks, entry_id) if self.exist else NOTHING

    def data(self, entry_id: str) -> dict[str, Any]:
        """The same as data: how its predictions came true, and which predictions it checked."""
        if not self.exist:
            return {"checked": [], "predicted_before": []}
        return {
            "checked": [check_data(c) for c in self.checks.of_entry.get(entry_id, [])],
            "predicted_before": [check_data(c) for c in self.checks.checked_by(entry_id)],
        }

    def touched(self, changed: Collection[str]) -> set[str]:
        """The entries whose pages say something of predictions that follows from these."""
        return self.checks.touched(changed) & {*self._order()} if self.exist else set()

    def all(self) -> dict[str, Any]:
        """The tally, every prediction and every direction, as data."""
        checks = self.checks
        return {
            "tally": checks.tally(),
            "predictions": list(map(check_data, checks.all)),
            "directions": list(map(direction_data, checks.directions)),
        }
