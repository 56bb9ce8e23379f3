"""`logbook report` as files: each logbook has a page of its own."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import Cli


def test_a_logbook_by_the_name_of_the_index(cli: Cli, folder: Path) -> None:
    for topic in ("index", "other"):
        assert cli("start", topic, "--prefix", topic.upper(), "--title", f"The {topic}").code == 0
    answer = cli("report", "--out", "site")
    assert answer.out.split() == [f"site/{name}" for name in ("index.html", "index.logbook.html", "other.html")]
    index = (folder / "site/index.html").read_text()
    assert "href=index.logbook.html>The index</a>" in index
    assert "The index" in (folder / "site/index.logbook.html").read_text()


def test_the_timeline_says_what_was_superseded(cli: Cli, folder: Path) -> None:
    assert cli("start", "moe", "--prefix", "MOE").code == 0
    assert cli("note", "--title", "Was wrong").code == 0
    assert cli("note", "--title", "Is right", "--supersedes", "MOE-000").code == 0
    assert cli("report", "--out", "site").code == 0
    timeline = (folder / "site/moe.html").read_text().partition("<section id=timeline")[2].partition("</section>")[0]
    shown = re.sub(r"<[^>]*>", "", timeline)
    assert "MOE-000 Was wrong superseded by MOE-001" in shown
    assert shown.count("superseded") == 1


def test_a_page_of_somebody_else_stays(cli: Cli, folder: Path) -> None:
    assert cli("start", "moe", "--prefix", "MOE").code == 0
    (folder / "docs").mkdir()
    for name in ("index.html", "moe.html"):
        theirs = folder / "docs" / name
        theirs.write_text("<!doctype html><title>Ours</title>")
        answer = cli("report", "--out", "docs")
        assert (answer.code, str(theirs) in answer.err) == (2, True)
        assert [path.name for path in (folder / "docs").iterdir()] == [name], "nothing is half written"
        theirs.unlink()
    for _ in range(2):
        assert cli("report", "--out", "docs").code == 0


def test_a_run_that_goes_on_has_its_entry_and_its_log(started: Cli, folder: Path) -> None:
    """Its log lies outside of the logbook until it ends."""
    waits = "echo RESULT tflops=2; until [ -e go ]; do sleep 0.02; done"
    assert started("run", "--title", "Goes on", "--detach", "--", "sh", "-c", waits).code == 0
    answer = started("report", "--out", "site")
    (folder / "go").touch()
    assert (answer.code, answer.err) == (0, "")
    assert "Goes on" in (folder / "site/moe.html").read_text()
    assert started("wait").code == 0
