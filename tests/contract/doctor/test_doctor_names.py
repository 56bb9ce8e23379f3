"""Names and IDs of entry files; aliases; IDs that became no entry."""

from __future__ import annotations

import json
import os
import shutil
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


def test_a_copy_with_the_same_words_is_removed(three: Cli, book: Path, healthy: Callable[[], None]) -> None:
    copy = book / "entries/MOE-001 (1).yaml"
    shutil.copy(book / "entries/MOE-001.yaml", copy)
    answer = three("doctor")
    assert (answer.code, "MOE-001 (1).yaml" in answer.out) == (1, True)
    healthy()
    assert ids(book) == ["MOE-000.yaml", "MOE-001.yaml", "MOE-002.yaml"]
    [kept] = (book / "backups").rglob("MOE-001 (1).yaml")
    assert "entry 1" in kept.read_text()


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


def test_a_cut_off_renumbering_is_gone_on_with(three: Cli, book: Path, healthy: Callable[[], None]) -> None:
    """The new entry was written, and the copy not yet removed."""
    text = (book / "entries/MOE-001.yaml").read_text().replace("entry 1", "mine")
    (book / "entries/MOE-001 (1).yaml").write_text(text)
    done = text.replace("id: MOE-001", "id: MOE-003") + "aliases: [MOE-001]\n"
    (book / "entries/MOE-003.yaml").write_text(done)
    healthy()
    assert ids(book) == ["MOE-000.yaml", "MOE-001.yaml", "MOE-002.yaml", "MOE-003.yaml"]
    assert (book / "entries/MOE-003.yaml").read_text() == done


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
def test_an_id_written_otherwise(three: Cli, book: Path, healthy: Callable[[], None]) -> None:
    """The doctor says what to write, and does the rest."""
    path = book / "entries/MOE-0005.yaml"
    path.write_text((book / "entries/MOE-002.yaml").read_text().replace("MOE-002", "MOE-0005"))
    assert "`id: MOE-005`" in three("doctor", "--fix").out
    path.write_text(path.read_text().replace("MOE-0005", "MOE-005"))
    healthy()
    assert three("show", "MOE-005", "--json").data["title"] == "entry 2"


@pytest.mark.slow
def test_void_ids_are_a_note(three: Cli, book: Path, findings: Callable[..., Found]) -> None:
    owner = {"host": os.uname().nodename, "pid": 2**22 + 1, "root": str(book.parent), "at": "x"}
    (book.parent / ".ids/MOE/MOE-003").write_text(json.dumps(owner))
    [found] = findings()
    assert (found["check"], found["severity"], found["items"]) == ("void", "note", ["MOE-003"])
