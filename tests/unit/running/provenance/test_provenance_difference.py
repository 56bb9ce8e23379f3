"""Changes in submodules are part of the diff, without the help of `git diff --submodule=diff`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.running.provenance.git import CodeFacts, CodeLook
from logbook_agent.text.commands.script import command_words

Git = Callable[..., str]
PART = 'a "pärt"\\'


def facts(folder: Path, root: str = "logbooks") -> CodeFacts:
    found = CodeLook(folder, folder / root, command_words(["true"]), keep=10**6).facts()
    assert found.problems == ()
    return found


@pytest.fixture
def nested(folder: Path, git: Git, tmp_path: Path) -> Path:
    """In `folder` a submodule, with a submodule of its own."""
    for name in ("inner", "outer"):
        place = tmp_path / name
        place.mkdir()
        git("init", "-q", "-b", "main", cwd=place)
        (place / "x.py").write_text("1\n")
        git("add", "-A", cwd=place)
        git("commit", "-q", "-m", name, cwd=place)
    add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"]
    git(*add, str(tmp_path / "inner"), "deep", cwd=tmp_path / "outer")
    git("commit", "-q", "-m", "deep", cwd=tmp_path / "outer")
    git(*add, str(tmp_path / "outer"), PART)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
    git("commit", "-q", "-m", "part")
    return folder


@pytest.mark.slow
def test_changes_of_all_depths_are_in_the_diff(nested: Path) -> None:
    assert facts(nested).diff is None
    (nested / PART / "deep/x.py").write_text("deep\n")
    deep = facts(nested)
    assert deep.diff is not None
    assert deep.diff.count(b"-dirty\n") == 2
    assert b"+deep\n" in deep.diff
    assert b"deep/x.py" in deep.diff
    (nested / PART / "x.py").write_text("part\n")
    both = facts(nested)
    assert both.diff is not None
    assert b"+part\n" in both.diff
    assert b"+deep\n" in both.diff
    assert len({deep.code.identity, both.code.identity, None}) == 3


@pytest.mark.slow
def test_a_root_in_a_submodule_is_left_out(nested: Path) -> None:
    root = nested / PART / "logbooks"
    root.mkdir()
    (root / "e.yaml").write_text("1\n")
    subprocess.run(["git", "add", "-A"], cwd=nested / PART, check=True)
    (nested / PART / "x.py").write_text("part\n")
    found = CodeLook(nested, root, command_words(["true"]), keep=10**6).facts()
    assert found.diff is not None
    assert b"+part\n" in found.diff
    assert b"e.yaml" not in found.diff
