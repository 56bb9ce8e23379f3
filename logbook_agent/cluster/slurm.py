"""Workers as jobs of Slurm: the script of a job becomes the worker of a far spool, on a disk that the nodes share.

The far spool is the truth. What `squeue` says is a hint, asked for only while nothing is heard of the worker, for all
jobs at once; a job carries the name of its far spool, so that one whose submission was not answered is found
again. No submission is sent twice: a far spool whose job is not there is closed, and a worker that would come later
refuses it.

Units of runs are the elements of an array, also a single one. The name of a far spool is that of the job, the number
of the element, and, for all but the first of a unit, another number: `NAME.3`, `NAME.3-1`.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct, structs

from logbook_agent.cluster.questions import Shell
from logbook_agent.cluster.remote import FarState, Remote, new_name
from logbook_agent.cluster.sent_code import Places, check_places
from logbook_agent.cluster.ssh import Ssh
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import ToolError, UsageError
from logbook_agent.model.worker_report import Stage
from logbook_agent.running.executors.contract import Submission, Unavailable, nothing_sent, units_of
from logbook_agent.running.executors.table import Declared
from logbook_agent.running.programs import NoAnswer
from logbook_agent.running.provenance.machine import MachineFacts
from logbook_agent.store.run_files import ERRORS, SENT
from logbook_agent.store.spool import Sent, Spool
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.script import several_hosts

# A worker gives a sign every few seconds; one that was heard of since then lives, whatever Slurm says.
FRESH_S = 20.0
# Slurm is asked no more often than this.
_ASK_S = 3.0
_JOB = re.compile(r"\d+(?:_\d+)?")
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
exec {unit}."$SLURM_ARRAY_TASK_ID"
"""


class SlurmSettings(Places, frozen=True, kw_only=True):
    """A Slurm cluster.

    host: a login node, as typed after `ssh`; default: Slurm's commands run on this machine
    ssh_options: further options for `ssh`
    options: options for `sbatch`, such as `--partition=gpu`, but not `--array`; those that logbook adds, such as
        `--no-requeue`, win
    """

    host: str | None = None
    ssh_options: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class SlurmJob(Struct, frozen=True, kw_only=True):
    """What Slurm says of a job, or of an element of an array (`12_3`): its `name`, its `state` in capitals, why it
    waits, and its nodes."""

    number: str
    state: str
    name: str = ""
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

    is_batch = True
    hands_over = False

    def __init__(self, *, shell: Shell, settings: SlurmSettings, environ: Mapping[str, str]) -> None:
        # Which node it will be, the worker says.
        super().__init__(shell=shell, places=settings, environ=environ, secrets={}, place=shell.host or "slurm")
        self.options = settings.options
        # The names of the jobs that are looked at; what Slurm said of jobs with such names, or why it did not, and
        # until when that counts.
        self._names: frozenset[str] = frozenset()
        self._told: tuple[frozenset[str], float, dict[str, SlurmJob] | ToolError] = (frozenset(), float("-inf"), {})

    def hello(self) -> MachineFacts:
        """As `Executor.hello`. Raises ToolError, too, where sbatch would not accept a run."""
        found = super().hello()
        answer = self.shell.run(["sbatch", "--test-only", *self.options], stdin=b"#!/bin/sh\n")
        if answer.code != 0:
            raise ToolError(f"sbatch would not accept a run on {self.place}", cause=answer.said, hint="sinfo")
        return found

    # -- what Slurm does in its own way ----------------------------------------------------------------

    def folders(self, items: Sequence[Submission]) -> Sequence[str]:
        """Those of one array."""
        name = f"{items[0].work.entry}.{items[0].work.run:02d}-{new_name()}"
        names = {}
        for number, unit in enumerate(units_of(items, lambda item: item.pin)):
            for place, item in enumerate(unit):
                names[item.spool.folder] = f"{name}.{number}" + (f"-{place}" if place else "")
        return [names[item.spool.folder] for item in items]

    def launch(self, items: Sequence[tuple[Submission, Sent]], at_most: int) -> None:
        """As `Remote.launch`. A submission that failed may have arrived all the same: Slurm is asked."""
        works = {sent.folder: encode(item.work) for item, sent in items}
        with nothing_sent():
            made, _ = self.ask("put", {"works": works})
        # Whole paths, as they are on the login node: a node may have another home, and other programs first.
        folders, python = made.get("made"), str(made.get("python"))
        if not isinstance(folders, dict) or folders.keys() != works.keys():
            raise ToolError(f"{items[0][1].folder} already exists", cause=f"reported by {self.place}")
        array = PurePosixPath(str(folders[items[0][1].folder]).removesuffix(".0"))
        last = max(int(element_of(sent.folder)) for _, sent in items)
        words = self._sbatch(array, f"--array=0-{last}%{at_most}")
        answer = self.shell.run(words, stdin=self._script(array, python).encode())
        number = answer.text.strip().partition(";")[0]
        if answer.code == 0 and number.isdecimal():
            for item, sent in items:
                item.spool.put(structs.replace(sent, job=f"{number}_{element_of(sent.folder)}"))
        elif not sum(self._has_job(item.spool, sent) for item, sent in items):
            kind = Unavailable if answer.code != 0 and _PASSES.search(answer.err) else ToolError
            raise kind(f"sbatch did not submit {array.name}", cause=answer.said)

    def has_arrived(self, spool: Spool) -> bool:
        """As `Remote.has_arrived`: no submission is sent twice. One that did not arrive cannot arrive any more."""
        if (sent := spool.get(Sent)) is None:
            return False
        try:
            has_arrived = self._has_job(spool, sent)
        except ToolError as error:
            raise NoAnswer(error.message, cause=error.cause, hint=error.hint) from error
        if not has_arrived:
            spool.files.remove(SENT)
        return has_arrived

    def _has_job(self, spool: Spool, sent: Sent) -> bool:
        """Whether there is a job for a far spool, which is closed otherwise: where Slurm does not answer, one may be
        there, and lets no worker begin. Raises ToolError."""
        job = None
        with contextlib.suppress(ToolError):
            job = self.job(sent)
        if job is None:
            return not self._close(sent)
        spool.put(structs.replace(sent, job=job.number))
        return True

    def states(
        self, going: Mapping[str, Spool], wait_s: float = 0.0, *, with_log: bool = False
    ) -> Mapping[str, FarState]:
        """As `Remote.states`."""
        self._names = frozenset(map(name_of, going))
        return super().states(going, wait_s, with_log=with_log)

    def judged(self, spool: Spool, sent: Sent, state: FarState) -> tuple[Stage, str | None]:
        """How far a run is. Slurm is asked only while nothing was heard of its worker for a while."""
        if state.stage == "ended":
            is_taken = any(text in state.complaint for text in _SAID_TAKEN)
            return ("lost" if is_taken else "ended"), None
        if state.is_closed:
            return state.stage, state.said
        alive: Stage = "running" if state.has_begun else "sent"
        is_fresh = state.has_begun and state.silent_s is not None and abs(state.silent_s) < FRESH_S
        # While a client submits it, there need be no job yet.
        if spool.is_held() or is_fresh:
            return alive, None
        job = self.job(sent)
        said = job.said if job is not None else "Slurm has no record of its job"
        if job is not None and not job.is_over:
            return alive, said
        if not self._close(sent):
            return alive, None  # it began or ended meanwhile
        is_taken = job is not None and job.state in _TAKEN
        return ("lost" if state.has_begun or is_taken else "never-started"), said

    def end(self, sent: Sent) -> None:
        """As `Remote.end`: TERM to the worker, and KILL after Slurm's KillWait."""
        job = self.job(sent)
        if job is None or job.is_over:
            return
        answer = self.shell.run(["scancel", job.number])
        if answer.code != 0:
            raise ToolError(f"job {job.number} cannot be cancelled", cause=answer.said, hint=f"scancel {job.number}")

    # -- Slurm's commands ----------------------------------------------------------------------------

    def _sbatch(self, array: PurePosixPath, *more: str) -> list[str]:
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
            f"--job-name={array.name}",
            f"--chdir={array.parent}",
            "--input=/dev/null",
            f"--output={array}.%a/{ERRORS}",
            "--open-mode=append",
            *more,
        ]

    def _script(self, array: PurePosixPath, python: str) -> str:
        code = array.parents[1] / PurePosixPath(self.questions.code_folder).relative_to(self.places.folder)
        return _SCRIPT.format(unit=shlex.join([python, "-P", str(code), "unit", str(array)]))

    def job(self, sent: Sent) -> SlurmJob | None:
        """What Slurm says of the job of a far spool; None when it has none of this name, or has forgotten it. Slurm is
        asked for all jobs together, every few seconds. Raises ToolError when it does not answer."""
        names, until, told = self._told
        if (name := name_of(sent.folder)) not in names or time.monotonic() >= until:
            names = self._names | {name}
            try:
                told = self._jobs(names)
            except ToolError as error:
                told = error
            self._told = names, time.monotonic() + _ASK_S, told
        if isinstance(told, ToolError):
            raise told
        return job_of(told, sent)

    def _jobs(self, names: frozenset[str]) -> dict[str, SlurmJob]:
        """What Slurm says of the jobs with these names, by the names of their far spools. Raises ToolError."""
        words = ["--noheader", "--states=all", "--array", f"--name={','.join(sorted(names))}"]
        answer = self.shell.run(["squeue", *words, "--format=%i|%j|%T|%r|%N"])
        if answer.code != 0:
            raise ToolError("squeue does not answer", cause=answer.said, hint="squeue")
        return jobs_of(answer.text)

    def _close(self, sent: Sent) -> bool:
        """Close a far spool, so that no worker can begin there. False if a worker is at work there, or has ended."""
        return bool(self.ask("close", {"folder": sent.folder})[0].get("closed"))


def job_of(told: Mapping[str, SlurmJob], sent: Sent) -> SlurmJob | None:
    """The job of a far spool. Slurm tells of elements that never began as one job, by the number of their array."""
    element, name = element_of(sent.folder), name_of(sent.folder)
    job, array = told.get(f"{name}.{element}"), told.get(name)
    if job is not None or array is None:
        return job
    # A number alone would mean all elements.
    return structs.replace(array, number=sent.job or f"{array.number}_{element}")


def name_of(folder: str) -> str:
    """The name of the job of a far spool."""
    return PurePosixPath(folder).stem


def element_of(folder: str) -> str:
    """The number of the element that makes the run of a far spool."""
    return PurePosixPath(folder).suffix[1:].partition("-")[0]


def jobs_of(text: str) -> dict[str, SlurmJob]:
    """Jobs from lines `number|name|state|reason|nodes` of squeue, by the names of their far spools. Of several with one
    name the last is the newest."""
    found = {}
    for line in text.splitlines():
        number, *rest = line.strip().split("|")
        # A number that is none would be a word of its own for scancel.
        if len(rest) == 4 and rest[1] and _JOB.fullmatch(number):
            _, is_element, place = number.partition("_")
            job = SlurmJob(number=number, name=rest[0], state=rest[1], reason=rest[2], nodes=rest[3])
            found[f"{job.name}.{place}" if is_element else job.name] = job
    return found


def slurm(workspace: Workspace, declared: Declared) -> Slurm:
    """The executor of such settings. Raises UsageError."""
    settings = declared.read(SlurmSettings)
    check_places(declared, settings)
    if set("%\\") & set(settings.folder):
        raise UsageError(
            f"{declared.what}: folder {settings.folder!r} contains % or \\",
            cause="Slurm replaces words such as %j in the path of an output file",
            hint=f"choose another folder in {declared.file}",
        )
    if (said := several_hosts(("sbatch", *settings.options), {})) is not None:
        raise UsageError(
            f"{declared.what}: {said}: a run on several hosts cannot be recorded",
            cause="a run is recorded with the devices, the load and the code of one host",
            hint=f"remove it from options in {declared.file}",
        )
    if array := next((word for word in settings.options if _ARRAY.match(word)), None):
        raise UsageError(
            f"{declared.what}: {array!r} in options makes several jobs of one run",
            cause="a run is one job; logbook starts the cases of a sweep itself",
            hint=f"remove it in {declared.file}; for several runs at once: logbook sweep RECIPE --parallel 4",
        )
    environ = workspace.environ
    shell: Shell = (
        Shell(environ=environ)
        if settings.host is None
        else Ssh(host=settings.host, options=settings.ssh_options, environ=environ)
    )
    return Slurm(shell=shell, settings=settings, environ=environ)
