"""Batches of works on their way to a Ray cluster.

The Job of a batch may be started before its works are recorded: it begins without a plan, and ends by itself when none
comes. Whatever becomes of the client meanwhile, works start only by a plan, and that is written after all of them stand
on disk here, with the id of the Job.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from logbook_agent.model.codec import encode
from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import NoAnswer, Submission, Unavailable, nothing_sent
from logbook_agent.running.executors.ray_jobs import jobs_at
from logbook_agent.running.executors.ray_plan import PREFIX, STOP, coordinator, entrypoint, package, plan_of
from logbook_agent.store.spool import Sent, write_sent_together

# A Job that began to wait no longer ago is given a plan. It waits longer than that (`ray_coordinator.py`).
_FRESH_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySettings:
    """A Ray cluster.

    address: address of the dashboard, `http://HOST:8265`
    cpus: CPUs that Ray reserves for a run
    gpus: GPUs that Ray reserves for a run
    resources: custom resources that Ray reserves for a run, such as `{TPU = 4}`
    folder: folder on the nodes for code, synced files and the files of runs
    python: Python 3.11 or later on the nodes, for workers; default: the one that Ray runs in
    sync: whether to send the files that git tracks or does not ignore
    tree: with `sync = false`, the folder on the nodes that corresponds to the top of the repository; default: the same
        path as here
    lease_s: seconds after which a run without a result counts as lost once its coordinator or the head has died
    """

    address: str
    cpus: float = 1
    gpus: float = 0
    resources: dict[str, float] = field(default_factory=dict)
    folder: str = "~/.cache/logbook-agent"
    python: str = ""
    sync: bool = True
    tree: str | None = None
    lease_s: float = 60.0

    @property
    def options(self) -> dict[str, Any]:
        """The same for a task of Ray."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "resources": self.resources}


class RaySubmitter:
    """Has Jobs started on the cluster of these settings."""

    def __init__(self, settings: RaySettings) -> None:
        self._settings = settings
        self._jobs = jobs_at(settings.address)
        # A Job that waits for its plan, and since when, by the monotonic clock.
        self._expected: tuple[str, float] | None = None
        # Those of the next batch, by the folder that they are to lie in on the nodes.
        self._packages: dict[str, str] = {}

    def forget_packages(self) -> None:
        """Begin a batch: packages of earlier ones are not sent along, and may be gone from the cluster."""
        self._packages.clear()

    def provide(self, folder: str, data: bytes) -> None:
        """Have an archive on the cluster that is to be in this folder of each node. Raises ToolError."""
        self._packages[folder] = package(data)
        self._jobs.provide(self._packages[folder], data)

    def expect(self) -> None:
        """Start a Job that waits for its plan, if that is possible."""
        job = _new_job()
        with contextlib.suppress(ToolError):
            self._start(job)
            self._expected = job, time.monotonic()

    def submit(self, items: Sequence[Submission], at_most: int, code: str) -> None:
        """Submit works as they hold on the nodes; the worker lies in the folder `code` there. As `Batch.start_all`."""
        expected, self._expected = self._expected, None
        waits = expected is not None and time.monotonic() - expected[1] < _FRESH_S
        job = expected[0] if expected is not None and waits else _new_job()
        cases, sent = [], []
        for item in items:
            key = f"{item.work.entry}.{item.work.run:02d}-{uuid.uuid4().hex[:12]}"
            where = Sent(folder=f"{self._settings.folder}/spools/{job}/{key}", job=job if waits else None)
            sent.append((item.spool, where))
            cases.append({"key": key, "work": encode(item.work), "pin": item.pin})
        write_sent_together(sent)
        plan = self._plan(job, cases, at_most, code)
        if waits:
            self._give(job, plan)
            return
        with nothing_sent():
            self._jobs.write(plan_of(job), plan)
        self._start(job)
        write_sent_together([(spool, dataclasses.replace(one, job=job)) for spool, one in sent])

    def prune(self, code: str) -> str:
        """Start a Job that prunes all nodes, and return its id. Raises ToolError."""
        job = _new_job()
        self._jobs.write(plan_of(job), self._plan(job, [], 0, code, prunes=True))
        self._start(job)
        return job

    def _start(self, job: str) -> None:
        program = package(coordinator())
        with nothing_sent():
            self._jobs.provide(program, coordinator())
        self._jobs.submit(job, entrypoint(program, plan_of(job)))

    def _give(self, job: str, plan: bytes) -> None:
        """Write the plan that a Job waits for. Raises Unavailable, NoAnswer."""
        try:
            self._jobs.write(plan_of(job), plan)
        except (NoAnswer, Unavailable):
            raise
        except ToolError as error:
            # It may stand there all the same.
            raise NoAnswer(error.message, cause=error.cause, hint=error.hint) from error

    def _plan(self, job: str, cases: list[dict[str, Any]], at_most: int, code: str, *, prunes: bool = False) -> bytes:
        """What the coordinator is to do."""
        top = f"{self._settings.folder}/"
        plan = {
            "job": job,
            "prefix": PREFIX,
            "stop": STOP,
            "folder": self._settings.folder,
            "code": code.removeprefix(top),
            "python": self._settings.python,
            "options": self._settings.options,
            "at_most": at_most,
            "packages": {folder.removeprefix(top): name for folder, name in self._packages.items()},
            "cases": cases,
            "prunes": prunes,
        }
        return json.dumps(plan).encode()


def _new_job() -> str:
    return f"logbook-{uuid.uuid4().hex}"
