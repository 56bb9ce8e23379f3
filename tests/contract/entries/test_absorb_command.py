"""`logbook render --absorb` as a command: which blocks, dry runs, JSON, and what it refuses as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.text.marked import render_block
from tests.conftest import Cli
from tests.contract.entries.test_absorb_entry import OWN, Edit, at, book, edit, edited, fields_of, view

pytestmark = pytest.mark.slow

__all__ = ["book", "edit", "view"]  # fixtures


def test_dry_run_shows_a_diff_and_changes_nothing(book: Cli, folder: Path, view: Path, edit: Edit) -> None:
    edit("- a\n", "- a is new\n")
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    answer = book("absorb", "--dry-run")
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
    data = book("absorb", "--dry-run", "--json").data
    assert data["dry_run"] is True
    assert "+  - a is new" in data["absorbed"][0]["diff"]
    assert book("absorb").out == "absorbed MOE-001: How\n"
    assert fields_of(folder, "MOE-001")["How"] == "- a is new\n- b"


def test_json(book: Cli, folder: Path, view: Path, edit: Edit) -> None:
    edit("fast indeed", "slow")
    edit("tflops: 2.500", "tflops: 3")
    edit("because", "why not")
    answer = book("absorb", "--json")
    assert answer.code == 1
    assert answer.data == {
        "view": str(view),
        "dry_run": False,
        "absorbed": [{"id": "MOE-000", "changed": ["Interpretation"]}, {"id": "MOE-001", "changed": ["Why"]}],
        "refused": [
            {
                "id": "MOE-000",
                "why": f"{at(view, 'tflops: 3')} (- tflops: 3 TF/s): Result {OWN}",
            }
        ],
    }


def test_header_and_footer_are_changed_elsewhere(book: Cli, folder: Path, view: Path, edit: Edit) -> None:
    assert book("note", "--title", "Go", "--kind", "decision", "--field", "Decision=we go").code == 0
    edit("# moe: Research Logbook", "# My logbook")
    edit("MOE-002 Go: we go", "MOE-002 Go: we stay")
    before = view.read_bytes()
    answer = book("absorb")
    assert answer.code == 1
    assert answer.out == (
        f"not absorbed header: the header comes from {folder}/logbooks/moe/logbook.yaml: make the change there\n"
        "not absorbed footer: the footer is gathered from the entries: make the change in the entry that it names\n"
    )
    assert view.read_bytes() == before


def test_a_block_without_an_entry_and_a_damaged_entry(book: Cli, folder: Path, view: Path, edit: Edit) -> None:
    view.write_text(f"{view.read_text()}\n{render_block('MOE-077', '### x')}\n".replace("### x", "### y"))
    (folder / "logbooks/moe/entries/MOE-001.yaml").write_text("format: 1\nid: MOE-001\ntitle: [\n")
    edit("because", "why not")
    edit("fast indeed", "slow")
    answer = book("absorb")
    assert answer.code == 1
    assert "absorbed MOE-000: Interpretation\n" in answer.out
    assert "not absorbed MOE-001: entries/MOE-001.yaml, line 4" in answer.out
    assert "not absorbed MOE-077: there is no entry file entries/MOE-077.yaml\n" in answer.out
    assert edited(view) == ["MOE-001", "MOE-077"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("<<<<<<< ours\n=======\n>>>>>>> theirs\n", "moe.md holds conflict markers"),
        ("<!-- logbook:end MOE-005 -->\n", "moe.md, line 1: the end marker of MOE-005 has no begin marker"),
    ],
)
def test_a_view_that_cannot_be_read_is_an_error(
    book: Cli, folder: Path, view: Path, edit: Edit, change: str, message: str
) -> None:
    edit("fast indeed", "slow")
    view.write_text(change + view.read_text())
    before = view.read_bytes()
    answer = book("absorb")
    assert answer.code == 3
    assert f"error: {message}\n" in answer.err
    assert "next:  " in answer.err
    assert view.read_bytes() == before
    assert fields_of(folder)["Interpretation"] == "fast indeed"


def test_a_template_that_cannot_be_read_back_is_an_error(book: Cli, folder: Path, view: Path, edit: Edit) -> None:
    (folder / "templates").mkdir()
    (folder / "templates/entry.md.j2").write_text("### {{ entry.title }}\n{{ entry.id }}\n")
    (folder / "logbook.toml").write_text('templates = "templates"\n')
    assert book("render").code == 0
    edit("### Kickoff", "### Kick")
    before = view.read_bytes()
    answer = book("absorb")
    assert answer.code == 3
    assert answer.err == (
        "error: hand edits cannot be read back through this project's entry.md.j2\n"
        "  cause: MOE-001, line 1 of its rendering: this is not the heading of an entry: `### TIME - ID TITLE`\n"
        "  next:  change the files in entries/ instead, then run: logbook render\n"
    )
    assert view.read_bytes() == before


def test_a_disk_that_fills_up_between_entry_and_view_loses_nothing(
    book: Cli, folder: Path, view: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("cannot write moe.md: No space left on device")

    edit("fast indeed", "slow")
    edit("because", "why not")
    before = view.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("logbook_agent.store.book.Book.write_view", full)
        assert book("absorb").code == 3
    assert view.read_bytes() == before
    assert fields_of(folder)["Interpretation"] == "slow"
    assert book("absorb").code == 0
    assert edited(view) == []
    assert (fields_of(folder)["Interpretation"], fields_of(folder, "MOE-001")["Why"]) == ("slow", "why not")
