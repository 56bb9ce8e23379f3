"""Workers as processes of their own: what is left when one of the parties is killed, and clear states for all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.model.worker_report import End, Exit
from logbook_agent.running.worker.entrypoint import write_end
from logbook_agent.store.folder import Folder
from logbook_agent.store.spool import Spool


def test_an_end_is_written_when_the_disk_has_room_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(files=Folder(tmp_path / "MOE-000.01", tmp_path))
    spool.files.make()
    end = End(ended="2026-02-10T10:43:00+00:00", duration_s=1.0, exit=Exit(code=0))
    refused = [StoreError("no space left")] * 3
    write = Spool.put

    def full(self: Spool, end: End) -> None:
        if refused:
            raise refused.pop()
        write(self, end)

    monkeypatch.setattr(Spool, "put", full)
    slept: list[float] = []
    write_end(spool, end, sleep=slept.append)
    assert spool.get(End) == end
    assert len(slept) == 3
