"""Runs on a Ray cluster. A run, or a batch of them, is one Job, whose driver spreads them over the nodes
(`ray_driver.py`); its log tells what becomes of them (`ray_log.py`).

The id of the Job is chosen here and stands in the client's spool before it is sent, and Ray takes none twice: so a
submission whose answer was lost is sent again. Once its client is gone, an id that Ray does not know is taken by an
empty Job, so that it cannot come later.
"""

from __future__ import annotations

import functools
import io
import json
import re
import time
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import field, structs

import logbook_agent
from logbook_agent import __version__
from logbook_agent.cluster.questions import Shell, as_text
from logbook_agent.cluster.ray_log import EMPTY, PREFIX, JobLog, Jobs, RunEvents
from logbook_agent.cluster.remote import FarState, Remote
from logbook_agent.cluster.sent_code import Archive, Places, modules_of, worker_code
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import ToolError, UsageError
from logbook_agent.model.worker_report import Host, Stage
from logbook_agent.running.executors.contract import Submission, nothing_sent, units_of
from logbook_agent.running.executors.table import Declared
from logbook_agent.running.provenance.machine import MachineFacts
from logbook_agent.running.worker.tree import ARCHIVE
from logbook_agent.store.run_files import ERRORS, FINAL, SEEN
from logbook_agent.store.spool import Seen, Sent, Spool
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted

_ADDRESS = re.compile(r"https?://[^\s/]")
_DRIVER = "ray_driver.py"


class RaySettings(Places, frozen=True, kw_only=True):
    """A Ray cluster.

    address: address of the dashboard, `http://HOST:8265`
    cpus: CPUs that Ray reserves for a run
    gpus: GPUs that Ray reserves for a run
    resources: custom resources that Ray reserves for a run, such as `{TPU = 4}`
    python: Python 3.11 or later on the nodes, for workers; default: the one that Ray runs in
    lease_s: seconds after which a run without a result counts as lost once its node, the driver of its Job or
        the head has died
    """

    address: str
    cpus: float = 1
    gpus: float = 0
    resources: dict[str, float] = field(default_factory=dict)
    python: str = ""
    lease_s: float = 60.0

    @property
    def options(self) -> dict[str, object]:
        """These resources as options of a Ray task."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "resources": self.resources}


class Ray(Remote):
    """Speaks to the cluster by HTTP. What `far.py` answers on another machine is read from the logs of Jobs."""

    is_batch = True
    pace_s = 1.0
    hands_over = False

    def __init__(self, settings: RaySettings, environ: Mapping[str, str]) -> None:
        self.settings = settings
        place = settings.address.partition("://")[2].rstrip("/")
        super().__init__(shell=Shell(environ=environ), places=settings, environ=environ, secrets={}, place=place)
        self.jobs = Jobs(settings.address)
        # Where packages lie on the cluster, by the folders where nodes unpack them.
        self._packages: dict[str, str] = {}
        self._logs: dict[str, JobLog] = {}

    def hello(self) -> MachineFacts:
        """As `Executor.hello`; its devices are what the nodes offer beside processors."""
        version, nodes = self.jobs.version(), self.jobs.nodes()
        offers: dict[str, float] = {}
        for node in nodes:
            for name, number in node.get("resources_total", {}).items():
                offers[name] = offers.get(name, 0) + number
        needs = {"CPU": self.settings.cpus, "GPU": self.settings.gpus, **self.settings.resources}
        lacking = [name for name, number in needs.items() if offers.get(name, 0) < number]
        if lacking:
            raise ToolError(
                f"no node of {self.place} offers {', '.join(lacking)}",
                cause=f"a run reserves {json.dumps(self.settings.options)}",
                hint="correct cpus, gpus and resources of this executor",
            )
        name = f"{self.place}, Ray {version.get('ray_version')}, {counted(len(nodes), 'node')}"
        return MachineFacts(host=Host(name=name), python=self.settings.python or None, version=__version__)

    # -- submitting ----------------------------------------------------------------------------------

    def folders(self, items: Sequence[Submission]) -> Sequence[str]:
        """Those of one Job: its id, and the number of the work."""
        job = f"logbook-{uuid.uuid4().hex}"
        return [f"{job}.{number}" for number in range(len(items))]

    def launch(self, items: Sequence[tuple[Submission, Sent]], at_most: int) -> None:
        """As `Remote.launch`, by one Job. What depends on its runs lies in packages: an entrypoint is shown to
        everybody."""
        job, _ = _parts(items[0][1])
        with nothing_sent():
            self.provide(self.questions.code_folder, worker_code())
            trees = (f"{item.work.tree}{ARCHIVE}" for item, _ in items if item.work.tree)
            packages = {path: self._packages[path] for path in sorted({self.questions.code_folder, *trees})}
            plan = json.dumps(self._plan(job, items, at_most, [*packages])).encode()
            # What the driver needs of this package, beside Ray.
            top, needed = Path(logbook_agent.__file__).parents[1], modules_of("logbook_agent.cluster.far")
            modules = {path.relative_to(top).as_posix(): path.read_bytes() for path in needed}
            driver = {_DRIVER: Path(__file__).with_name(_DRIVER).read_bytes(), "plan.json": plan, **modules}
            address = self.jobs.provide(f"_ray_pkg_{job}.zip", functools.partial(_zip, driver))
        environment = {"working_dir": address, "py_modules": [*packages.values()]}
        self.jobs.submit(job, f"python {_DRIVER}", environment)
        for item, sent in items:
            item.spool.put(structs.replace(sent, job=job))

    def _plan(
        self, job: str, items: Sequence[tuple[Submission, Sent]], at_most: int, packages: Sequence[str]
    ) -> dict[str, Any]:
        """The plan of the driver: the units of runs, and how to start them."""
        units = units_of(items, lambda item: item[0].pin)
        return {
            "job": job,
            "prefix": PREFIX,
            "spools": f"{self.settings.folder}/spools",
            "stops": self._stops(job),
            "code": self.questions.code_folder,
            "python": self.settings.python,
            "options": self.settings.options,
            "packages": packages,
            "at_most": at_most,
            "units": [[{"key": _parts(sent)[1], "work": encode(item.work)} for item, sent in unit] for unit in units],
        }

    def provide(self, path: str, files: Archive) -> None:
        """As `Remote.provide`; the nodes write the archive, and unpack that of the code."""

        def content() -> bytes:
            return _zip({f"{files.digest}{ARCHIVE}": files.packed()})

        self._packages[path] = self.jobs.provide(f"_ray_pkg_logbook_{files.digest}.zip", content)

    def has_arrived(self, spool: Spool) -> bool:
        """As `Remote.has_arrived`: Ray knows its Job."""
        return (sent := spool.get(Sent)) is not None and self.jobs.job(_parts(sent)[0]) is not None

    def stop(self, spools: Sequence[Spool]) -> None:
        """As `Executor.stop`, by a small Job beside the driver of each Job: it leaves files that the driver looks
        for."""
        stops: dict[str, list[str]] = {}
        for spool in spools:
            if (sent := spool.get(Sent)) is not None and not spool.has(FINAL):
                job, key = _parts(sent)
                stops.setdefault(job, []).append(key.removeprefix(f"{job}."))
        for job, numbers in stops.items():
            files = [f"{self._stops(job)}/{number}" for number in numbers]
            words = f"{as_text(['mkdir', '-p', self._stops(job)])} && {as_text(['touch', *files])}"
            self.jobs.submit(f"{job}-stop-{uuid.uuid4().hex[:8]}", words)

    def _stops(self, job: str) -> str:
        """The folder for the numbers of runs of a Job that are to be ended; old ones are removed as spools are."""
        return f"{self.settings.folder}/spools/{job}.stops"

    # -- following -----------------------------------------------------------------------------------

    def _read(self, spool: Spool, sent: Sent) -> tuple[JobLog, RunEvents]:
        """The log of the Job of a run, and what it tells of the run."""
        job, key = _parts(sent)
        log = self._logs.setdefault(job, JobLog(self.jobs, job))
        return log, log.run(key, functools.partial(self.files.bring, spool))

    def states(
        self, going: Mapping[str, Spool], wait_s: float = 0.0, *, with_log: bool = False
    ) -> Mapping[str, FarState]:
        """As `Remote.states`; one log tells of all runs of a Job, so all are named before it is read."""
        found = {folder: self._read(spool, Sent(folder=folder)) for folder, spool in going.items()}
        return {folder: self._state(*told) for folder, told in found.items()}

    def _state(self, log: JobLog, told: RunEvents) -> FarState:
        log.refresh()
        if not told.is_over and log.facts is None:
            return FarState(is_known=False)
        if told.is_over or log.is_going or told.head.get("stage") == "elsewhere":
            state: FarState = self._decoded(FarState, {"stage": "sent", **told.head})
            return state
        return FarState(stage="elsewhere" if log.has_begun else "never-started", said=log.ended_as)

    def judged(self, spool: Spool, sent: Sent, state: FarState) -> tuple[Stage, str | None]:
        """As `Remote.judged`. What nobody answers for counts as lost when the lease is over: by then its worker, too,
        has noticed and ended."""
        seen, stage, said = spool.get(Seen), state.stage, state.said
        if not state.is_known:
            if sent.job is None and (seen is None or seen.stage == "sent"):
                closed = not spool.is_held() and self.jobs.submit(_parts(sent)[0], EMPTY)
                return ("never-started", "the submission never arrived") if closed else ("sent", None)
            stage, said = "elsewhere", "Ray no longer knows its Job: the head was restarted"
        if stage != "elsewhere" or seen is None or seen.stage != stage:
            return stage, said
        is_over = time.time() - (spool.folder / SEEN).stat().st_mtime > self.settings.lease_s
        return "lost" if is_over else stage, said

    def fetch(self, spool: Spool, sent: Sent) -> None:
        """As `Remote.fetch`: what has come of the files."""
        log, told = self._read(spool, sent)
        log.refresh()
        has_end = told.head.get("stage") == "ended"
        said = told.head.get("said") or (None if log.is_going or told.is_over else log.ended_as)
        if said and not has_end and not (spool.has(ERRORS) and spool.read(ERRORS)):
            spool.files.write(ERRORS, f"{said}\n".encode())
        self.files.finish(spool, has_end=has_end)
        if has_end and not spool.has(FINAL):
            raise ToolError(
                f"cannot read the files of {_parts(sent)[1]}", cause="Ray did not return them", hint="logbook status"
            )

    def drop(self, sent: Sent) -> None:
        """Nothing to do: the node removes the files when they were sent."""


def _parts(sent: Sent) -> tuple[str, str]:
    """The Job of a far spool, and its key there."""
    place = PurePosixPath(sent.folder)
    return place.stem, place.name


def _zip(files: Mapping[str, bytes]) -> bytes:
    """A package of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, data in files.items():
            packed.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def ray(workspace: Workspace, declared: Declared) -> Ray:
    """The executor of such settings."""
    settings = declared.read(RaySettings)
    if not _ADDRESS.match(settings.address):
        raise UsageError(
            f"{declared.what}: {settings.address!r} is not the address of a dashboard",
            cause="Ray's dashboard answers by HTTP",
            hint='write: address = "http://HOST:8265"',
        )
    return Ray(settings, workspace.environ)
