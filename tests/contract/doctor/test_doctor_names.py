"""Names and IDs of entry files; aliases; IDs that became no entry."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.doctor.conftest import Found
from tests.contract.views import blocks
from tests.seams import Store

pytestmark = pytest.mark.slow


def ids(book: Path) -> list[str]:
    return sorted(p.name for p in (book / "entries").iterdir())


@pytest.mark.slow
def test_a_copy_with_other_words_gets_the_next_id(
    three: Cli, folder: Path, book: Path, healthy: Callable[[], None]
) -> None:
    text = (book / "entries/MOE-001.yaml").read_text()
    (book / "entries/MOE-001 (1).yaml").write_text(text.replace("entry 1", "mine"))
    healthy()
    assert ids(book) == ["MOE-000.yaml", "MOE-001.yaml", "MOE-002.yaml", "MOE-003.yaml"]
    new = Store(folder).entry("MOE-003")
    assert (new.title, new.aliases) == ("mine", ["MOE-001"])
    assert (book / "entries/MOE-001.yaml").read_text() == text
    assert [*blocks((book.parent / "moe.md").read_text())][-1] == "MOE-003"
    notes = json.loads(three("doctor", "--json").out)["data"]["findings"]
    assert [(f["check"], f["severity"]) for f in notes] == [("alias", "note")]


@pytest.mark.parametrize("new", ["MOE-001 copy.yaml", "MOE-0001.yaml"])
def test_a_renamed_file_gets_its_name_back(three: Cli, book: Path, healthy: Callable[[], None], new: str) -> None:
    (book / "entries/MOE-001.yaml").rename(book / "entries" / new)
    assert three("doctor").code == 1
    healthy()
    assert ids(book) == ["MOE-000.yaml", "MOE-001.yaml", "MOE-002.yaml"]
    assert three("show", "MOE-001", "--json").data["runs"], "its run is found again"


def test_an_id_edited_by_hand(three: Cli, book: Path, healthy: Callable[[], None]) -> None:
    path = book / "entries/MOE-001.yaml"
    good = path.read_text()
    path.write_text(good.replace("id: MOE-001", "id: MOE-007"))
    assert "MOE-007" in three("doctor").out
    healthy()
    assert path.read_text() == good


@pytest.mark.slow
def test_void_ids_are_a_note(three: Cli, book: Path, findings: Callable[..., Found]) -> None:
    owner = {"host": os.uname().nodename, "pid": 2**22 + 1, "root": str(book.parent), "at": "x"}
    (book.parent / ".ids/MOE/MOE-003").write_text(json.dumps(owner))
    [found] = findings()
    assert (found["check"], found["severity"], found["items"]) == ("void", "note", ["MOE-003"])
