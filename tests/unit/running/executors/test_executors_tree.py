"""The slot with the synced files that a run works in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.cluster.sent_code import tree_of
from logbook_agent.model.errors import ToolError
from logbook_agent.running.worker.tree import ARCHIVE, slot
from logbook_agent.running.worker.work import Work
from logbook_agent.store.places import Repository, repository_of


@pytest.fixture
def repository(git: Callable[..., str], folder: Path) -> Repository:
    """A working tree with names, modes, links and a submodule as git knows them."""
    library = folder.parent / "library"
    library.mkdir()
    git("init", "-q", cwd=library)
    (library / "lib.py").write_text("LIB = 1\n")
    git("add", ".", cwd=library)
    git("commit", "-q", "-m", "library", cwd=library)
    (folder / ".gitignore").write_text("*.pt\n")
    (folder / "src").mkdir()
    (folder / "src/größe.py").write_text("SIZE = 1\n")
    (folder / "run.sh").write_text("echo\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("src")
    (folder / "empty").touch()
    (folder / "data.pt").touch()
    git("add", ".")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "third/library")
    git("commit", "-q", "-m", "all")
    (folder / "third/library/new.py").write_text("NEW = 1\n")
    found = repository_of(folder)
    assert found is not None
    return found


@pytest.fixture
def work(repository: Repository, tmp_path: Path) -> Work:
    """Work for which the tree was synced."""
    files = tree_of(repository, repository.top / "logbooks", os.environ)
    original = tmp_path / "trees" / files.digest
    original.parent.mkdir()
    Path(f"{original}{ARCHIVE}").write_bytes(files.packed())
    return Work(
        entry="MOE-000",
        run=1,
        argv=("true",),
        executable="",
        cwd=str(original / "src"),
        root=str(original / "logbooks"),
        log_bytes=1,
        tree=str(original),
    )


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or path.is_file()}


def test_what_git_lists_is_there_and_can_be_written(work: Work) -> None:
    with slot(work) as own:
        folder = Path(work.tree) / "0"
        assert (own.work.cwd, own.work.root) == (str(folder / "src"), str(folder / "logbooks"))
        listed = {".gitignore", ".gitmodules", "run.sh", "src/größe.py", "link", "empty", "bench.py"}
        assert names(folder) == listed | {"third/library/lib.py", "third/library/new.py"}
        assert (folder / "link").readlink() == Path("src")
        assert [(folder / name).stat().st_mode & 0o777 for name in ("run.sh", "empty")] == [0o755, 0o644]
        (folder / "src/__pycache__").mkdir()
        (folder / "src/__pycache__/a.pyc").touch()
        assert own.problems() == ()


def test_what_the_command_changed_is_named_and_made_right_again(work: Work) -> None:
    folder = Path(work.tree) / "0"
    with slot(work) as own:
        (folder / "run.sh").write_text("echo more\n")
        (folder / "link").unlink()
        (folder / "link").symlink_to("/")
        (folder / "src/größe.py").unlink()
        (folder / "empty").chmod(0o755)
        shutil.rmtree(folder / "third")
        (folder / "third").touch()
        (folder / "out").mkdir()
        (folder / "out/trace.json").touch()
        changed = "empty, link, run.sh, src/größe.py, third/library/lib.py and 1 more"
        assert own.problems() == (f"the command changed 6 synced files: {changed}",)
    with slot(work) as own:
        assert own.problems() == ()
        assert (folder / "third/library/new.py").read_text() == "NEW = 1\n"
        assert (folder / "out/trace.json").exists(), "what was written beside them stays"


def test_runs_at_the_same_time_have_slots_of_their_own(work: Work) -> None:
    with slot(work) as first, slot(work) as second:
        assert (first.folder, second.folder) == (Path(work.tree) / "0", Path(work.tree) / "1")
    with slot(work) as third:
        assert third.folder == first.folder


def test_an_archive_that_is_missing_starts_nothing(work: Work) -> None:
    Path(f"{work.tree}{ARCHIVE}").unlink()
    with pytest.raises(ToolError, match="cannot bring the synced files"), slot(work):
        pass
