"""The pure parts: ladder, lines, progress; and where a command is."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.model.errors import CommandNotFound, NotExecutable, UsageError
from logbook_agent.running.launch.process import Graces
from logbook_agent.running.launch.signals import Ladder
from logbook_agent.running.prepare import prepare
from logbook_agent.running.programs import resolve
from logbook_agent.running.results.result_lines import LineSplitter
from logbook_agent.store.workspace import Workspace

INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL


def ladder() -> Ladder:
    return Ladder(Graces(interrupt_s=5, terminate_s=3, kill_s=2))


def test_ladder_asks_insists_kills() -> None:
    steps_taken = ladder()
    assert steps_taken.due(0) is None
    assert not steps_taken.begun
    steps_taken.begin(10)
    sent = {t / 2: s for t in range(20, 45) if (s := steps_taken.due(t / 2)) is not None}
    assert sent == {10: INT, 15: TERM, 18: KILL}
    assert not steps_taken.exhausted(19.9)
    assert steps_taken.exhausted(20)


LINES = ["RESULT a=1", "", "50%\r100%", "\x1b[31mred\x1b[0m", "ünï\u2028", "nul\x00"]


@given(st.lists(st.sampled_from(LINES)), st.lists(st.integers(1, 7)))
def test_lines_do_not_depend_on_chunks(lines: list[str], sizes: list[int]) -> None:
    data = "\n".join(lines).encode()
    splitter = LineSplitter()
    found: list[str] = []
    at = 0
    for size in [*sizes, len(data)]:
        found += splitter.feed(data[at : at + size])
        at += size
    found += splitter.finish()
    bare = "\n".join(lines).replace("\x1b[31m", "").replace("\x1b[0m", "")
    assert found == [s for line in bare.split("\n") for s in line.split("\r") if s]


def test_lines_drop_what_is_too_long() -> None:
    splitter = LineSplitter(max_line_bytes=10)
    assert splitter.feed(b"x" * 8) == []
    assert splitter.feed(b"x" * 8) == []
    assert splitter.feed(b"x\nshort\n" + b"y" * 11 + b"\nalso\nrest") == ["short", "also"]
    assert splitter.dropped == 2
    assert splitter.finish() == ["rest"]


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_resolve_on_path_and_by_path(tmp_path: Path) -> None:
    first, second = program(tmp_path / "a" / "tool"), program(tmp_path / "b" / "tool")
    env = {"PATH": f"{tmp_path}/none:{tmp_path}/a:{tmp_path}/b"}
    assert resolve(["tool", "x"], env, tmp_path) == str(first)
    assert resolve(["b/tool"], env, tmp_path) == str(second)
    assert resolve([str(second)], {}, tmp_path) == str(second)
    assert resolve(["tool"], {"PATH": "b"}, tmp_path) == str(second)


def test_a_folder_that_is_searched_first_comes_before_path(tmp_path: Path) -> None:
    """The benchmark that is run is the one that logbook was installed with."""
    for name in ("own", "other"):
        tool = tmp_path / name / "bench-core"
        tool.parent.mkdir()
        tool.touch(mode=0o755)
    workspace = Workspace(cwd=tmp_path, environ={"PATH": str(tmp_path / "other")})
    for first, found in ((None, "other"), (tmp_path / "own", "own"), (tmp_path, "other")):
        command = prepare(workspace, ["bench-core"], search_first=first)
        assert command.executable == str(tmp_path / found / "bench-core")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["benhc"], "did you mean bench?"),
        (["cd", "x"], "bash -lc 'cd x'"),
        (["python bench.py --x"], "--shell"),
        (["here"], "./here"),
        (["./missing"], "ls ."),
        (["zzzzqqq"], "command -v zzzzqqq"),
    ],
)
def test_not_found_says_what_to_type(tmp_path: Path, argv: list[str], says: str) -> None:
    program(tmp_path / "bin" / "bench")
    program(tmp_path / "here")
    with pytest.raises(CommandNotFound) as error:
        resolve(argv, {"PATH": str(tmp_path / "bin")}, tmp_path)
    assert says in error.value.hint
    assert error.value.cause
    assert error.value.exit_code == 127


def test_not_executable_says_what_to_type(tmp_path: Path) -> None:
    script = program(tmp_path / "bin" / "bench.py", 0o644)
    with pytest.raises(NotExecutable) as on_path:
        resolve(["bench.py"], {"PATH": str(tmp_path / "bin")}, tmp_path)
    assert on_path.value.hint == f"python {script}"
    with pytest.raises(NotExecutable) as folder:
        resolve(["./bin"], {}, tmp_path)
    assert "directory" in folder.value.cause
    with pytest.raises(UsageError):
        resolve([], {}, tmp_path)
