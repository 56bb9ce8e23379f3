"""The view: what was edited, what is out of date, what a merge left."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Cli
from tests.contract.doctor.conftest import Found


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
    entry = book / "entries/MOE-001.yaml"
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

    entry = book / "entries/MOE-001.yaml"
    entry.write_text(entry.read_text().replace("entry 1", "new words"))
    assert stale() == ["MOE-001"]
    healthy()
    # What an entry says of another follows from that one's file.
    later = book / "entries/MOE-002.yaml"
    later.write_text(f"{later.read_text()}supersedes: MOE-000\n")
    assert stale() == ["MOE-000", "MOE-002"]
    healthy()
    run = book / "runs/MOE-000/01/run.json"
    run.write_text(run.read_text().replace('"value": 1', '"value": 7').replace("1.0", "7.0"))
    assert stale() == ["MOE-000"]
    healthy()
    (book.parents[1] / "logbook.toml").write_text('templates = "templates"\n')
    templates = book.parents[1] / "templates"
    templates.mkdir()
    own = (REPOSITORY / "templates/entry.md.j2").read_text()
    (templates / "entry.md.j2").write_text(f"{own}\nof ours\n")
    assert stale() == ["MOE-000", "MOE-001", "MOE-002"]


@pytest.mark.slow
def test_blocks_that_are_missing_or_too_many(
    three: Cli, book: Path, view: Path, findings: Callable[..., Found], healthy: Callable[[], None]
) -> None:
    good = view.read_text()
    start = good.index("<!-- logbook:block MOE-001")
    end = good.index("<!-- logbook:block MOE-002")
    view.write_text(good[:start] + good[end:])
    [found] = findings()
    assert found["items"] == ["MOE-001"]
    healthy()
    assert view.read_text() == good
    (book / "entries/MOE-002.yaml").unlink()
    (book / "runs/MOE-002/01/output.log").unlink()
    (book / "runs/MOE-002/01/run.json").unlink()
    [found] = findings()
    assert found["items"] == ["MOE-002"]
    healthy()
    assert "MOE-002" not in view.read_text()


def test_a_view_with_conflict_markers_is_built_anew(
    three: Cli, book: Path, view: Path, healthy: Callable[[], None]
) -> None:
    good = view.read_text()
    view.write_text(good.replace("### ", "<<<<<<< ours\n### ", 1))
    assert three("doctor").code == 1
    healthy()
    assert view.read_text() == good
    assert len(list((book / "backups").glob("moe.*.md"))) == 1


@pytest.mark.parametrize(("new", "name"), [("", "MOE-001"), ("<!-- logbook:end MOE-000 -->", "MOE-000")])
@pytest.mark.slow
def test_markers_that_do_not_pair_are_left_to_a_person(three: Cli, view: Path, new: str, name: str) -> None:
    good = view.read_text()
    view.write_text(good.replace("<!-- logbook:end MOE-001 -->", f"my own words\n{new}", 1))
    broken = view.read_text()
    answer = three("doctor")
    assert answer.code == 1
    assert name in answer.out
    assert three("doctor", "--fix").code == 1
    assert "my own words" in view.read_text()
    assert three("render").code == 0
    assert broken.partition("my own words")[0] in view.read_text()
    assert three("render", "--discard-edits").code == 0
    assert view.read_text() == good


def test_a_view_that_cannot_be_written(
    three: Cli, view: Path, findings: Callable[..., Found], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is full."""

    def full(self: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))

    view.unlink()
    monkeypatch.setattr(Path, "replace", full)
    [found] = findings("--fix")
    assert found["mended"] is None
    assert os.strerror(errno.ENOSPC) in found["mend"]


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


def test_line_ends_of_other_systems_are_no_edits(started: Cli, folder: Path) -> None:
    header = folder / "logbooks/moe/logbook.yaml"
    assert started("criteria", "--add", "One").code == 0
    header.write_text(header.read_text().replace("text: One", 'text: "\\r\\none\\rtwo"'))
    assert started("render").code == 0
    assert started("doctor").out == "moe: nothing is wrong\n"
