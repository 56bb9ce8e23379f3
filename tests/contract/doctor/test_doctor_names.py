"""Names of entry files, numbers that two entries have, and IDs that became no entry."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.doctor.conftest import Found
from tests.stored import at

pytestmark = pytest.mark.slow


def test_a_copy_is_no_entry(three: Cli, book: Path, findings: Callable[..., Found]) -> None:
    path = at(book / "entries/MOE-001.yaml")
    copy = book / "entries/MOE-001 (1).yaml"
    copy.write_text(path.read_text())
    for options in ([], ["--fix"]):
        [found] = [f for f in findings(*options) if f["severity"] != "note"]
        assert (found["check"], found["file"], found["mended"]) == ("entry-name", str(copy), None)
        assert "move it out of entries/" in found["mend"]
    assert [line["id"] for line in three("list", "--json").data] == ["MOE-000", "MOE-001", "MOE-002"]


@pytest.mark.parametrize("old", ["moe-1{uid}.yaml", "MOE-0001{uid}.yaml"])
def test_a_name_that_is_written_otherwise(
    three: Cli, folder: Path, book: Path, findings: Callable[..., Found], healthy: Callable[[], None], old: str
) -> None:
    good = at(book / "entries/MOE-001.yaml")
    good.rename(book / "entries" / old.format(uid=good.stem.removeprefix("MOE-001")))
    [found] = [f for f in findings() if f["check"] == "entry-name"]
    assert good.name in found["message"]
    subprocess.run(shlex.split(found["mend"]), cwd=folder, check=True)
    healthy()
    assert three("show", "MOE-001", "--json").data["runs"], "its run is found again"


def test_equal_numbers_are_a_note(three: Cli, book: Path, findings: Callable[..., Found]) -> None:
    """One entry from this clone, one from another, and one that somebody wrote by hand."""
    mine = at(book / "entries/MOE-001.yaml")
    for name in ("MOE-001.7hq2m", "MOE-001"):
        (book / f"entries/{name}.yaml").write_text(mine.read_text())
    assert three("render").code == 0
    [found] = findings()
    twins = sorted(["MOE-001", "MOE-001.7hq2m", mine.stem])
    assert (found["check"], found["severity"], found["items"]) == ("twins", "note", twins)
    assert [line["id"] for line in three("list", "--json").data] == ["MOE-000", *twins, "MOE-002"]


def test_void_ids_are_a_note(three: Cli, book: Path, findings: Callable[..., Found]) -> None:
    owner = {"host": os.uname().nodename, "pid": 2**22 + 1, "root": str(book.parent), "at": "x"}
    (book.parent / ".ids/MOE/MOE-003").write_text(json.dumps(owner))
    [found] = findings()
    assert (found["check"], found["severity"], found["items"]) == ("void", "note", ["MOE-003"])


def test_an_entry_of_another_branch_is_no_gap(
    cli: Cli, git: Callable[..., str], folder: Path, findings: Callable[..., Found]
) -> None:
    assert cli("start", "moe", "--prefix", "MOE").code == 0
    git("add", ".")
    git("commit", "-q", "-m", "The logbook")
    git("checkout", "-q", "-b", "idea")
    assert cli("note", "--title", "A note").code == 0
    git("add", ".")
    git("commit", "-q", "-m", "A note")
    git("checkout", "-q", "-")
    [found] = findings()
    assert (found["check"], found["items"]) == ("void", ["MOE-000"])
    assert found["message"] == "MOE-000: on idea, which is not merged here"
