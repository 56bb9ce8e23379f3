"""Workers as jobs of a batch system: a job becomes the worker of a far spool, on a disk that the nodes share.

A batch system is four functions; what is the same for all of them stands here. The far spool is the truth. What a
batch system says is a hint, asked for only while nothing is heard of the worker, for all jobs at once; a job
carries the name of its far spool, so that one whose submission was not answered is found again. No submission is sent
twice: a far spool whose job is not there is closed, and a worker that would come later refuses it.

Units of runs are the elements of an array, also a single one. The name of a far spool is that of the job, the number
of the element, and, for all but the first of a unit, another number: `NAME.3`, `NAME.3-1`.
"""

from __future__ import annotations

import abc
import contextlib
import re
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct, structs

from logbook_agent.cluster.remote import FarState, Remote, new_name
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import ToolError
from logbook_agent.model.worker_report import Stage
from logbook_agent.running.executors.contract import Submission, nothing_sent, units_of
from logbook_agent.running.programs import NoAnswer
from logbook_agent.running.provenance.machine import MachineFacts
from logbook_agent.running.worker.work import OWN, Work
from logbook_agent.store.run_files import ERRORS, SENT
from logbook_agent.store.spool import Sent, Spool

# A worker gives a sign every few seconds; one that was heard of since then lives, whatever the batch system says.
FRESH_S = 20.0
# A batch system is asked no more often than this.
_ASK_S = 3.0
# What batch systems write into the output of a job that they end to have its node.
_SAID_TAKEN = re.compile("DUE TO (PREEMPTION|NODE FAILURE|JOB REQUEUE)")


class Array(Struct, frozen=True, kw_only=True):
    """A job of `size` elements, of which `at_most` run at once. Nothing else has its `name`; element N, from 0 on, is
    called `NAME.N`. It runs `words`, an argument vector, with `.N` behind the last one, in `folder`, which is on the
    disk that the nodes share; its output goes to the end of the file `output(N)`. `payload`: what goes along with it
    where disks are not shared."""

    name: str
    size: int
    at_most: int
    folder: str
    words: tuple[str, ...]
    payload: Any = None

    def output(self, element: object) -> str:
        return f"{self.folder}/{self.name}.{element}/{ERRORS}"


class Element(Struct, frozen=True, kw_only=True):
    """What a batch system says of an element of an array: its `number`, by which it is cancelled, in words how far it
    is, and whether it is over. `is_taken`: the batch system ended it for reasons of its own, such as a preemption, so
    its runs are to be made again."""

    number: str
    said: str | None
    is_over: bool = False
    is_taken: bool = False


class Batch(Remote):
    """Starts workers by a batch system, which is four functions: `check`, `submit`, `jobs` and `cancel`. Each raises
    ToolError where it fails."""

    is_batch = True

    # The elements that are looked at; what was said of such elements, or why it was not, and until when that counts.
    _names: frozenset[str] = frozenset()
    _told: tuple[frozenset[str], float, Mapping[str, Element] | ToolError] = (frozenset(), float("-inf"), {})

    # -- a batch system --------------------------------------------------------------------------------

    @abc.abstractmethod
    def check(self) -> None:
        """Raise ToolError where the batch system does not answer, or would not accept a job."""

    @abc.abstractmethod
    def submit(self, array: Array) -> Sequence[str]:
        """Submit an array, of which the batch system never starts an element again; the numbers of its elements, in
        order. Raises Unavailable where nothing was accepted and the same may be accepted later. After any error, its
        elements are looked for by their names."""

    @abc.abstractmethod
    def jobs(self, names: Collection[str]) -> Mapping[str, Element]:
        """Elements by their names. One that it has forgotten, or never had, is left out: if nothing is heard of its
        worker, it is given up, and cannot begin any more."""

    @abc.abstractmethod
    def cancel(self, numbers: Sequence[str]) -> None:
        """Send TERM to the elements of these numbers, and KILL later. One that waits never runs."""

    # -- what is the same for all ----------------------------------------------------------------------

    def hello(self) -> MachineFacts:
        """As `Executor.hello`. Raises ToolError, too, where the batch system would not accept a run."""
        found = super().hello()
        self.check()
        return found

    def folders(self, items: Sequence[Submission]) -> Sequence[str]:
        """Those of one array."""
        name = f"{items[0].work.entry}.{items[0].work.run:02d}-{new_name()}"
        names = {}
        for number, unit in enumerate(units_of(items, lambda item: item.unit)):
            for place, item in enumerate(unit):
                names[item.spool.folder] = f"{name}.{number}" + (f"-{place}" if place else "")
        return [names[item.spool.folder] for item in items]

    def carry(self, spool: Spool, work: Work) -> Work:
        """As `Remote.carry`. A batch system stores what is submitted: no secret is handed over."""
        if any(name.startswith(OWN) for name in work.hidden.values()):
            raise ToolError(
                "the command holds a secret",
                cause="a queue stores what is submitted, and others can read it",
                hint="pass it in an environment variable that is set where the command runs",
            )
        return super().carry(spool, work)

    def launch(self, items: Sequence[tuple[Submission, Sent]], at_most: int) -> None:
        """As `Remote.launch`. A submission that failed may have arrived all the same: the batch system is asked."""
        self._names = frozenset(name_of(sent.folder) for _, sent in items)
        with nothing_sent():
            array = self.prepared(items, at_most)
        try:
            numbers = self.submit(array)
        except ToolError:
            if not sum(self._has_job(item.spool, sent) for item, sent in items):
                raise
            return
        for item, sent in items:
            item.spool.put(structs.replace(sent, job=numbers[_element(sent)]))

    def prepared(self, items: Sequence[tuple[Submission, Sent]], at_most: int) -> Array:
        """The array that makes these runs, after their works were brought there. Raises ToolError."""
        works = {sent.folder: encode(item.work) for item, sent in items}
        made, _ = self.ask("put", {"works": works})
        # Whole paths, as they are on the login node: a node may have another home, and other programs first.
        folders, python = made.get("made"), str(made.get("python"))
        if not isinstance(folders, dict) or folders.keys() != works.keys():
            raise ToolError(f"{items[0][1].folder} already exists", cause=f"reported by {self.place}")
        first = PurePosixPath(str(folders[items[0][1].folder]).removesuffix(".0"))
        code = first.parents[1] / PurePosixPath(self.questions.code_folder).relative_to(self.places.folder)
        return Array(
            name=first.name,
            size=1 + max(_element(sent) for _, sent in items),
            at_most=at_most,
            folder=str(first.parent),
            words=(python, "-P", str(code), "unit", str(first)),
        )

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
        """Whether there is a job for a far spool, which is closed otherwise: where the batch system does not answer,
        one may be there, and lets no worker begin. Raises ToolError."""
        job = None
        with contextlib.suppress(ToolError):
            job = self._job(sent)
        if job is None:
            return not self.close(spool, sent, None)
        spool.put(structs.replace(sent, job=job.number))
        return True

    def states(
        self, going: Mapping[str, Spool], wait_s: float = 0.0, *, with_log: bool = False
    ) -> Mapping[str, FarState]:
        """As `Remote.states`."""
        self._names = frozenset(map(name_of, going))
        return super().states(going, wait_s, with_log=with_log)

    def judged(self, spool: Spool, sent: Sent, state: FarState) -> tuple[Stage, str | None]:
        """How far a run is. The batch system is asked only while nothing was heard of its worker for a while."""
        if state.stage == "ended":
            return ("lost" if _SAID_TAKEN.search(state.complaint) else "ended"), None
        if state.is_closed:
            return state.stage, state.said
        alive: Stage = "running" if state.has_begun else "sent"
        is_fresh = state.has_begun and state.silent_s is not None and abs(state.silent_s) < FRESH_S
        # While a client submits it, there need be no job yet.
        if spool.is_held() or is_fresh:
            return alive, None
        job = self._job(sent)
        said = job.said if job is not None else f"{self.place} has no record of its job"
        if job is not None and not job.is_over:
            return alive, said
        if not self.close(spool, sent, said if state.has_begun else None):
            return alive, said if state.has_begun else None  # it may have begun or ended meanwhile
        return ("lost" if state.has_begun or (job is not None and job.is_taken) else "never-started"), said

    def end(self, sents: Sequence[Sent]) -> None:
        """As `Remote.end`."""
        self._names = frozenset(name_of(sent.folder) for sent in sents)
        jobs = [self._job(sent) for sent in sents]
        if numbers := [job.number for job in jobs if job is not None and not job.is_over]:
            self.cancel(numbers)

    def close(self, spool: Spool, sent: Sent, said: str | None) -> bool:
        """Let no worker begin any more where none has; whether nothing more is to come of a run. `said`: why a run that
        has begun is over."""
        return bool(self.ask("close", {"folder": sent.folder})[0].get("closed"))

    def _job(self, sent: Sent) -> Element | None:
        """What the batch system says of the job of a far spool; None when it has none, or has forgotten it. It is asked
        for all jobs together, every few seconds. Raises ToolError when it does not answer."""
        names, until, told = self._told
        if (name := name_of(sent.folder)) not in names or time.monotonic() >= until:
            names = self._names | {name}
            try:
                told = self.jobs(names)
            except ToolError as error:
                told = error
            self._told = names, time.monotonic() + _ASK_S, told
        if isinstance(told, ToolError):
            raise told
        return told.get(name)


def name_of(folder: str) -> str:
    """The name of the element that makes the run of a far spool."""
    path = PurePosixPath(folder)
    return path.stem + path.suffix.partition("-")[0]


def _element(sent: Sent) -> int:
    """The number of that element."""
    return int(PurePosixPath(name_of(sent.folder)).suffix[1:])
