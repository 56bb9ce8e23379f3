"""`logbook render --absorb` as a command: which blocks, dry runs, JSON, and what it refuses as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.entries.test_absorb_entry import Edit, at, book, edit, fields_of, view

pytestmark = pytest.mark.slow

__all__ = ["book", "edit", "view"]  # fixtures


def test_dry_run_shows_a_diff_and_changes_nothing(book: Cli, folder: Path, view: Path, edit: Edit) -> None:
    edit("- a\n", "- a is new\n")
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    answer = book("render", "--absorb", "--dry-run")
    assert answer.code == 0
    assert answer.out == (
        "would absorb MOE-001: How\n"
        "--- MOE-001 as recorded\n"
        "+++ MOE-001 as edited\n"
        "@@ -4,3 +4,3 @@\n"
        " - How:\n"
        "-  - a\n"
        "+  - a is new\n"
        "   - b\n"
    )
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before
    data = book("render", "--absorb", "--dry-run", "--json").data
    assert data["dry_run"] is True
    assert "+  - a is new" in data["absorbed"][0]["diff"]
    assert book("render", "--absorb").out == "absorbed MOE-001: How\n"
    assert fields_of(folder, "MOE-001")["How"] == "- a is new\n- b"


def test_json(book: Cli, folder: Path, view: Path, edit: Edit) -> None:
    edit("fast indeed", "slow")
    edit("tflops: 2.500", "tflops: 3")
    edit("because", "why not")
    answer = book("render", "--absorb", "--json")
    assert answer.code == 1
    assert answer.data["refused"][0]["why"].startswith(f"{at(view, 'tflops: 3')} (- tflops: 3 TF/s): Result ")
    assert answer.data == {
        "view": str(view),
        "dry_run": False,
        "absorbed": [{"id": "MOE-000", "changed": ["Interpretation"]}, {"id": "MOE-001", "changed": ["Why"]}],
        "refused": [
            {
                "id": "MOE-000",
                "why": answer.data["refused"][0]["why"],
            }
        ],
    }


def test_header_and_footer_are_changed_elsewhere(book: Cli, folder: Path, view: Path, edit: Edit) -> None:
    assert book("note", "--title", "Go", "--kind", "decision", "--field", "Decision=we go").code == 0
    edit("# moe: Research Logbook", "# My logbook")
    edit("MOE-002 Go: we go", "MOE-002 Go: we stay")
    before = view.read_bytes()
    answer = book("render", "--absorb")
    assert answer.code == 1
    header, footer = answer.out.splitlines()
    assert header.startswith("not absorbed header: ")
    assert "logbook edit without ID" in header
    assert footer.startswith("not absorbed footer: ")
    assert view.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("<<<<<<< ours\n=======\n>>>>>>> theirs\n", "moe.md"),
        ("<!-- logbook:end MOE-005 -->\n", "moe.md, line 1: the end marker of MOE-005"),
    ],
)
def test_a_view_that_cannot_be_read_is_an_error(
    book: Cli, folder: Path, view: Path, edit: Edit, change: str, message: str
) -> None:
    edit("fast indeed", "slow")
    view.write_text(change + view.read_text())
    before = view.read_bytes()
    answer = book("render", "--absorb")
    assert answer.code == 3
    assert f"error: {message}" in answer.err
    assert "next:  " in answer.err
    assert view.read_bytes() == before
    assert fields_of(folder)["Interpretation"] == "fast indeed"
