"""Start the processes of a job, watch them, and report for all of them. No JAX: this process has no device.

A process that dies may take the others with it, or leave them waiting for ever. So whoever has started them decides:
as soon as one is gone all end, and the case that ran is a failed row with the reason.
"""

import os
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from bench_core.errors import UsageError
from bench_core.harness.record import RESULT_FILE_VARIABLE, Failure, Row, to_json
from bench_core.job.flags import JobFlags
from bench_core.job.link import Place, Task
from bench_core.job.members import Member, start, watch

Clock = Callable[[], float]

START_LIMIT_S = 120.0
"""After this the processes of a job must have found each other. It takes seconds; JAX starts slowly on a busy host."""
GRACE_S = 2.0
"""So long the others may live when one is gone: long enough to say that they have noticed."""


class Told(Protocol):
    """Who reports to the user."""

    def progress(self, text: str) -> None: ...

    def lines(self, lines: list[str], document: Mapping[str, object]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A command by several processes. `blank` has a row for each case, with what is known before it is run."""

    command: str
    given: Mapping[str, Any]
    flags: JobFlags
    processes: int
    devices: int | None
    blank: Sequence[Row]

    def places(self) -> list[Place]:
        """Of the processes that this host starts."""
        if self.flags.coordinator is not None and self.flags.process_id is not None:
            return [
                Place(
                    process=self.flags.process_id,
                    processes=self.processes,
                    coordinator=self.flags.coordinator,
                    local_devices=None if self.devices is None else self.devices // self.processes,
                )
            ]
        address = f"127.0.0.1:{_free_port()}"
        share = (self.devices or self.processes) // self.processes
        return [
            Place(process=index, processes=self.processes, coordinator=address, local_devices=share)
            for index in range(self.processes)
        ]


@dataclass(slots=True, kw_only=True)
class _Progress:
    """What the processes have said so far."""

    told: Told
    at: int
    """The case that runs, or is the next to run."""
    document: Mapping[str, object]
    good: bool = True

    def hear(self, member: Member, message: Mapping[str, Any]) -> None:
        match message["kind"]:
            case "progress":
                self.told.progress(message["text"])
            case "begun":
                self.at, self.document = message["index"], message["document"]
            case "ended":
                self.told.lines(message["lines"], message["document"])
                self.good = self.good and "failed" not in message["document"]
                self.at = message["index"] + 1
            case "refused":
                raise UsageError(message["message"], cause=message["cause"], hint=message["hint"])
            case kind:
                member.said[kind] = message


def lead(job: Job, told: Told, clock: Clock = time.monotonic) -> bool:
    """Run a job to its end; True when no case failed.

    On one host a case whose processes died is a failed row, and new processes run the next one. Among several hosts
    nobody starts the others again: the cases that are left are failed rows too.

    Raises:
        UsageError: a process says that the request is wrong, or the coordinator's port is taken.
    """
    until = None if job.flags.timeout is None else clock() + job.flags.timeout
    _refuse_taken(job.flags)
    first, good = 1, True
    while first <= len(job.blank):
        heard = _Progress(told=told, at=first, document=job.blank[first - 1].as_json())
        failure = _attempt(job, heard, first, until, clock)
        good = good and heard.good and failure is None
        if failure is None:
            return good
        told.progress(f"failed ({failure.reason}): {failure.message}")
        _report_lost(told, heard.document, failure)
        first = heard.at + 1
        if job.flags.coordinator is not None or failure.reason in ("timeout", "no_start"):
            for row in job.blank[first - 1 :]:
                _report_lost(told, row.as_json(), replace(failure, message=f"not run: {failure.message}"))
            return False
    return good


def _report_lost(told: Told, document: Mapping[str, object], failure: Failure) -> None:
    lost = {**document, "failed": {"reason": failure.reason, "message": failure.message}}
    told.lines([f"RESULT_JSON {to_json(lost)}"], lost)


def _attempt(job: Job, heard: _Progress, first: int, until: float | None, clock: Clock) -> Failure | None:
    """Run the cases from `first` on; None when all have been run."""
    environ = {name: value for name, value in os.environ.items() if name != RESULT_FILE_VARIABLE}
    started = clock()
    with tempfile.TemporaryDirectory(prefix="bench-core-") as folder:
        members: list[Member] = []
        try:
            for place in job.places():
                task = Task(place=place, command=job.command, given=job.given, first=first, messages=-1)
                members.append(start(task, Path(folder) / f"process-{place.process}", environ))
            gone: float | None = None
            while any(member.runs() for member in members):
                for member, message in watch(members, 0.1):
                    heard.hear(member, message)
                now = clock()
                if until is not None and now > until:
                    return Failure(reason="timeout", message=f"the job took longer than {job.flags.timeout:g} s")
                if now - started > START_LIMIT_S and not all("joined" in member.said for member in members):
                    return Failure(reason="no_start", message=_no_start(members, job.processes))
                if gone is None and any(member.is_lost() for member in members):
                    gone = now
                if gone is not None and now - gone > GRACE_S:
                    break
            for member, message in watch(members, 0):
                heard.hear(member, message)
            return _root(members, job.processes)
        finally:
            for member in members:
                member.end()


def _no_start(members: Sequence[Member], processes: int) -> str:
    late = [str(member.place.process) for member in members if "joined" not in member.said]
    return f"process {' and '.join(late)} of {processes} did not find the others within {START_LIMIT_S:g} s"


def _root(members: Sequence[Member], processes: int) -> Failure | None:
    """The failure that came first: one that dies without a word makes the others fail with one."""
    lost = [member for member in members if member.is_lost()]
    if not lost:
        return None
    member = min(lost, key=lambda member: member.rank())
    said = member.said.get("gave_up")
    who = f"process {member.place.process} of {processes}"
    if said is not None:
        return Failure(reason=said["reason"], message=f"{who}: {said['message']}")
    last = member.last_words()
    return Failure(reason="process_lost", message=f"{who} {member.fate()}" + (f"; it wrote:\n{last}" if last else ""))


def _refuse_taken(flags: JobFlags) -> None:
    """Process 0 listens at the coordinator's port; JAX's own answer to a port that is taken is a crash."""
    if flags.coordinator is None or flags.process_id != 0:
        return
    port = int(flags.coordinator.rpartition(":")[2])
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise UsageError(
                f"port {port} of --coordinator cannot be listened at: {error.strerror}",
                cause="process 0 listens there, so it runs on the host that --coordinator names",
                hint="use another port, the same for all processes",
            ) from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
