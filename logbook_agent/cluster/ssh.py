"""Another machine behind `ssh`: the program itself, so that the user's configuration, keys and agent hold. One
connection is shared and stays open for a minute."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from logbook_agent.cluster.questions import Shell, as_text
from logbook_agent.cluster.remote import Remote
from logbook_agent.cluster.sent_code import Places, check_places
from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import Unavailable
from logbook_agent.running.executors.table import Declared
from logbook_agent.running.programs import NoAnswer, ProgramAnswer, find_program
from logbook_agent.store.workspace import Workspace

# What ssh exits with when it has no connection, and a program there may, too.
_NO_CONNECTION = 255
# What ssh says before it sends a command: the first may pass, the others do not.
_UNREACHED = ("ssh: connect to host", "Temporary failure in name resolution", "kex_exchange_identification")
_REFUSED = (
    "ssh: Could not resolve",
    "Permission denied",
    "Host key verification failed",
    "Bad configuration option",
)
_OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": "10",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "ControlMaster": "auto",
    "ControlPersist": "60",
}


class SshSettings(Places, frozen=True, kw_only=True):
    """A machine behind ssh.

    host: the machine, as typed after `ssh`
    options: further options for `ssh`
    secrets: names of variables of this machine that the command gets, too
    devices: names of its accelerators, for which runs wait in a queue; default: those that it shows; empty: no queue
    """

    host: str
    options: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    devices: tuple[str, ...] | None = None


class Ssh(Shell, frozen=True, kw_only=True):
    """Runs programs on `host` by `ssh`."""

    options: tuple[str, ...] = ()

    def words(self, argv: Sequence[str]) -> list[str]:
        program = find_program("ssh", self.environ)
        if program is None:
            raise ToolError("ssh not found", cause="it is not on PATH", hint="install openssh-client")
        control = f"ControlPath={private_folder(self.environ)}/%C"
        settings = [word for name, value in _OPTIONS.items() for word in ("-o", f"{name}={value}")]
        return [program, *self.options, *settings, "-o", control, "--", str(self.host), as_text(argv)]

    def checked(self, answer: ProgramAnswer) -> ProgramAnswer:
        """As `Shell.checked`. Exit code 255 is taken for a lost connection."""
        # Below zero, a signal has ended ssh itself.
        if 0 <= answer.code != _NO_CONNECTION:
            return answer
        kind: type[ToolError] = NoAnswer
        for possible, texts in ((ToolError, _REFUSED), (Unavailable, _UNREACHED)):
            kind = possible if any(text in answer.err for text in texts) else kind
        raise kind(f"{self.host} does not answer", cause=answer.said, hint=f"ssh {self.host} true")


def private_folder(environ: Mapping[str, str]) -> Path:
    """The folder for the sockets of connections, which only this user can enter. Raises ToolError."""
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(runtime if os.path.isabs(runtime) else tempfile.gettempdir()) / f"logbook-{os.getuid()}"  # noqa: PTH117
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ToolError(
            f"other users have access to {folder}",
            cause="logbook keeps ssh connections there, which only you may use",
            hint=f"chmod 700 {folder}",
        )
    return folder


def ssh(workspace: Workspace, declared: Declared) -> Remote:
    """The executor of such settings."""
    settings = declared.read(SshSettings)
    check_places(declared, settings)
    shell = Ssh(host=settings.host, options=settings.options, environ=workspace.environ)
    found = Remote(shell=shell, places=settings, environ=workspace.environ)
    found.secrets = {name: workspace.environ[name] for name in settings.secrets if name in workspace.environ}
    found.is_single = True
    found.devices = () if settings.devices is None else settings.devices or None
    return found
