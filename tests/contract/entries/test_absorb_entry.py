"""Prose that was edited in the view goes into its entry; everything else is refused and stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.built import built
from tests.contract.views import edited as edited_in
from tests.seams import Store

pytestmark = pytest.mark.slow

Edit = Callable[[str, str], None]


@pytest.fixture
def view(folder: Path) -> Path:
    return folder / "logbooks/moe.md"


@pytest.fixture
def book(cli: Cli, folder: Path, clock: FixedClock) -> Cli:
    """MOE-000: an experiment with a run and prose. MOE-001: a note."""

    def make() -> None:
        for words in (
            ("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s"),
            ("run", "--title", "First", "--hypothesis", "it is fast", "--", "echo", "RESULT tflops=2.5"),
            ("edit", "MOE-000", "--interpretation", "fast indeed", "--next", "again"),
            ("note", "--title", "Kickoff", "--field", "Why=because", "--field", "How=- a\n- b"),
        ):
            assert cli(*words).code == 0

    built("to absorb", folder, make)
    return cli


@pytest.fixture
def edit(view: Path) -> Edit:
    """Replaces the only occurrence of a text in the view, as a person would."""

    def replace(old: str, new: str) -> None:
        text = view.read_text()
        assert text.count(old) == 1
        view.write_text(text.replace(old, new))

    return replace


def fields_of(folder: Path, entry_id: str = "MOE-000") -> dict[str, str]:
    return {f.label: f.text for f in Store(folder).entry(entry_id).fields or []}


def edited(view: Path) -> list[str]:
    return edited_in(view.read_text())


BASE = {"Hypothesis": "it is fast", "Interpretation": "fast indeed", "Next action": "again"}


@pytest.mark.parametrize(
    ("old", "new", "fields", "changed"),
    [
        ("fast indeed", "slow", {**BASE, "Interpretation": "slow"}, "Interpretation"),
        ("fast indeed", "one\n  two", {**BASE, "Interpretation": "one\ntwo"}, "Interpretation"),
        ("fast indeed", "one\nat the margin", {**BASE, "Interpretation": "one\nat the margin"}, "Interpretation"),
        ("fast indeed", "fast\n  indeed", {**BASE, "Interpretation": "fast\nindeed"}, "Interpretation"),
        ("fast indeed", "one  \n  two", {**BASE, "Interpretation": "one  \ntwo"}, "Interpretation"),
        ("again", "again\n\n```sh\n- Not: a label\n```", {**BASE, "Next action": "again\n\n```sh\n- Not: a label\n```"},
         "Next action"),
        ("- Next action: again", "- Next action:", {k: v for k, v in BASE.items() if k != "Next action"},
         "Next action"),
        ("\n- Next action: again", "", {k: v for k, v in BASE.items() if k != "Next action"}, "Next action"),
        ("- Next action: again", "- Observation: warm\n- Next action: again",
         {"Hypothesis": "it is fast", "Interpretation": "fast indeed", "Observation": "warm", "Next action": "again"},
         "Observation"),
        ("- Interpretation: fast indeed", "- Meaning: fast indeed",
         {"Hypothesis": "it is fast", "Meaning": "fast indeed", "Next action": "again"}, "Meaning, Interpretation"),
        ("- Interpretation: fast indeed\n- Next action: again", "- Next action: again\n- Interpretation: fast indeed",
         {"Hypothesis": "it is fast", "Next action": "again", "Interpretation": "fast indeed"}, "order of fields"),
        ("- Interpretation: fast", "- Result: good\n- Interpretation: fast",
         {"Hypothesis": "it is fast", "Result": "good", "Interpretation": "fast indeed", "Next action": "again"},
         "Result"),
        ("- Next action: again", "\n- Next action:  again\n\n", BASE, "nothing new, only its layout differed"),
    ],
)  # fmt: skip
@pytest.mark.sample(7)
def test_prose_is_taken(
    book: Cli, folder: Path, view: Path, edit: Edit, old: str, new: str, fields: dict[str, str], changed: str
) -> None:
    edit(old, new)
    answer = book("render", "--absorb")
    assert (answer.code, answer.out) == (0, f"absorbed MOE-000: {changed}\n")
    assert list(fields_of(folder).items()) == list(fields.items())
    assert edited(view) == []
    text = view.read_text()
    assert book("render").err == ""
    assert view.read_text() == text, "the tool writes the same"
    assert book("render", "--absorb").out == "nothing to absorb: no block of moe.md was edited by hand\n"


def at(view: Path, near: str) -> str:
    """`line N` where this text first stands in the view."""
    text = view.read_text()
    return f"line {text.count(chr(10), 0, text.index(near)) + 1}"


@pytest.mark.parametrize(
    ("old", "new", "near", "named"),
    [
        ("2.500", "9.500", "9.500", "Result"),
        ("  - tflops: 2.500 TF/s", "  - tflops: 2.500 TF/s\nso fast!", "so fast!", "Result"),
        ("- Command: `echo 'RESULT tflops=2.5'`\n", "", "- Hypothesis", "Command"),
        ("MOE-000 First", "MOE-007 First", "MOE-007", "MOE-007"),
        ("10:43 - MOE-000", "10:44 - MOE-000", "10:44", "10:44"),
        ("MOE-000 First (", "MOE-000  (", "MOE-000  (", "title"),
        (" First (confidence: exploratory)", " First", "MOE-000 First", "exploratory"),
        ("(confidence: exploratory)", "(confidence: sure)", "MOE-000 First", "sure"),
    ],
)
@pytest.mark.sample(4)
def test_what_the_tool_wrote_is_refused_and_the_rest_taken(
    book: Cli, folder: Path, view: Path, edit: Edit, old: str, new: str, near: str, named: str
) -> None:
    edit(old, new)
    edit("again", "never again")
    before = view.read_text()
    answer = book("render", "--absorb")
    assert answer.code == 1
    taken, refused = answer.out.splitlines()
    assert taken == "absorbed MOE-000: Next action"
    assert refused.startswith(f"not absorbed MOE-000: {at(view, near)}")
    assert named in refused
    assert "logbook render --discard-edits" in answer.err
    assert fields_of(folder) == {**BASE, "Next action": "never again"}
    marker = before.split("\n").index(next(line for line in before.split("\n") if "block MOE-000" in line))
    assert view.read_text().split("\n")[marker + 1 :] == before.split("\n")[marker + 1 :], "its text is as it was"
    assert edited(view) == ["MOE-000"]
    edit("never again", "now")
    assert book("render", "--absorb").out == f"{taken}\n{refused}\n"
    view.write_text(view.read_text().replace(new, old) if new else view.read_text().replace("fast\n", f"fast\n{old}"))
    assert book("render", "--absorb").code == 0
    assert edited(view) == []
    assert fields_of(folder) == {**BASE, "Next action": "now"}


@pytest.mark.parametrize(
    ("old", "new", "near"),
    [
        ("### 2026-02-10 10:43 - MOE-000", "### MOE-000", "### MOE-000"),
        ("- Hypothesis: it", "it", "it is fast"),
    ],
)
def test_a_block_that_cannot_be_read_is_left_alone(
    book: Cli, folder: Path, view: Path, edit: Edit, old: str, new: str, near: str
) -> None:
    edit(old, new)
    before = view.read_bytes()
    answer = book("render", "--absorb")
    assert answer.code == 1
    assert answer.out.startswith(f"not absorbed MOE-000: {at(view, near)}: ")
    assert view.read_bytes() == before
    assert fields_of(folder) == BASE


def test_an_entry_that_changed_meanwhile_keeps_both_changes(book: Cli, folder: Path, view: Path, edit: Edit) -> None:
    edit("fast indeed", "slow")
    edit("(confidence: exploratory)", "(confidence: stable)")
    assert book("edit", "MOE-000", "--next", "from the command line", "--field", "New=one").code == 0
    assert book("run", "--id", "MOE-000", "--", "echo", "RESULT tflops=3.5").code == 0
    assert book("note", "--title", "Correction", "--supersedes", "MOE-000").code == 0
    assert edited(view) == ["MOE-000"]
    answer = book("render", "--absorb")
    assert (answer.code, answer.out) == (0, "absorbed MOE-000: confidence, Interpretation\n")
    assert fields_of(folder) == {
        "Hypothesis": "it is fast", "Interpretation": "slow", "Next action": "from the command line", "New": "one",
        **({"Result": ""} if "Result" in fields_of(folder) else {}),
    }  # fmt: skip
    assert edited(view) == []
    text = view.read_text()
    assert "3.5" in text
    assert "- Superseded by: MOE-002" in text
