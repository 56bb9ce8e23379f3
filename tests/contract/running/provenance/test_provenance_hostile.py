"""A repository whose configuration names programs: none of them is started by a command that reads."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logbook_agent.issue.permalinks import dirty_outside, published, remote_of
from logbook_agent.text.address import RepositoryAddress
from tests.conftest import REPOSITORY, Cli, FixedClock

Git = Callable[..., str]

# -- one way to start git, and few to start anything -------------------------------------------------

STARTERS = {
    "running/programs.py",  # nvidia-smi, sysctl, gh
    "running/provenance/git_calls.py",  # git
    "running/launch/process.py",  # what the user runs
    "running/executors/local.py",  # Python, for workers
    "agents/mcp/detached_start.py",  # itself, for runs that outlive a call
    "cluster/far.py",  # itself on another machine, as the Python of its own environment
    "cluster/ray_coordinator.py",  # Python, for workers on a node of Ray
    "cluster/shell.py",  # ssh, and what the user's settings name
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
            started = (_CALLS | _OS_CALLS) - ({"run"} if node.value.id == "asyncio" else set())
            if node.value.id in ("subprocess", "asyncio") and node.attr in started:
                yield f"{node.value.id}.{node.attr}"
            if node.value.id == "os" and (node.attr in _OS_CALLS or node.attr.startswith(("exec", "spawn"))):
                yield f"os.{node.attr}"
            if node.value.id in ("pty", "multiprocessing"):
                yield node.value.id
        elif isinstance(node, ast.ImportFrom) and node.module in ("subprocess", "os", "pty", "multiprocessing"):
            yield from (a.name for a in node.names if a.name in _CALLS | _OS_CALLS or a.name.startswith("exec"))
        elif isinstance(node, ast.Constant) and node.value in ("git", "/usr/bin/git"):
            yield "git"


@pytest.mark.slow
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


# -- a hostile repository ----------------------------------------------------------------------------


class Hostile:
    """Programs that write down that they were started, and configurations that name them."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "started"
        self._program = folder / "program"
        self._program.write_text(f'#!/bin/sh\necho "$*" >>{self._log}\ncat 2>/dev/null\n')
        self._program.chmod(0o755)
        self.hooks = folder / "hooks"
        self.hooks.mkdir()
        for name in ("post-index-change", "pre-commit", "post-commit", "reference-transaction", "fsmonitor-watchman"):
            (self.hooks / name).write_text(f"#!/bin/sh\n{self._program} hook {name}\n")
            (self.hooks / name).chmod(0o755)

    def config(self) -> str:
        said = self._program
        return f"""
[core]
    fsmonitor = {said} fsmonitor
    hooksPath = {self.hooks}
    pager = {said} pager
    editor = {said} editor
    sshCommand = {said} ssh
    askPass = {said} askpass
    gitProxy = {said} proxy
    alternateRefsCommand = {said} alternate-refs
[pager]
    diff = {said} pager
    status = {said} pager
[diff]
    external = {said} external
[diff "ev"]
    command = {said} driver
    textconv = {said} textconv
[gpg]
    program = {said} gpg
[log]
    showSignature = true
[credential]
    helper = {said} credential
[protocol "ext"]
    allow = always
"""

    def started(self) -> list[str]:
        """Which were started since this was asked last."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def hostile(cli: Cli, clock: FixedClock, folder: Path, git: Git, tmp_path: Path) -> Hostile:
    """In `folder` a logbook in conflict of a merge; changed files; a submodule; a bare repository among the files.

    All configurations are hostile.
    """
    made = Hostile(tmp_path)
    part = tmp_path / "part"
    part.mkdir()
    git("init", "-q", "-b", "main", cwd=part)
    (part / "x.py").write_text("1\n")
    (part / ".gitattributes").write_text("*.py diff=ev\n")
    git("add", "-A", cwd=part)
    git("commit", "-q", "-m", "part", cwd=part)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part), "sub mod")
    (folder / ".gitattributes").write_text("*.py diff=ev\n")
    git("init", "-q", "--bare", "pulled")
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s").code == 0
    assert cli("run", "--title", "First", "--", "echo", "RESULT tflops=1").code == 0
    git("add", "-A")
    git("commit", "-q", "-m", "a logbook")
    git("init", "-q", "--bare", str(tmp_path / "there.git"))
    git("remote", "add", "origin", str(tmp_path / "there.git"))
    git("push", "-q", "origin", "main")
    git("checkout", "-q", "-b", "side")
    clock.tick()
    assert cli("run", "--title", "Theirs", "--", "true").code == 0
    git("add", "-A")
    git("commit", "-q", "-m", "theirs")
    git("checkout", "-q", "main")
    clock.tick()
    assert cli("run", "--title", "Ours", "--", "true").code == 0
    git("add", "-A")
    git("commit", "-q", "-m", "ours")
    subprocess.run(["git", "merge", "-q", "side"], cwd=folder, capture_output=True, check=False, timeout=30)
    (folder / "bench.py").write_text("print('RESULT tflops=2.5')\n")
    (folder / "sub mod/x.py").write_text("2\n")
    for config in (folder / ".git/config", folder / ".git/modules/sub mod/config"):
        config.write_text(config.read_text() + made.config())
    (folder / "pulled/config").write_text(f"[core]\nrepositoryformatversion = 0\nworktree = {folder}\n{made.config()}")
    return made


@pytest.mark.slow
def test_the_programs_are_started_by_git_itself(hostile: Hostile, folder: Path) -> None:
    """Else the tests below could not fail."""
    for words in (["status"], ["diff"], ["diff", "--submodule=diff"], ["-C", "sub mod", "diff"]):
        subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False, timeout=30)
        assert hostile.started(), words


# Each with its exit code, so that none of them stops before it comes to git.
COMMANDS = {
    "list": 0,
    "doctor": 1,
    "doctor --fix": 0,
    "run --title Second -- true": 0,
    "run --id MOE-000 -- python bench.py": 0,
    "status": 0,
    "show MOE-000": 0,
    "absorb": 0,
    "render": 0,
    "sync --offline ../offline": 0,
    "prune --dry-run": 0,
    "sync --dry-run": 2,  # no issue yet
    "snapshot first --dry-run": 2,  # changes that no commit has
}


@pytest.mark.slow
@pytest.mark.parametrize("place", [".", "pulled", "sub mod"])
@pytest.mark.sample(1)
def test_no_command_starts_them(
    hostile: Hostile, cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(folder / place)
    wrong, codes = {}, {}
    for words in COMMANDS:
        answer = cli("--root", str(folder / "logbooks"), *words.replace("bench.py", f"{folder}/bench.py").split())
        codes[words] = answer.code
        if started := hostile.started():
            wrong[words] = started
    assert wrong == {}
    assert codes == COMMANDS


@pytest.mark.slow
def test_nor_does_what_a_snapshot_asks(hostile: Hostile, folder: Path) -> None:
    root = folder / "logbooks"
    assert remote_of(root, os.environ) is not None
    assert {"bench.py", "sub mod"} <= set(dirty_outside(root, os.environ))
    links = published(
        view=root / "moe.md",
        folder=root / "moe",
        entry_ids=["MOE-000"],
        repository=RepositoryAddress(host="github.com", owner="a", name="b"),
        remote="origin",
        environ=os.environ,
    )
    assert links.commit is not None
    assert hostile.started() == []
