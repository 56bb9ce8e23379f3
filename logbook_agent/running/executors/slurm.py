"""Workers as jobs of Slurm: the script of a job becomes the worker of a far spool, on a disk that the nodes share.

The far spool is the truth. What `squeue` and `sacct` say are hints, asked only while nothing is heard of the worker; a
job carries the name of its far spool, so that one whose submission was not answered is found again. No submission is
sent twice: a far spool whose job is not there is closed, and a worker that would come later refuses it.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, ClassVar

from logbook_agent.model.codec import encode
from logbook_agent.model.errors import ToolError, UsageError
from logbook_agent.running.executors.answers import stage_named
from logbook_agent.running.executors.contract import Stage, Unavailable, nothing_sent
from logbook_agent.running.executors.remote import Places, Remote, check_places
from logbook_agent.running.executors.settings import Declared
from logbook_agent.running.executors.shell import Here, Shell
from logbook_agent.running.executors.ssh import Ssh
from logbook_agent.running.executors.submitted import write_sent
from logbook_agent.running.worker.work import Work
from logbook_agent.store.spool import ERRORS, Sent, Spool
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.hosts import several_hosts

# A worker gives a sign every few seconds; one that was heard of since then lives, whatever Slurm says.
FRESH_S = 20.0
# Slurm ended it, for reasons of its own: the run is to be made again.
_TAKEN = frozenset(("BOOT_FAIL", "NODE_FAIL", "PREEMPTED"))
_OVER = _TAKEN | {"CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "OUT_OF_MEMORY", "REVOKED", "TIMEOUT"}
# The same as slurmstepd writes it where it passes the signal on.
_SAID_TAKEN = ("DUE TO PREEMPTION", "DUE TO NODE FAILURE", "DUE TO JOB REQUEUE")
# What sbatch says where it may accept the same job later: the head does not answer, or has no room for more jobs.
_PASSES = re.compile(
    "Unable to contact slurm controller|Socket timed out|Zero Bytes were transmitted|Connection (refused|reset)"
    "|backup controller in standby|temporarily unable|temporarily unavailable|not available \\("
    # A limit on the number of jobs, not on the size of one.
    "|SubmitJob|\\A(?!.*(QOS|Assoc)).*job submit limit",
    re.DOTALL,
)
# sbatch takes words that are cut short, too.
_ARRAY = re.compile("-a|--ar")
_SCRIPT = """\
#!/bin/sh
if [ "${{SLURM_RESTART_COUNT:-0}}" != 0 ]; then
  echo "Slurm started job $SLURM_JOB_ID again; a run has one attempt" >&2
  exit 125
fi
# Else every srun of the command would have an empty environment.
unset SLURM_EXPORT_ENV
exec {worker}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSettings(Places):
    """`host`: a login node as ssh takes it, and `ssh_options` further words for ssh; None: Slurm's commands are here.
    `options` are words for sbatch. `folder` lies on a file system that the nodes share with the login node."""

    host: str | None = None
    ssh_options: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJob:
    """What Slurm says of a job: its `state` in capitals, why it waits, and its nodes."""

    number: str
    state: str
    reason: str = ""
    nodes: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in _OVER

    @property
    def said(self) -> str:
        """`job 12 is PENDING (Resources)`."""
        why = f" ({self.reason})" if self.reason not in ("", "None") and not self.is_over else ""
        return f"job {self.number} is {self.state}{why}" + (f" on {self.nodes}" if self.nodes else "")


class Slurm(Remote):
    """Starts workers by `sbatch`."""

    hands_over: ClassVar[bool] = False

    def __init__(self, *, shell: Shell, settings: SlurmSettings, environ: Mapping[str, str]) -> None:
        super().__init__(shell=shell, places=settings, environ=environ, secrets={})
        self.options = settings.options
        self._settings, self._environ = settings, environ

    def node_of(self, spool: Spool) -> str | None:
        """As `Pins.node_of`; None too where Slurm does not answer, or has forgotten the job."""
        sent = spool.sent()
        try:
            job = self.job(sent) if sent is not None else None
        except ToolError:
            return None
        return job.nodes or None if job is not None else None

    def on_node(self, node: str) -> Slurm:
        """As `Pins.on_node`."""
        options = (*self.options, f"--nodelist={node}")
        settings = dataclasses.replace(self._settings, options=options)
        return Slurm(shell=self.shell, settings=settings, environ=self._environ)

    @property
    def place(self) -> str:
        """The login node, as the settings name it: which node it will be, the worker says."""
        return self.shell.host or "slurm"

    def hello(self) -> dict[str, Any]:
        """As `Executor.hello`. Raises ToolError, too, where sbatch would not accept a run."""
        found = super().hello()
        answer = self.shell.run(["sbatch", "--test-only", *self.options], stdin=b"#!/bin/sh\n")
        if answer.code != 0:
            raise ToolError(f"sbatch would not accept a run on {self.place}", cause=answer.said, hint="sinfo")
        return found

    # -- what Slurm does in its own way ----------------------------------------------------------------

    def launch(self, spool: Spool, sent: Sent, work: Work, secrets: Mapping[str, str]) -> None:
        """As `Remote.launch`. A submission that failed may have arrived all the same: Slurm is asked."""
        with nothing_sent():
            made, _ = self.ask(["put", sent.folder], stdin=json.dumps({"work": encode(work)}).encode())
        if not made.get("made"):
            raise ToolError(f"{sent.folder} already exists", cause=f"reported by {self.place}")
        # Whole paths, as they are on the login node: a node may have another home, and other programs first.
        folder, python = str(made["folder"]), str(made["python"])
        answer = self.shell.run(self._sbatch(folder), stdin=self._script(folder, python).encode())
        number = answer.out.decode("utf-8", "replace").strip().partition(";")[0]
        if answer.code == 0 and number.isdigit():
            write_sent(spool, dataclasses.replace(sent, job=number), self.environ)
        elif not self.has_arrived(spool, sent):
            kind = Unavailable if answer.code != 0 and _PASSES.search(answer.err) else ToolError
            raise kind(f"sbatch did not submit {name_of(sent.folder)}", cause=answer.said)

    def has_arrived(self, spool: Spool, sent: Sent) -> bool:
        """As `Remote.has_arrived`. Where Slurm does not answer, a job may be there: closed to it, its folder lets no
        worker begin."""
        try:
            job = self.job(sent)
        except ToolError:
            job = None
        if job is None:
            return not self._close(sent)
        write_sent(spool, dataclasses.replace(sent, job=job.number), self.environ)
        return True

    def end(self, sent: Sent) -> None:
        """As `Remote.end`: TERM to the worker, and KILL after Slurm's KillWait."""
        job = self.job(sent)
        if job is None or job.is_over:
            return
        answer = self.shell.run(["scancel", job.number])
        if answer.code != 0:
            raise ToolError(f"job {job.number} cannot be cancelled", cause=answer.said, hint=f"scancel {job.number}")

    def judged(self, spool: Spool, sent: Sent, head: Mapping[str, Any]) -> tuple[Stage, str | None]:
        """How far a run is. Slurm is asked only while nothing was heard of its worker for a while."""
        stage, has_begun = stage_named(head.get("stage")), head.get("began") is not None
        if stage == "ended":
            return ("lost", None) if _was_taken(head) else ("ended", None)
        if head.get("is_closed"):
            return stage, head.get("said")
        alive: Stage = "running" if has_begun else "sent"
        silent_s = head.get("silent_s")
        # While a client submits it, there need be no job yet.
        if spool.is_held() or (has_begun and silent_s is not None and abs(silent_s) < FRESH_S):
            return alive, None
        job = self.job(sent)
        said = job.said if job is not None else "Slurm has no record of its job"
        if job is not None and not job.is_over:
            return alive, said
        if not self._close(sent):
            return alive, None  # it began or ended meanwhile
        taken = job is not None and job.state in _TAKEN
        return ("lost" if has_begun or taken else "never-started"), said

    # -- Slurm's commands ----------------------------------------------------------------------------

    def _sbatch(self, folder: str) -> list[str]:
        """Submits the script of standard input. What the settings say comes first, so that it changes nothing here.

        `--export=NONE`: a job would take the variables of this process along, with its secrets, and Slurm would keep
        them on its disk. It has those of a login on its node instead.
        """
        return [
            "sbatch",
            "--parsable",
            *self.options,
            "--no-requeue",
            "--export=NONE",
            f"--job-name={name_of(folder)}",
            f"--chdir={folder}",
            "--input=/dev/null",
            f"--output={folder}/{ERRORS}",
            "--open-mode=append",
        ]

    def _script(self, folder: str, python: str) -> str:
        code = PurePosixPath(folder).parents[1] / PurePosixPath(self.code_folder).relative_to(self.places.folder)
        words = [python, "-P", str(code), "worker", folder, "--with-parent"]
        return _SCRIPT.format(worker=shlex.join(words))

    def job(self, sent: Sent) -> SlurmJob | None:
        """What Slurm says of the job of a far spool; None when it has none of this name, or has forgotten it. Raises
        ToolError when it does not answer."""
        name = f"--name={name_of(sent.folder)}"
        answer = self.shell.run(["squeue", "--noheader", "--states=all", name, "--format=%A|%T|%r|%N"])
        if answer.code != 0:
            raise ToolError("squeue does not answer", cause=answer.said, hint="squeue")
        if found := jobs_of(answer.out.decode("utf-8", "replace")):
            return found[-1]
        # Many a cluster keeps no accounts, and then this fails.
        words = ["--noheader", "--parsable2", "--allocations", "--starttime=now-30days", name]
        answer = self.shell.run(["sacct", *words, "--format=JobIDRaw,State,Reason,NodeList"])
        found = jobs_of(answer.out.decode("utf-8", "replace")) if answer.code == 0 else []
        return found[-1] if found else None

    def _close(self, sent: Sent) -> bool:
        """Have no worker begin in a far spool any more, or go on being waited for; False where it has ended, or one
        is at work."""
        return bool(self.ask(["close", sent.folder])[0].get("closed"))


def name_of(folder: str) -> str:
    """What the job of a far spool is called."""
    return PurePosixPath(folder).name


def jobs_of(text: str) -> list[SlurmJob]:
    """Jobs from lines `number|state|reason|nodes` of squeue or sacct, of which the last is the newest."""
    found = []
    for line in text.splitlines():
        number, *rest = line.strip().split("|")
        # A number that is none would be a word of its own for scancel.
        if len(rest) == 3 and rest[0] and number.isdecimal():
            # sacct: `CANCELLED by 1000`.
            found.append(SlurmJob(number=number, state=rest[0].split()[0], reason=rest[1], nodes=rest[2]))
    return found


def _was_taken(head: Mapping[str, Any]) -> bool:
    """Whether Slurm ended the command for reasons of its own. The worker saw a request to stop, as from anybody."""
    complaint = head.get("complaint") or ""
    return bool(head.get("is_interrupted")) and any(text in complaint for text in _SAID_TAKEN)


def slurm(workspace: Workspace, declared: Declared) -> Slurm:
    """The executor of such settings. Raises UsageError."""
    settings = declared.read(SlurmSettings)
    check_places(declared, settings)
    if set("%\\") & set(settings.folder):
        raise UsageError(
            f"executor {declared.name!r}: folder {settings.folder!r} contains % or \\",
            cause="Slurm gives these a special meaning in the name of an output file",
            hint=f"choose another folder in {declared.file}",
        )
    if (said := several_hosts(("sbatch", *settings.options), {})) is not None:
        raise UsageError(
            f"executor {declared.name!r}: {said}: a run on several hosts cannot be recorded",
            cause="a run is recorded with the devices, the load and the code of one host",
            hint=f"remove it from options in {declared.file}",
        )
    if array := next((word for word in settings.options if _ARRAY.match(word)), None):
        raise UsageError(
            f"executor {declared.name!r}: {array!r} in options makes several jobs of one run",
            cause="a run is one job; logbook starts the cases of a sweep itself",
            hint=f"remove it in {declared.file}; for several runs at once: logbook sweep RECIPE --parallel 4",
        )
    environ = workspace.environ
    shell: Shell = (
        Here(environ=environ)
        if settings.host is None
        else Ssh(host=settings.host, options=settings.ssh_options, environ=environ)
    )
    return Slurm(shell=shell, settings=settings, environ=environ)
