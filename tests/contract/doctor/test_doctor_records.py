"""Records that cannot be read, and the text in which all findings are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.doctor.conftest import Found
from tests.contract.e2e.e2e_support import picture
from tests.stored import at

pytestmark = pytest.mark.slow

ENTRY, RUN, HEADER = "entries/MOE-001.yaml", "runs/MOE-001/01/run.json", "logbook.yaml"
# (file, what it becomes, check, line, what the message says, what to type)
DAMAGE: dict[str, tuple[str, str, str, int | None, str, str]] = {
    "yaml": (ENTRY, "format: 2\ntitle: [open\nopened: x\n", "entry", 3, ".yaml, line 3", "correct"),
    "type": (ENTRY, "format: 2\n\ntitle: [3]\nopened: x\n", "entry", 3, "title: expected str", "correct"),
    "nested": (
        ENTRY,
        "format: 2\n\ntitle: t\nopened: x\nfields:\n- {label: a, text: b}\n- label: [c]\n  text: 1\n",
        "entry",
        7,
        "fields[1].label: expected str, got list",
        "correct",
    ),
    "missing": (ENTRY, "format: 2\n", "entry", None, "title: missing", "correct"),
    "newer": (ENTRY, "format: 9\n", "newer-format", None, "up to 2", "upgrade"),
    "format": (ENTRY, "format: 0\n", "entry", None, "format", "correct"),
    "json": (RUN, '{"format": 2,\n "argv": ["ec', "run", 2, "/run.json, line 2", "restore"),
    "shape": (RUN, '{"format": 2,\n "colour": 2}', "run", 2, "colour: unknown key", "correct"),
    "header": (HEADER, "format: 1\ntopic: moe\nprefix: [MOE\n", "header", 4, "moe/logbook.yaml, line 4", "correct"),
    "newer header": (HEADER, "format: 9\n", "newer-format", None, "format 9", "upgrade with"),
}


def test_nothing_is_wrong(three: Cli, book: Path) -> None:
    before = picture(book.parent)
    answer = three("doctor")
    assert (answer.code, answer.out, answer.err) == (0, "moe: nothing is wrong\n", "")
    assert three("doctor", "--fix").out == "moe: nothing is wrong\n"
    assert picture(book.parent) == before


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.sample(4)
def test_a_record_that_cannot_be_read(three: Cli, book: Path, findings: Callable[..., Found], name: str) -> None:
    file, content, check, line, says, mend = DAMAGE[name]
    path = at(book / file)
    path.write_text(content)
    for options in ([], ["--fix"]):
        [found] = [f for f in findings(*options) if f["check"] != "view-block"]
        assert (found["check"], found["severity"], found["line"]) == (check, "error", line)
        assert found["file"] == str(path)
        assert says in found["message"]
        assert found["mend"].startswith(mend)
    assert path.read_text() == content, "what a person has to decide is left alone"


def test_the_text(three: Cli, book: Path) -> None:
    entry = at(book / ENTRY)
    entry.write_text("format: 2\ntitle: [open\nopened: x\n")
    (book / "open").mkdir(exist_ok=True)
    (book / "open/MOE-000_01").write_text("")
    answer = three("doctor", "--fix")
    assert answer.code == 1
    assert answer.out == (
        f"error: logbooks/moe/entries/{entry.name}:3: entries/{entry.name}, line 3, column 7:"
        " did not find expected ',' or ']'\n"
        "  next:  correct that line; text of several lines is safest as a block: `text: |`\n"
        "mended: logbooks/moe/open/MOE-000_01: marks a run as in progress, but there is no record of it\n"
        "  done:  removed\n"
        "moe: 1 mended, 1 error\n"
    )


def test_a_run_that_was_killed_as_it_began_is_mended_in_one_pass(three: Cli, book: Path) -> None:
    name = at(book / ENTRY).stem
    (book / "runs" / name / "07.abcde").mkdir()
    (book / "open").mkdir(exist_ok=True)
    (book / "open" / f"{name}_07.abcde").write_text("1")
    assert three("doctor", "--fix").out.endswith("\nmoe: 2 mended, nothing is wrong\n")
    assert three("doctor").out == "moe: nothing is wrong\n"


def test_other_commands_refuse_a_newer_format(three: Cli, book: Path) -> None:
    header = book / HEADER
    header.write_text(header.read_text().replace("format: 2", "format: 3"))
    for words in (
        ["list"],
        ["status"],
        ["render"],
        ["run", "--", "true"],
        ["note", "--title", "x"],
    ):
        answer = three(*words)
        assert answer.code == 3
        assert all(word in answer.err for word in ("format 3", "pip install --upgrade logbook-agent"))
