"""Another command collects a run while this one still follows it."""

from __future__ import annotations

from typing import Any

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.running.executors.dispatch import attend
from logbook_agent.running.executors.intake import take_in
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.store.spool import Seen, Spool
from tests.contract.running.executors.conftest import Place, sh

SCRIPT = "echo first; until [ -e go ]; do sleep 0.02; done; echo last; echo RESULT tflops=1"


class _Shown:
    """A display that does something when it is first shown output."""

    shows_output = True

    def __init__(self, place: Place, run: Any) -> None:
        self._place, self._run, self.shown = place, run, b""

    def output(self, stream: str, data: bytes) -> None:
        if not self.shown:
            (self._place.folder / "go").touch()
            self._place.ended(self._run)
        self.shown += data

    def progress(self, text: str, series: object = None) -> None:
        raise AssertionError(text)

    def tick(self, last_result: str | None, log_bytes: int) -> None: ...
    def done(self) -> None: ...
    def began(self, entry_id: str) -> None: ...


@pytest.mark.slow
def test_all_output_is_shown(place: Place) -> None:
    run = place.send(*sh(SCRIPT))
    display = _Shown(place, run)
    done = attend(place.workspace, place.book, run, display, StopRequests())
    assert done == place.read(run)
    assert done.exit is not None
    assert display.shown == place.log(run) == b"first\nlast\nRESULT tflops=1\n"


@pytest.mark.slow
def test_a_spool_that_vanishes_between_answer_and_note_is_no_error(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = place.send(*sh("echo RESULT tflops=1"))
    place.until(run, "ended")
    kind, spool = type(place.executor), place.spool(run)
    follow, raised = kind.follow, []

    def raced(self: Any, spool: Spool, *words: Any, **options: Any) -> Any:
        found = follow(self, spool, *words, **options)
        monkeypatch.setattr(kind, "follow", follow)
        place.collected(run)
        try:
            spool.write_seen(Seen(stage=found.stage))
        except StoreError as error:
            raised.append(error)
            raise
        return found

    monkeypatch.setattr(kind, "follow", raced)
    display = _Shown(place, run)
    display.shown = b"-"
    done = attend(place.workspace, place.book, run, display, StopRequests())
    assert done.exit is not None
    assert len(done.rows) == len(raised) == 1
    assert display.shown == b"-RESULT tflops=1\n"
    assert take_in(place.workspace, place.book, spool) is None, "it is gone"
    spool.drop()
