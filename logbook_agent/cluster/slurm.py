"""Slurm, by `sbatch`, `squeue` and `scancel`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from logbook_agent.cluster.batch import Array, Batch, Element
from logbook_agent.cluster.questions import Shell
from logbook_agent.cluster.sent_code import Places, check_places
from logbook_agent.cluster.ssh import Ssh
from logbook_agent.model.errors import ToolError, UsageError
from logbook_agent.running.executors.contract import Unavailable, for_each
from logbook_agent.running.executors.table import Declared
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.script import several_hosts

_JOB = re.compile(r"\d+(?:_\d+)?")
# Slurm ended it, for reasons of its own: the run is to be made again.
_TAKEN = frozenset(("BOOT_FAIL", "NODE_FAIL", "PREEMPTED"))
_OVER = _TAKEN | {"CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "OUT_OF_MEMORY", "REVOKED", "TIMEOUT"}
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
exec {words}."$SLURM_ARRAY_TASK_ID"
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


class Slurm(Batch):
    """Starts workers by `sbatch`."""

    def __init__(self, *, shell: Shell, settings: SlurmSettings, environ: Mapping[str, str]) -> None:
        super().__init__(shell=shell, places=settings, environ=environ, place=shell.host or "slurm")
        self._options = settings.options

    def check(self) -> None:
        """As `Batch.check`."""
        answer = self.shell.run(["sbatch", "--test-only", *self._options], stdin=b"#!/bin/sh\n")
        if answer.code != 0:
            raise ToolError(f"sbatch would not accept a run on {self.place}", cause=answer.said, hint="sinfo")

    def submit(self, array: Array) -> Sequence[str]:
        """As `Batch.submit`. What the settings say comes first, so that it changes nothing here.

        `--export=NONE`: a job would take the variables of this process along, with its secrets, and Slurm would keep
        them on its disk. It has those of a login on its node instead.
        """
        words = [
            "sbatch",
            "--parsable",
            *self._options,
            "--no-requeue",
            "--export=NONE",
            f"--job-name={array.name}",
            f"--chdir={array.folder}",
            "--input=/dev/null",
            f"--output={array.output('%a')}",
            "--open-mode=append",
            f"--array=0-{array.size - 1}%{array.at_most}",
        ]
        answer = self.shell.run(words, stdin=_SCRIPT.format(words=shlex.join(array.words)).encode())
        number = answer.text.strip().partition(";")[0]
        if answer.code != 0 or not number.isdecimal():
            kind = Unavailable if answer.code != 0 and _PASSES.search(answer.err) else ToolError
            raise kind(f"sbatch did not submit {array.name}", cause=answer.said)
        return [f"{number}_{element}" for element in range(array.size)]

    def jobs(self, names: Collection[str]) -> Mapping[str, Element]:
        """As `Batch.jobs`."""
        arrays = sorted({PurePosixPath(name).stem for name in names})
        words = ["--noheader", "--states=all", "--array", f"--name={','.join(arrays)}"]
        answer = self.shell.run(["squeue", *words, "--format=%i|%j|%T|%r|%N"])
        if answer.code != 0:
            raise ToolError("squeue does not answer", cause=answer.said, hint="squeue")
        return jobs_of(answer.text, names)

    def cancel(self, numbers: Sequence[str]) -> None:
        """As `Batch.cancel`; KILL comes after Slurm's KillWait."""

        def cancel(number: str) -> None:
            answer = self.shell.run(["scancel", number])
            if answer.code != 0:
                raise ToolError(f"job {number} cannot be cancelled", cause=answer.said, hint=f"scancel {number}")

        for_each(cancel, numbers)


def jobs_of(text: str, names: Collection[str]) -> dict[str, Element]:
    """Elements by their names, from lines `number|name|state|reason|nodes` of squeue. Of several with one name the last
    is the newest. Slurm tells of elements that never began as one job, by the number of their array."""
    told = {}
    for line in text.splitlines():
        number, *rest = line.strip().split("|")
        # A number that is none would be a word of its own for scancel.
        if len(rest) == 4 and rest[1] and _JOB.fullmatch(number):
            _, is_element, element = number.partition("_")
            told[f"{rest[0]}.{element}" if is_element else rest[0]] = number, *rest[1:]
    found = {}
    for name in names:
        array, _, element = name.rpartition(".")
        if name in told:
            found[name] = _job(*told[name])
        elif array in told:
            number, *rest = told[array]
            # A number alone would mean all elements.
            found[name] = _job(f"{number}_{element}", *rest)
    return found


def _job(number: str, state: str, reason: str, nodes: str) -> Element:
    """Says `job 12 is PENDING (Resources)`."""
    is_over = state in _OVER
    why = f" ({reason})" if reason not in ("", "None") and not is_over else ""
    said = f"job {number} is {state}{why}" + (f" on {nodes}" if nodes else "")
    return Element(number=number, said=said, is_over=is_over, is_taken=state in _TAKEN)


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
