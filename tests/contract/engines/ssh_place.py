"""Another machine behind ssh: an `sshd` of ours that speaks to each client by pipes, so that nothing listens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.conftest import Cli
from tests.contract.running.executors.conftest import Place, settings

NAME = "box"
_SSHD = """HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
LogLevel ERROR
SetEnv HOME={folder}/home
"""
_SSH = """Host {name}
  ProxyCommand sh -c 'echo $$ >> {folder}/sessions; exec {sshd} -i -f {folder}/sshd_config'
  IdentityFile {folder}/user
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""


def why_not() -> str | None:
    """Why this machine cannot have one; None when it can."""
    missing = [name for name in ("ssh", "ssh-keygen") if shutil.which(name) is None]
    return f"no {missing[0]}" if missing else None if _sshd() else "no sshd: apt-get install openssh-server"


def _sshd() -> str | None:
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@dataclass
class SshPlace(Place):
    """`far` is the folder of the other machine's runs, code and trees; `engine` is that of its daemon."""

    engine: Path = Path()

    def sessions(self) -> list[psutil.Process]:
        """The daemons that serve clients of this place. They give themselves names; each has written its pid first."""
        file = self.engine / "sessions"
        pids = map(int, file.read_text().split() if file.exists() else ())
        return [found for pid in pids for found in _daemons(pid)]

    def clients(self) -> list[psutil.Process]:
        """The ssh processes of this place: those that wait for an answer, and the one that holds their connection."""
        marks = (f"{self.engine}/ssh_config", f"{control(self.engine)}/")
        found = [(process, _words(process)) for process in psutil.process_iter()]
        return [process for process, words in found if any(mark in words for mark in marks)]

    def workers(self) -> list[psutil.Process]:
        """The workers of the far side that live, by the locks that they took."""
        locks = (self.engine / "far").glob("spools/*/worker.lock")
        pids = [json.loads(text)["pid"] for lock in locks if (text := lock.read_text().strip())]
        return [process for process in psutil.process_iter() if process.pid in pids and not self.is_gone(process.pid)]

    def cut(self) -> None:
        """Kill the daemons and the connections, both, in the middle of whatever they do."""
        for process in (*self.sessions(), *self.clients()):
            try:
                process.kill()
                process.wait(5)
            except psutil.Error:
                continue

    def end(self) -> None:
        """The same for good."""
        self.cut()
        shutil.rmtree(control(self.engine), ignore_errors=True)


def _daemons(pid: int) -> list[psutil.Process]:
    """The daemon of this number with those that it has started; none where it has ended."""
    try:
        process = psutil.Process(pid)
        return [one for one in (process, *process.children()) if one.name().startswith("sshd")]
    except psutil.Error:
        return []


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def control(engine: Path) -> Path:
    """The folder for the sockets of shared connections, whose paths must be short."""
    return (engine / "control").readlink()


def program(name: str) -> str:
    """Where a program lies."""
    found = shutil.which(name)
    assert found is not None
    return found


def daemon(engine: Path) -> Path:
    """A folder with what a daemon and its clients need."""
    (engine / "home").mkdir(parents=True)
    (engine / "control").symlink_to(tempfile.mkdtemp(prefix="logbook-ssh-"))
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host", "user"):
        words = [program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(engine / name)]
        subprocess.run(words, check=True, timeout=30)
    (engine / "sshd_config").write_text(_SSHD.format(folder=engine))
    (engine / "ssh_config").write_text(_SSH.format(name=NAME, sshd=_sshd(), folder=engine))
    return engine


def ssh_place(cli: Cli, folder: Path, engine: Path, *more: str) -> SshPlace:
    """One in a folder that has a logbook; `engine` is a folder for the daemon, `more` are lines of settings."""
    far = daemon(engine) / "far"
    lines = [
        f"[executors.{NAME}]",
        'kind = "ssh"',
        f'host = "{NAME}"',
        f'options = ["-F", "{engine}/ssh_config", "-o", "ControlPath={control(engine)}/%C"]',
        f'python = "{sys.executable}"',
        f'folder = "{far}"',
        'secrets = ["HF_TOKEN"]',
        *(more or ("sync = false",)),
    ]
    settings().write_text("\n".join(lines) + "\n")
    return SshPlace(NAME, folder, cli, far=far, engine=engine)
