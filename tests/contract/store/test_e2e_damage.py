"""Records that somebody broke: the message names file and line, and everything else still works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.views import blocks
from tests.stored import at

pytestmark = pytest.mark.slow

ENTRY, RUN = "logbooks/moe/entries/MOE-001.yaml", "logbooks/moe/runs/MOE-001/01/run.json"
# (file, what it becomes, what the message says)
DAMAGE: dict[str, tuple[str, bytes, str]] = {
    "yaml": (ENTRY, b"format: 2\ntitle: [open\nopened: x\n", ".yaml, line 3"),
    "yaml type": (ENTRY, b"format: 2\ntitle: [3]\nopened: x\n", "title: expected str"),
    "yaml not utf-8": (ENTRY, b"title: \xff\n", ".yaml is not UTF-8"),
    "yaml newer": (ENTRY, b"format: 99\ntitle: t\nopened: x\n", "format 99"),
    "empty yaml": (ENTRY, b"", ".yaml"),
    "run cut off": (RUN, b'{"format": 2,\n "argv": ["ech', "/run.json, line 2"),
    "run empty": (RUN, b"", "/run.json, line 1"),
    "run of another shape": (RUN, b'{"format": 2, "colour": 2}', "/run.json: colour: unknown key"),
    "run is a list": (RUN, b"[]", "/run.json"),
}


@pytest.fixture
def three(started: Cli) -> Cli:
    for n in range(3):
        assert started("run", "--title", f"entry {n}", "--", "echo", f"RESULT tflops={n + 1}").code == 0
    return started


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.sample(2)
@pytest.mark.slow
def test_a_damaged_record(three: Cli, folder: Path, name: str) -> None:
    file, content, says = DAMAGE[name]
    view = folder / "logbooks/moe.md"
    at(folder / file).write_bytes(content)
    for words in (["list"], ["status"], ["render"], ["list", "entry"]):
        answer = three(*words)
        assert answer.code == 0, answer.err
        assert answer.err.count(says) == 1, answer.err
    assert [*blocks(view.read_text())] == ["header", "MOE-000", "MOE-001", "MOE-002"], "what was rendered before stays"
    shown = three("show", "MOE-001")
    assert shown.code == 3
    assert says in shown.err.splitlines()[0]
    assert three("show", "MOE-002").code == 0
    _goes_on(three, view)


def _goes_on(cli: Cli, view: Path) -> None:
    """New entries, and a view that is rebuilt without the damaged one."""
    assert cli("run", "--title", "after", "--", "echo", "RESULT tflops=9").code == 0
    assert [*blocks(view.read_text())][-1] == "MOE-003"
    view.unlink()
    assert cli("note", "--title", "more").code == 0
    assert [*blocks(view.read_text())] == ["header", "MOE-000", "MOE-002", "MOE-003", "MOE-004"]
    answer = cli("note", "--title", "and more")
    assert answer.code == 0
    assert "not rendered" in answer.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("format: 1\ntopic: moe\nprefix: [MOE\n", "moe/logbook.yaml, line 4"),
        ("format: 1\ntopic: moe\nprefix: MOE\n", "moe/logbook.yaml: title: missing"),
        ("format: 99\n", "format 99"),
    ],
)
def test_a_damaged_header(three: Cli, folder: Path, text: str, says: str) -> None:
    (folder / "logbooks/moe/logbook.yaml").write_text(text)
    for words in (["status"], ["list"], ["run", "--", "true"], ["render"], ["show", "MOE-000"]):
        answer = three(*words)
        assert answer.code == 3, answer.err
        assert says in answer.err.splitlines()[0]
        assert answer.err.splitlines()[2].startswith("  next:")
