"""The view: changed, out of date, missing."""

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


def test_a_view_that_was_changed(three: Cli, view: Path, findings: Callable[..., Found]) -> None:
    good = view.read_text()
    view.write_text(good.replace("MOE-001 entry 1", "MOE-001 mine"))
    [found] = findings()
    assert (found["check"], found["severity"], found["message"]) == (
        "view", "warning", "the view was changed by hand or by a merge",
    )  # fmt: skip
    answer = three("doctor", "--fix")
    assert (answer.code, view.read_text()) == (0, good)
    kept = Path(answer.err.rpartition(" is in ")[2].strip())
    assert "MOE-001 mine" in kept.read_text()


@pytest.mark.slow
def test_blocks_that_are_out_of_date(three: Cli, book: Path, view: Path, healthy: Callable[[], None]) -> None:
    entry = at(book / "entries/MOE-001.yaml")
    entry.write_text(entry.read_text().replace("entry 1", "new words"))
    answer = three("doctor")
    assert answer.code == 1
    assert answer.out.startswith("warning: logbooks/moe.md: the view is out of date: MOE-001\n")
    assert all(command in answer.out for command in ("logbook render", "logbook doctor --fix"))
    healthy()
    assert "MOE-001 new words" in view.read_text()


@pytest.mark.slow
def test_whatever_a_block_follows_from_is_seen(
    three: Cli, book: Path, findings: Callable[..., Found], healthy: Callable[[], None]
) -> None:
    def stale() -> list[str]:
        return [name for f in findings() if f["check"] == "view" for name in f["items"]]

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


def test_a_hint_names_the_logbook_where_there_are_several(started: Cli, folder: Path) -> None:
    assert started("start", "other", "--prefix", "OTH").code == 0
    (folder / "logbooks/moe.md").unlink()
    assert "logbook -L moe render, or logbook -L moe doctor --fix" in started("doctor", "-L", "moe").out
    assert "next: logbook -L moe render" in started("render", "--check", "-L", "moe").err
    assert started("doctor", "-L", "moe", "--fix").code == 0
