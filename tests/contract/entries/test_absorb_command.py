"""`logbook render --absorb` as a command: which blocks, dry runs, JSON, and what it refuses as a whole."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.entries.test_absorb_entry import Edit, at, book, edit, edited, fields_of, view

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
    assert f"{folder}/logbooks/moe/logbook.yaml" in header
    assert footer.startswith("not absorbed footer: ")
    assert view.read_bytes() == before


def test_a_block_without_an_entry_and_a_damaged_entry(book: Cli, folder: Path, view: Path, edit: Edit) -> None:
    own = f"<!-- logbook:block MOE-077 {'0' * 16} -->\n### y\n<!-- logbook:end MOE-077 -->\n"
    view.write_text(f"{view.read_text()}\n{own}")
    (folder / "logbooks/moe/entries/MOE-001.yaml").write_text("format: 1\nid: MOE-001\ntitle: [\n")
    edit("because", "why not")
    edit("fast indeed", "slow")
    answer = book("render", "--absorb")
    assert answer.code == 1
    assert "absorbed MOE-000: Interpretation\n" in answer.out
    assert "not absorbed MOE-001: entries/MOE-001.yaml, line 4" in answer.out
    assert "not absorbed MOE-077: " in answer.out
    assert edited(view) == ["MOE-001", "MOE-077"]


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


def test_a_template_that_cannot_be_read_back_is_an_error(book: Cli, folder: Path, view: Path, edit: Edit) -> None:
    (folder / "templates").mkdir()
    (folder / "templates/entry.md.j2").write_text("### {{ entry.title }}\n{{ entry.id }}\n")
    (folder / "logbook.toml").write_text('templates = "templates"\n')
    assert book("render").code == 0
    edit("### Kickoff", "### Kick")
    before = view.read_bytes()
    answer = book("render", "--absorb")
    assert answer.code == 3
    assert all(word in answer.err for word in ("entry.md.j2", "MOE-001, line 1", "entries/", "logbook render"))
    assert view.read_bytes() == before


def test_a_disk_that_fills_up_between_entry_and_view_loses_nothing(
    book: Cli, folder: Path, view: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target == view:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        return replace(self, target)

    edit("fast indeed", "slow")
    edit("because", "why not")
    before = view.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        assert book("render", "--absorb").code == 3
    assert view.read_bytes() == before
    assert fields_of(folder)["Interpretation"] == "slow"
    assert book("render", "--absorb").code == 0
    assert edited(view) == []
    assert (fields_of(folder)["Interpretation"], fields_of(folder, "MOE-001")["Why"]) == ("slow", "why not")
