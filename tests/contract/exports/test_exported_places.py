"""Where an export is written: whole or not at all, and never over something that is not one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.exports import commands as writing
from tests.conftest import Cli
from tests.unit.exports.exported_support import full

pytestmark = pytest.mark.slow


@pytest.fixture
def filled(cli: Cli, folder: Path) -> Cli:
    full(folder / "logbooks")
    return cli


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_an_export_replaces_an_earlier_one_and_nothing_else(filled: Cli, folder: Path, form: str) -> None:
    words = ["export", "--as", form, "--out", f"rows.{form}"]
    first = filled(*words)
    assert first.code == 0, first.err
    assert first.out.splitlines()[0] == f"7 rows of 6 entries as {form}: {folder}/rows.{form}"
    before = (folder / f"rows.{form}").read_bytes()
    assert filled(*words).code == 0
    assert (folder / f"rows.{form}").read_bytes() == before
    # With a column of somebody's, and by none of ours.
    more = [before.replace(b"\r\n", b",mine\r\n")]
    for theirs in (b"", b"a,b\r\n1,2\r\n", b"{}", b"PAR1", b"x" * 2**18, *(more if form == "csv" else ())):
        (folder / "theirs").write_bytes(theirs)
        answer = filled("export", "--as", form, "--out", "theirs")
        assert answer.code == 2
        assert answer.err.splitlines() == [
            f"error: {folder}/theirs exists and is not an earlier {form} export",
            "  cause: an export replaces only an earlier export of the same form",
            "  next:  choose another --out, or move that one away",
        ]
        assert (folder / "theirs").read_bytes() == theirs
    (folder / "link").symlink_to(f"rows.{form}")
    assert filled("export", "--as", form, "--out", "link").code == 2
    assert names(folder) == ["link", "logbooks", f"rows.{form}", "theirs"]


@pytest.mark.parametrize(
    "saved",
    [
        lambda data: data.replace(b"\r\n", b"\n"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"entry,run", b'"entry","run"', 1),
        lambda data: data.replace(b",", b";"),
    ],
    ids=["ends of lines", "mark of UTF-8", "quotes", "semicolons"],
)
def test_a_table_that_another_program_saved_is_not_replaced(
    filled: Cli, folder: Path, saved: Callable[[bytes], bytes]
) -> None:
    assert filled("export", "--as", "csv", "--out", "rows.csv").code == 0
    path = folder / "rows.csv"
    path.write_bytes(saved(path.read_bytes()))
    before = path.read_bytes()
    answer = filled("export", "--as", "csv", "--out", "rows.csv")
    assert (answer.code, "is not an earlier csv export" in answer.err) == (2, True)
    assert path.read_bytes() == before


def test_without_a_path_it_lies_beside_the_records_where_git_ignores_it(filled: Cli, folder: Path) -> None:
    answer = filled("export", "--as", "csv", "--json")
    place = folder / "logbooks/moe/exports"
    assert answer.data["path"] == str(place / "moe.csv")
    assert names(place) == [".gitignore", "moe.csv"]
    assert (place / ".gitignore").read_text().splitlines()[-1] == "*"
    assert answer.data["rows"] == 7
    assert answer.data["counting"] == 3
    assert answer.data["left_out"] == {
        "runs_without_rows": 1,
        "predicted_rows": 0,
        "not_asked_for": 0,
        "damaged_entries": [],
    }
    assert filled("render").code == 0
    assert filled("doctor").out == "moe: nothing is wrong\n"
    assert filled("list").code == 0


def test_an_export_folder_that_is_a_link_is_not_followed(filled: Cli, folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "logbooks/moe/exports").symlink_to(folder / "elsewhere")
    answer = filled("export", "--as", "csv")
    assert answer.code == 3, answer.err
    assert "link" in answer.err
    assert names(folder / "elsewhere") == []


def test_stdout(filled: Cli) -> None:
    answer = filled("export", "--as", "csv", "--out", "-", "MOE-003")
    assert answer.out.startswith("entry,run,row,counts,why_not,")
    assert answer.out.count("\r\n") == 2
    assert answer.err == "1 row does not count (see column why_not)\n"
    document = json.loads(filled("export", "--as", "json", "--out", "-").out)
    assert (document["schema"], len(document["rows"])) == ("logbook-rows/1", 7)
    for words, message in (
        (["--as", "parquet"], "error: --out - cannot take parquet"),
        (["--as", "csv", "--json"], None),
        (["--as", "xls"], "error: unknown form 'xls'"),
    ):
        refused = filled("export", "--out", "-", *words)
        assert refused.code == 2
        assert refused.err.splitlines()[:1] == ([message] if message is not None else [])


def test_a_file_that_fails_half_way_leaves_what_was_there(
    filled: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert filled("export", "--as", "csv", "--out", "rows.csv").code == 0
    before = (folder / "rows.csv").read_bytes()

    def failing(*_: object) -> object:
        yield b"entry,run,row,counts,why_not,"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "pieces", failing)
    answer = filled("export", "--as", "csv", "--out", "rows.csv")
    assert answer.code == 3
    assert "No space left on device" in answer.err
    assert (folder / "rows.csv").read_bytes() == before
    assert names(folder) == ["logbooks", "rows.csv"]
