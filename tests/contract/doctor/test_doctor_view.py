"""The view: what was edited, what is out of date, what a merge left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Cli
from tests.contract.doctor.conftest import Found
from tests.stored import at


@pytest.fixture
def view(book: Path) -> Path:
    return book.parent / "moe.md"


def test_a_block_edited_by_hand(three: Cli, view: Path, findings: Callable[..., Found]) -> None:
    text = view.read_text().replace("MOE-001 entry 1", "MOE-001 mine")
    view.write_text(text)
    for options in ([], ["--fix"]):
        [found] = findings(*options)
        assert (found["check"], found["severity"], found["items"]) == ("edited-block", "warning", ["MOE-001"])
        assert text.split("\n")[found["line"] - 1].startswith("<!-- logbook:block MOE-001 ")
        assert "logbook render --absorb" in found["mend"]
    assert view.read_text() == text


@pytest.mark.slow
def test_blocks_that_are_out_of_date(three: Cli, book: Path, view: Path, healthy: Callable[[], None]) -> None:
    good = view.read_text()
    entry = at(book / "entries/MOE-001.yaml")
    entry.write_text(entry.read_text().replace("entry 1", "new words"))
    answer = three("doctor")
    assert answer.code == 1
    line = good.split("<!-- logbook:block MOE-001")[0].count("\n") + 1
    assert answer.out.startswith(f"warning: logbooks/moe.md:{line}: MOE-001: ")
    assert all(command in answer.out for command in ("logbook render", "logbook doctor --fix"))
    healthy()
    assert "MOE-001 new words" in view.read_text()


@pytest.mark.slow
def test_whatever_a_block_follows_from_is_seen(
    three: Cli, book: Path, findings: Callable[..., Found], healthy: Callable[[], None]
) -> None:
    def stale() -> list[str]:
        return [name for f in findings() if f["check"] == "view-block" for name in f["items"]]

    entry = at(book / "entries/MOE-001.yaml")
    entry.write_text(entry.read_text().replace("entry 1", "new words"))
    assert stale() == ["MOE-001"]
    healthy()
    # What an entry says of another follows from that one's file.
    later = at(book / "entries/MOE-002.yaml")
    later.write_text(f"{later.read_text()}supersedes: MOE-000\n")
    assert stale() == ["MOE-000", "MOE-002"]
    healthy()
    run = at(book / "runs/MOE-000/01/run.json")
    run.write_text(run.read_text().replace('"value": 1', '"value": 7').replace("1.0", "7.0"))
    assert stale() == ["MOE-000"]
    healthy()
    (book.parents[1] / "logbook.toml").write_text('templates = "templates"\n')
    templates = book.parents[1] / "templates"
    templates.mkdir()
    own = (REPOSITORY / "templates/entry.md.j2").read_text()
    (templates / "entry.md.j2").write_text(f"{own}\nof ours\n")
    assert stale() == ["MOE-000", "MOE-001", "MOE-002"]


def test_a_view_with_conflict_markers_is_built_anew(
    three: Cli, book: Path, view: Path, healthy: Callable[[], None]
) -> None:
    good = view.read_text()
    view.write_text(good.replace("### ", "<<<<<<< ours\n### ", 1))
    assert three("doctor").code == 1
    healthy()
    assert view.read_text() == good
    assert len(list((book / "backups").glob("moe.*.md"))) == 1


def test_a_hint_names_the_logbook_where_there_are_several(started: Cli, folder: Path) -> None:
    assert started("note", "--title", "One").code == 0
    assert started("start", "other", "--prefix", "OTH").code == 0
    view = folder / "logbooks/moe.md"
    view.write_text(view.read_text().replace("One", "Two"))
    [found] = started("doctor", "-L", "moe", "--json").data["findings"]
    assert "logbook -L moe render --absorb copies" in found["mend"]
    assert "`logbook -L moe render --absorb`" in started("edit", "MOE-000", "--title", "Three").err
    view.unlink()
    assert "logbook -L moe doctor --fix" in started("doctor", "-L", "moe").out
    assert started("doctor", "-L", "moe", "--fix").code == 0
