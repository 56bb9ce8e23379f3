"""Records as they are written and read: nothing that could not be read again, and nothing that measures nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import StoreError
from logbook_agent.store import records
from logbook_agent.store.folder import Folder
from logbook_agent.store.parse import dump_yaml, parse_yaml
from logbook_agent.store.records import write
from tests.stored import at


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029", "\r", "\t", " "])
def test_text_with_another_end_of_line_comes_back(end: str) -> None:
    for text in (f"a{end}b", f"a{end}\nb\n", f"{end}a\n{end}"):
        assert parse_yaml(dump_yaml({"text": text}), "f.yaml") == {"text": text}


def test_what_is_too_long_to_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = at(tmp_path / "moe/entries/MOE-000.yaml")
    path.parent.mkdir(parents=True)
    entry = Entry(id="MOE-000", title="t", opened="2026-02-10T10:43:00+00:00")
    write(Folder(tmp_path), path, entry)
    size = path.stat().st_size
    monkeypatch.setattr(records, "PROSE_BYTES", size)
    write(Folder(tmp_path), path, entry)
    monkeypatch.setattr(records, "PROSE_BYTES", size - 1)
    with pytest.raises(StoreError, match=f"would have {size} bytes"):
        write(Folder(tmp_path), path, entry)
    assert path.stat().st_size == size
