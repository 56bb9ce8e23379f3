"""Runs on a Ray cluster. A run, or a batch of them, is one Job, whose driver spreads them over the nodes
(`ray_driver.py`); its log tells what becomes of them (`ray_log.py`).

The id of the Job is chosen here and stands in the client's spool before it is sent, and Ray takes none twice: an id
that Ray does not know is taken by an empty Job, so that the submission cannot come later.
"""

from __future__ import annotations

import functools
import io
import json
import re
import time
import uuid
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import field

import logbook_agent
from logbook_agent import __version__
from logbook_agent.cluster.batch import Array, Batch, Element, name_of
from logbook_agent.cluster.questions import Shell, as_text, brief
from logbook_agent.cluster.ray_log import EMPTY, PREFIX, JobLog, Jobs
from logbook_agent.cluster.remote import FarState
from logbook_agent.cluster.sent_code import Archive, Places, modules_of, worker_code
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import ToolError, UsageError
from logbook_agent.model.worker_report import OVER, Host
from logbook_agent.running.executors.contract import Submission, units_of
from logbook_agent.running.executors.table import Declared
from logbook_agent.running.provenance.machine import MachineFacts
from logbook_agent.running.worker.tree import ARCHIVE
from logbook_agent.store.run_files import BEGAN, FINAL, SEEN
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


class Ray(Batch):
    """Speaks to the cluster by HTTP. There is no disk that is shared: what `far.py` answers on another machine is read
    from the logs of Jobs."""

    pace_s = 1.0

    def __init__(self, settings: RaySettings, environ: Mapping[str, str]) -> None:
        self.settings = settings
        place = settings.address.partition("://")[2].rstrip("/")
        super().__init__(shell=Shell(environ=environ), places=settings, environ=environ, place=place)
        self._cluster = Jobs(settings.address)
        # Where packages lie on the cluster, by the folders where nodes unpack them.
        self._packages: dict[str, str] = {}
        self._logs: dict[str, JobLog] = {}

    def hello(self) -> MachineFacts:
        """As `Executor.hello`: what is known of all nodes."""
        self.check()
        version, nodes = self._cluster.version(), self._cluster.nodes()
        name = f"{self.place}, Ray {version.get('ray_version')}, {counted(len(nodes), 'node')}"
        return MachineFacts(host=Host(name=name), python=self.settings.python or None, version=__version__)

    # -- what Ray does as a batch system ---------------------------------------------------------------

    def check(self) -> None:
        """As `Batch.check`: whether the nodes offer what a run reserves."""
        offers: dict[str, float] = {}
        for name, number in (one for node in self._cluster.nodes() for one in node.get("resources_total", {}).items()):
            offers[name] = offers.get(name, 0) + number
        needs = {"CPU": self.settings.cpus, "GPU": self.settings.gpus, **self.settings.resources}
        lacking = [name for name, number in needs.items() if offers.get(name, 0) < number]
        if lacking:
            raise ToolError(
                f"no node of {self.place} offers {', '.join(lacking)}",
                cause=f"a run reserves {json.dumps(self.settings.options)}",
                hint="correct cpus, gpus and resources of this executor",
            )

    def submit(self, array: Array) -> Sequence[str]:
        """As `Batch.submit`, by one Job, which goes by the name of the array."""
        self._cluster.submit(array.name, " ".join(array.words), array.payload)
        return [f"{array.name}.{element}" for element in range(array.size)]

    def jobs(self, names: Collection[str]) -> Mapping[str, Element]:
        """As `Batch.jobs`: what the log of its Job says of each run."""
        found = {}
        for name in names:
            log = self._log(name)
            log.refresh()
            head = log.head(name)
            if log.facts is not None:
                is_over = not log.is_going or head.get("stage") in ("elsewhere", *OVER)
                said = head.get("said") or (None if log.is_going else log.ended_as)
                found[name] = Element(number=name, said=said, is_over=is_over)
        return found

    def cancel(self, numbers: Sequence[str]) -> None:
        """As `Batch.cancel`, by a small Job beside the driver of each Job: it leaves files that the driver looks
        for."""
        stops: dict[str, list[str]] = {}
        for number in numbers:
            job, _, element = number.rpartition(".")
            stops.setdefault(job, []).append(f"{self._stops(job)}/{element}")
        for job, files in stops.items():
            words = f"{as_text(['mkdir', '-p', self._stops(job)])} && {as_text(['touch', *files])}"
            self._cluster.submit(f"{job}-stop-{uuid.uuid4().hex[:8]}", words)

    def _stops(self, job: str) -> str:
        """The folder for the numbers of runs of a Job that are to be ended; old ones are removed as spools are."""
        return f"{self.settings.folder}/spools/{job}.stops"

    # -- submitting ----------------------------------------------------------------------------------

    def folders(self, items: Sequence[Submission]) -> Sequence[str]:
        """Those of one Job: its id, and the number of the work."""
        job = f"logbook-{uuid.uuid4().hex}"
        return [f"{job}.{number}" for number in range(len(items))]

    def prepared(self, items: Sequence[tuple[Submission, Sent]], at_most: int) -> Array:
        """As `Batch.prepared`. What depends on its runs lies in packages: an entrypoint is shown to everybody."""
        job = _job_of(items[0][1].folder)
        self.provide(self.questions.code_folder, worker_code())
        trees = (f"{item.work.tree}{ARCHIVE}" for item, _ in items if item.work.tree)
        packages = {path: self._packages[path] for path in sorted({self.questions.code_folder, *trees})}
        plan = json.dumps(self._plan(job, items, at_most, [*packages])).encode()
        # What the driver needs of this package, beside Ray.
        top, needed = Path(logbook_agent.__file__).parents[1], modules_of("logbook_agent.cluster.far")
        modules = {path.relative_to(top).as_posix(): path.read_bytes() for path in needed}
        driver = {_DRIVER: Path(__file__).with_name(_DRIVER).read_bytes(), "plan.json": plan, **modules}
        address = self._cluster.provide(f"_ray_pkg_{job}.zip", functools.partial(_zip, driver))
        return Array(
            name=job,
            size=len(items),
            at_most=at_most,
            folder=f"{self.settings.folder}/spools",
            words=("python", _DRIVER),
            payload={"working_dir": address, "py_modules": [*packages.values()]},
        )

    def _plan(
        self, job: str, items: Sequence[tuple[Submission, Sent]], at_most: int, packages: Sequence[str]
    ) -> dict[str, Any]:
        """The plan of the driver: the units of runs, and how to start them."""
        units = units_of(items, lambda item: item[0].unit)
        works = [[{"key": name_of(sent.folder), "work": encode(item.work)} for item, sent in unit] for unit in units]
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
            "units": works,
        }

    def provide(self, path: str, files: Archive) -> None:
        """As `Remote.provide`; the nodes write the archive, and unpack that of the code."""

        def content() -> bytes:
            return _zip({f"{files.digest}{ARCHIVE}": files.packed()})

        self._packages[path] = self._cluster.provide(f"_ray_pkg_logbook_{files.digest}.zip", content)

    # -- following -----------------------------------------------------------------------------------

    def _log(self, name: str) -> JobLog:
        """The log of the Job that makes a run."""
        job = _job_of(name)
        return self._logs.setdefault(job, JobLog(self._cluster, job))

    def _follow(self, spool: Spool, folder: str) -> JobLog:
        """The same, which brings the files of the run from now on."""
        log = self._log(folder)
        log.run(name_of(folder), functools.partial(self.files.bring, spool))
        return log

    def states(
        self, going: Mapping[str, Spool], wait_s: float = 0.0, *, with_log: bool = False
    ) -> Mapping[str, FarState]:
        """As `Remote.states`; one log tells of all runs of a Job, so all are named before it is read."""
        logs = {folder: self._follow(spool, folder) for folder, spool in going.items()}
        for log in logs.values():
            log.refresh()
        return {folder: self._state(log, folder, going[folder]) for folder, log in logs.items()}

    def _state(self, log: JobLog, folder: str, spool: Spool) -> FarState:
        """What a driver says of a run while it lives counts as a sign of life of its worker."""
        head = log.head(name_of(folder))
        if head.get("stage") in OVER or (log.is_going and head.get("stage") != "elsewhere"):
            over = {"is_closed": head.get("stage") in OVER}
            state: FarState = self._decoded(FarState, {"stage": "sent", **head, "silent_s": 0.0, **over})
            return state
        # Of a Job that Ray has forgotten it is unknown how far it came.
        sent = spool.get(Sent)
        is_forgotten = log.facts is None and (spool.has(BEGAN) or (sent is not None and sent.job is not None))
        return FarState(has_begun=log.has_begun or is_forgotten)

    def close(self, spool: Spool, sent: Sent, said: str | None) -> bool:
        """As `Batch.close`. An id that Ray does not know is taken by an empty Job. A run that has begun is over when
        nobody has answered for it for so long that its worker, too, has noticed and ended."""
        if said is not None:
            seen = spool.get(Seen)
            is_told = seen is not None and seen.said == brief(said)
            return is_told and time.time() - (spool.folder / SEEN).stat().st_mtime > self.settings.lease_s
        log = self._log(sent.folder)
        return (log.facts is not None and not log.is_going) or self._cluster.submit(log.job, EMPTY)

    def fetch(self, spool: Spool, sent: Sent) -> None:
        """As `Remote.fetch`: what has come of the files."""
        log, name = self._follow(spool, sent.folder), name_of(sent.folder)
        log.refresh()
        has_end = log.head(name).get("stage") == "ended"
        self.files.finish(spool, has_end=has_end)
        if has_end and not spool.has(FINAL):
            raise ToolError(f"cannot read the files of {name}", cause="Ray did not return them", hint="logbook status")

    def drop(self, sent: Sent) -> None:
        """Nothing to do: the node removes the files when they were sent."""


def _job_of(folder: str) -> str:
    """The Job of a far spool."""
    return PurePosixPath(folder).stem


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
