"""Records, settings, recipes and logs are regular files of a size to read; anything else is reported at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.store import reading
from logbook_agent.store.reading import read_bytes

pytestmark = pytest.mark.slow


def test_a_file_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_bytes(path, within=tmp_path, limit=100) == b"x" * 100
    real = os.read

    def growing(descriptor: int, size: int) -> bytes:
        with path.open("ab") as file:
            file.write(b"y" * 10)
        return real(descriptor, size)

    monkeypatch.setattr(reading.os, "read", growing)
    with pytest.raises(StoreError, match="more than 100 bytes"):
        read_bytes(path, within=tmp_path, limit=100)
