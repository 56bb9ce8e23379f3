"""Whoever names an entry sees what it starts: folder, variables and command, before it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.stored import at


@pytest.fixture
def pulled(started: Cli, folder: Path) -> Cli:
    """A planned entry as a branch would bring it."""
    command = "K='a b' sh -c 'echo METRIC tflops=$(echo $K | wc -w)'"
    assert started("note", "--plan", "--title", "x", "--command", f"A: {command}", "--command", "true one").code == 0
    path = at(folder / "logbooks/moe/entries/MOE-000.yaml")
    text = path.read_text()
    assert "one" in text
    path.write_text(text.replace("one", "two"))
    return started


def shown(folder: Path) -> list[str]:
    return [
        f"MOE-000: cd {folder} && K='a b' sh -c 'echo METRIC tflops=$(echo $K | wc -w)'",
        f"MOE-000: cd {folder} && true two",
    ]


def test_a_plan_is_shown_before_it_runs(pulled: Cli, folder: Path) -> None:
    made = pulled("run", "--id", "MOE-000")
    assert (made.code, made.err.splitlines()[:2]) == (0, shown(folder))
    assert pulled("show", "MOE-000", "--json").data["planned"] == []


def test_so_it_is_with_a_label_in_another_folder(pulled: Cli, folder: Path) -> None:
    (folder / "below").mkdir()
    made = pulled("run", "--id", "MOE-000", "--label", "A", "--cwd", "below", "--json")
    assert made.code == 0
    assert made.err.splitlines()[0] == shown(folder / "below")[0]
    assert "true two" not in made.err


def test_a_detached_plan_is_shown_where_it_was_started(pulled: Cli, folder: Path) -> None:
    sent = pulled("run", "--id", "MOE-000", "--detach")
    assert (sent.code, sent.out) == (0, "MOE-000\n")
    assert sent.err.splitlines()[:2] == shown(folder)
    assert pulled("wait", "MOE-000").code == 0


def test_a_sweep_that_is_resumed_shows_its_setup_and_its_command(started: Cli, folder: Path) -> None:
    (folder / "one.yaml").write_text(
        "name: one\nquestion: q\nsetup: [[echo, allocate]]\nenv: {K: a b}\n"
        'command: [sh, b.sh, "{size}"]\naxes: {size: [1, 2]}\nconfirm: 0\n'
    )
    (folder / "b.sh").write_text("kill -INT $PPID; sleep 9\n")
    assert started("sweep", "one.yaml").code != 0
    (folder / "b.sh").write_text("echo RESULT size=$1 tflops=1\n")
    done = started("sweep", "--id", "MOE-000")
    assert done.code == 0, done.err
    wanted = [f"MOE-000: cd {folder} && {text}" for text in ("echo allocate", "K='a b' sh b.sh 1")]
    assert done.err.splitlines()[:2] == wanted
    assert "&&" not in started("sweep", "--id", "MOE-000").err, "nothing is left"
