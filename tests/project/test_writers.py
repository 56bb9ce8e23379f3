"""Files are changed in `store/folder.py` alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "logbook_agent"

# Methods of Path and functions of os, shutil and tempfile that change what is on disk.
WRITES = {
    "write_text", "write_bytes", "mkdir", "makedirs", "unlink", "rmdir", "removedirs", "rename", "renames", "touch",
    "symlink_to", "hardlink_to", "symlink", "chmod", "lchmod", "chown", "utime", "truncate", "mkfifo", "mknod",
    "rmtree", "copyfile", "copy2", "copytree", "copymode", "copystat", "mkstemp", "mkdtemp", "NamedTemporaryFile",
    "TemporaryFile", "TemporaryDirectory", "SpooledTemporaryFile",
}  # fmt: skip
# Names that mean other things too: of these modules, they write.
OF_MODULES = {("os", "replace"), ("os", "remove"), ("os", "link"), ("shutil", "copy"), ("shutil", "move")}
# Of ours, with such a name: a rule of redaction.
NO_WRITERS = {"rule.replace"}

WRITERS = {
    "store/folder.py": "the one place",
    "store/spool_stage.py": "what a worker complains of, also where no logbook is",
    "running/worker/tree.py": "on the other machine: the copy of the synced files that a run works in",
    "cluster/far.py": "on the other machine: its spools, where no logbook is",
    "cluster/ray_driver.py": "on a node of Ray: the standard library alone is there",
    "running/programs.py": "what a program is given, and what it complained of",
    "cluster/ssh.py": "the folder of ssh's sockets",
    "running/provenance/worktrees.py": "the temporary folder of two working trees; the folders of checkouts",
    "agents/patching.py": "temporary files that git reads",
    "campaign/checkouts.py": "the temporary working tree of recorded code",
    "issue/gate/ci.py": "the temporary folder of a record",
    "report/publish/commands.py": "the temporary folder of a report",
    "report/publish/targets.py": "the temporary folder of a working tree",
}


def called(node: ast.Call) -> tuple[str, str]:
    """What stands in front of the dot of a call, and what behind it; a bare name stands behind one of nothing."""
    if isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value), node.func.attr
    return "", ast.unparse(node.func)


def opens_to_write(node: ast.Call) -> bool:
    owner, name = called(node)
    # An archive in memory is no file.
    if name != "open" or owner == "Logbook" or any(keyword.arg == "fileobj" for keyword in node.keywords):
        return False
    if owner == "os":
        return any(flag in ast.unparse(node) for flag in ("O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"))
    words = [*node.args[:2], *(k.value for k in node.keywords if k.arg == "mode")]
    texts = [w.value for w in words if isinstance(w, ast.Constant) and isinstance(w.value, str)]
    return any(len(mode) <= 3 and set(mode) & set("wax+") for mode in texts)


def writes(node: ast.Call) -> bool:
    owner, name = called(node)
    # `Path.replace` takes one place; `str.replace` two texts, and `dataclasses.replace` keywords.
    replaces = name == "replace" and len(node.args) == 1 and not node.keywords and bool(owner)
    # A bare name is one of `store/folder.py`; that no module imports those of os and shutil is seen below.
    changes = bool(owner) and name in WRITES
    return ast.unparse(node.func) not in NO_WRITERS and (
        changes or (owner, name) in OF_MODULES or replaces or opens_to_write(node)
    )


@pytest.mark.slow
def test_files_are_changed_in_one_place() -> None:
    """And no exception is left over, and no module imports a writer by its name."""
    trees = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
    changing = {
        file: f"{node.lineno}: {ast.unparse(node)}"
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and writes(node)
    }
    assert {file: call for file, call in changing.items() if file not in WRITERS} == {}
    assert changing.keys() == WRITERS.keys()
    for file, tree in trees.items():
        froms = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert not {"os", "shutil", "tempfile", "io"} & {*froms}, file
