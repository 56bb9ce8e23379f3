"""The copy of the synced files that a run works in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.cluster.sent_code import tree_of
from logbook_agent.model.errors import ToolError
from logbook_agent.running.worker.tree import own_tree
from logbook_agent.running.worker.work import Work
from logbook_agent.store.repository import Repository, repository_of


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
    """Work for which the tree was synced, as `tar` unpacks it."""
    files = tree_of(repository, repository.top / "logbooks", os.environ)
    original = tmp_path / "trees" / files.digest
    original.mkdir(parents=True)
    subprocess.run(["tar", "-xzf", "-", "-C", original], input=files.archive(), check=True)
    subprocess.run(["chmod", "-R", "a-w", original], check=True)
    (tmp_path / "spool").mkdir()
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


def test_a_copy_of_what_git_lists_that_can_be_written(work: Work, tmp_path: Path) -> None:
    copy = tmp_path / "spool/tree"
    own = own_tree(work, tmp_path / "spool")
    assert (own.work.cwd, own.work.root) == (str(copy / "src"), str(copy / "logbooks"))
    listed = {".gitignore", ".gitmodules", "run.sh", "src/größe.py", "link", "empty", "bench.py"}
    assert names(copy) == listed | {"third/library/lib.py", "third/library/new.py"}
    assert (copy / "link").readlink() == Path("src")
    assert [(copy / name).stat().st_mode & 0o777 for name in ("run.sh", "empty")] == [0o755, 0o644]
    assert (copy / "run.sh").stat().st_mtime == (Path(work.tree) / "run.sh").stat().st_mtime
    (copy / "src/__pycache__").mkdir()
    (copy / "src/__pycache__/a.pyc").touch()
    assert own.problems() == ()
    own.remove()
    assert not copy.exists()


def test_what_the_command_changed_is_named_and_stays(work: Work, tmp_path: Path) -> None:
    copy = tmp_path / "spool/tree"
    own = own_tree(work, tmp_path / "spool")
    (copy / "run.sh").write_text("echo more\n")
    (copy / "link").unlink()
    (copy / "link").symlink_to("/")
    (copy / "src/größe.py").unlink()
    (copy / "empty").chmod(0o755)
    (copy / "out").mkdir()
    (copy / "out/trace.json").touch()
    said = "the command changed 4 synced files, in its own copy: empty, link, run.sh, src/größe.py"
    assert own.problems() == (said,)
    own.remove()
    assert names(copy) == {"empty", "link", "run.sh", "out/trace.json"}
    again = own_tree(work, tmp_path)
    assert again.problems() == (), "nothing of it reached the original"


@pytest.mark.parametrize("name", ["run.sh", "more.py", "link"])
def test_an_original_that_was_changed_is_refused_and_removed(work: Work, tmp_path: Path, name: str) -> None:
    original = Path(work.tree)
    original.chmod(0o755)
    (original / name).unlink(missing_ok=True)
    (original / name).write_text("other\n")
    original.chmod(0o555)
    with pytest.raises(ToolError, match="the next run syncs them again"):
        own_tree(work, tmp_path / "spool")
    assert not original.exists()
    assert list((tmp_path / "spool").iterdir()) == []
    with pytest.raises(ToolError, match="are missing"):
        own_tree(work, tmp_path / "spool")
