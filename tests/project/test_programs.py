"""One way to start git, and few to start anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import REPOSITORY

STARTERS = {
    "running/programs.py",  # git, nvidia-smi, sysctl, gh, ssh, and what the user's settings name
    "running/launch/process.py",  # what the user runs
    "agents/mcp/tool_calls.py",  # itself
    "store/spool_stage.py",  # Python, for workers
    "cluster/ray_driver.py",  # Python, to compile their code
}
_CALLS = {
    "Popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "create_subprocess_exec",
    "open_process",
    "run_process",
}
_OS_CALLS = {"system", "popen", "posix_spawn", "posix_spawnp", "startfile", "create_subprocess_shell"}


def _starts(path: Path) -> Iterator[str]:
    """What in a module starts a process, or could."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    types = {id(n.value) for n in nodes if isinstance(n, ast.Subscript)}  # subprocess.Popen[bytes]
    for node in nodes:
        if id(node) in types:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            # `asyncio.run` starts no process.
            started = (_CALLS | _OS_CALLS) - (set() if node.value.id == "subprocess" else {"run"})
            if node.value.id in ("subprocess", "asyncio", "anyio") and node.attr in started:
                yield f"{node.value.id}.{node.attr}"
            if node.value.id == "os" and (node.attr in _OS_CALLS or node.attr.startswith(("exec", "spawn"))):
                yield f"os.{node.attr}"
            if node.value.id in ("pty", "multiprocessing"):
                yield node.value.id
        elif isinstance(node, ast.ImportFrom) and node.module in ("subprocess", "os", "pty", "multiprocessing"):
            yield from (a.name for a in node.names if a.name in _CALLS | _OS_CALLS or a.name.startswith("exec"))
        elif isinstance(node, ast.Constant) and node.value in ("git", "/usr/bin/git"):
            yield "git"


def test_git_is_started_in_one_place() -> None:
    package = REPOSITORY / "logbook_agent"
    found = {p.relative_to(package).as_posix(): set(_starts(p)) for p in sorted(package.rglob("*.py"))}
    assert {name for name, starts in found.items() if starts - {"git"}} == STARTERS
    # `git` is a URL's scheme in one, and the first word of a hint in the other.
    assert {name for name, starts in found.items() if "git" in starts} == {
        "running/provenance/git_calls.py",
        "running/provenance/worktrees.py",
        "text/address.py",
    }
