"""Numbers where an entry cites them: in the view, on the page, in the issue."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.stored import at

pytestmark = pytest.mark.slow
CITED = '<abbr title="[[MOE-000 tflops]]">12.500 TF/s</abbr>'


def test_prose_shows_the_number_and_keeps_the_citation(started: Cli, folder: Path) -> None:
    assert started("run", "--", "echo", "METRIC tflops=12.5 TF/s").code == 0
    text = "Interpretation=It reaches [[MOE-000 tflops]]; `[[MOE-000 tflops]]` cites it."
    assert started("note", "--title", "T", "--field", text).code == 0
    view, entry = folder / "logbooks/moe.md", at(folder / "logbooks/moe/entries/MOE-001.yaml")
    line = f"- Interpretation: It reaches {CITED}; `[[MOE-000 tflops]]` cites it."
    assert line in view.read_text()
    assert "It reaches 12.500 TF/s; `[[" in started("show", "MOE-001").out
    assert "It reaches [[MOE-000 tflops]]; `[[" in entry.read_text()
    # An edit of the entry's file is shown by the next command.
    entry.write_text(entry.read_text().replace("It reaches", "It does reach"))
    assert started("edit", "MOE-000", "--next", "x").code == 0
    assert "It does reach [[MOE-000 tflops]]; `[[" in entry.read_text()
    assert f"It does reach {CITED}; `[[" in view.read_text()
    assert started("doctor").code == 0
    # An earlier entry may cite a later one.
    assert started("run", "--", "echo", "METRIC tflops=99 TF/s").code == 0
    assert started("edit", "MOE-000", "--next", "beat [[MOE-002 tflops]]").code == 0
    assert 'beat <abbr title="[[MOE-002 tflops]]">99.000 TF/s</abbr>' in view.read_text()
    assert started("note", "--title", "Corrected", "--supersedes", "MOE-002").code == 0
    assert "(MOE-002 is superseded by MOE-003)" in view.read_text()
    assert started("doctor").code == 0
    # The number follows the record, as does what became of its entry.
    assert started("run", "--id", "MOE-000", "--", "echo", "METRIC tflops=13.5 TF/s").code == 0
    assert '<abbr title="[[MOE-000 tflops]]">13.000 TF/s</abbr>' in view.read_text(), "the median of both"
    assert started("edit", "MOE-000", "--state", "void", "--reason", "wrong").code == 0
    assert '<abbr title="[[MOE-000 tflops]]">(MOE-000 is void)</abbr>' in view.read_text()
    assert started("doctor").code == 0
    assert started("edit", "MOE-000", "--state", "computed").code == 0
    assert started("sync", "--offline", "out").code == 0
    for name in ("issue.md", "update-01.md"):
        assert "It does reach 13.000 TF/s" in (folder / "out" / name).read_text()
    assert started("report", "--out", "site").code == 0
    assert "It does reach 13.000 TF/s" in (folder / "site/moe.html").read_text()


def test_a_citation_without_a_number_is_refused_and_nothing_is_written(started: Cli, folder: Path) -> None:
    assert started("run", "--", "sh", "-c", "echo METRIC tflops=12.5 TF/s; echo METRIC tokens_per_s=7").code == 0
    two = "echo RESULT mode=a tflops=1; echo RESULT mode=b tflops=2"
    assert started("run", "--", "sh", "-c", two).code == 0
    assert started("edit", "MOE-000", "--next", "x").code == 0
    records = folder / "logbooks/moe"
    before = sorted((path.name, path.read_bytes()) for path in records.rglob("*") if path.is_file())
    for citation, hint in (
        ("MOE-000", "write [[MOE-000 METRIC]]"),
        ("MOE-000 tflop", "write [[MOE-000 tflops]]"),
        ("MOE-000 vs base tflops", "write [[MOE-000 tflops]]"),
        ("MOE-001 tflops", "write [[MOE-001 tflops@mode=a]]"),
        ("MOE-007 tflops", "[[ID vs base METRIC]]"),
        ("XYZ-000 tflops", "[[ID METRIC@VALUE]]"),
    ):
        error = started("note", "--json", "--title", "T", "--interpretation", f"so it is [[{citation}]]").error
        assert (error["code"], error["message"]) == ("usage", f"[[{citation}]] cannot be filled in")
        assert error["cause"]
        assert hint in error["hint"]
        if hint.startswith("write") and "METRIC" not in hint:
            (folder / "cited.md").write_text(error["hint"].removeprefix("write "))
            assert started("cite", "cited.md").code == 0
    text = "so it is [[MOE-000 tflop]]"
    for words in (
        ["note", "--kind", "decision", text],
        ["edit", "MOE-000", "--next", text],
        ["run", "--interpretation", text, "--", "touch", "ran"],
        ["ab", "--axis", "n=1,2", "--hypothesis", text, "--", "touch", "ran{axis}"],
        ["keep", "MOE-000", "--why", text],
        ["status", "--summary", text],
    ):
        answer = started(*words)
        assert answer.code == 2, words
        assert "error: [[MOE-000 tflop]] cannot be filled in\n" in answer.err
        assert answer.err.endswith("next:  write [[MOE-000 tflops]]\n")
    assert not [*folder.glob("ran*")]
    assert sorted((path.name, path.read_bytes()) for path in records.rglob("*") if path.is_file()) == before
    # What is no citation is a text like others, and so is one in code.
    assert started("note", "--title", "T", "--next", "see [[wiki page]] and `[[MOE-007 tflops]]`").code == 0


def test_a_change_against_the_base_of_a_comparison(started: Cli, folder: Path) -> None:
    sides = ["sh", "-c", "echo METRIC tflops={axis}.$LOGBOOK_RUN"]
    assert started("ab", "--axis", "size=10,20", "--pairs", "8", "--seed", "1", "--", *sides).code == 0
    assert started("edit", "MOE-000", "--interpretation", "It gains [[MOE-000 vs base tflops]].").code == 0
    change = started("compare", "MOE-000", "--json").data["answer"]["findings"][0]["change"]
    assert f"It gains +{100 * change:.3g}" in started("show", "MOE-000").out
    assert "vs base" in started("cite", "--help").out
    # Two of its runs are no two sides: the answer is cited instead.
    parts = started("note", "--title", "T", "--interpretation", "[[MOE-000/2 vs MOE-000/1 tflops]]")
    assert (parts.code, "next:  write [[MOE-000 vs base tflops]]\n" in parts.err) == (2, True), parts.err


def test_a_title_shows_the_number_wherever_it_stands(started: Cli, folder: Path) -> None:
    assert started("criteria", "--add", "Someone is content.").code == 0
    assert started("run", "--", "echo", "METRIC tflops=12.5 TF/s").code == 0
    assert started("run", "--title", "Beat the [[MOE-000 tflops]] that we have", "--", "false").code == 1
    note = ("note", "--title", f"{'Long ' * 9}and [[MOE-000 tflops]]", "--next", "beat [[MOE-000 tflops]]")
    assert started(*note).code == 0
    assert started("keep", "MOE-000", "--why", "it has [[MOE-000 tflops]]").code == 0
    assert started("status", "--summary", "So far [[MOE-000 tflops]].").code == 0
    for words in (
        ["list"],
        ["list", "--json"],
        ["list", "--tried"],
        ["status"],
        ["status", "--json"],
        ["next"],
        ["show", "MOE-001/1"],
        ["close", "--dry-run", "--conclusion", "We reach [[MOE-000 tflops]]."],
    ):
        shown = started(*words).out
        assert "[[" not in shown, words
        assert words[0] == "show" or "--tried" in words or "12.500 TF/s" in shown, words
    assert started("sync", "--offline", "out").code == 0
    assert not [path.name for path in (folder / "out").glob("*.md") if "[[" in path.read_text()]
    assert "Beat the [[MOE-000 tflops]]" in at(folder / "logbooks/moe/entries/MOE-001.yaml").read_text()
