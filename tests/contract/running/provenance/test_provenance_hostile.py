"""A repository whose configuration names programs: none of them is started by a command that reads."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock

Git = Callable[..., str]


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
    "render --check": 0,
    "render": 0,
    "sync --offline ../offline": 0,
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
