"""Runs on a Ray cluster. A batch of works is one Job, which spreads them over the nodes (`ray_coordinator.py`); a run
of its own is a batch of one.

The id of the Job is chosen here and stands in the client's spool before it is sent, and Ray takes none twice: so a
submission whose answer was lost starts nothing when it is looked for. An id that Ray does not know is taken by an empty
Job, so that it cannot come later.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import functools
import hashlib
import io
import json
import re
import shlex
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from logbook_agent import __version__
from logbook_agent.cluster.archive import bring, members
from logbook_agent.cluster.far import FETCHED
from logbook_agent.cluster.questions import far_source
from logbook_agent.cluster.ray_api import Jobs, jobs_at
from logbook_agent.cluster.remote import Remote
from logbook_agent.cluster.sent_code import Files, Places, worker_code
from logbook_agent.cluster.shell import Shell
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import ToolError, UsageError
from logbook_agent.model.run import Host
from logbook_agent.running.executors.contract import (
    PIECE_BYTES,
    MachineFacts,
    NoAnswer,
    Stage,
    Submission,
    nothing_sent,
)
from logbook_agent.running.executors.table import Declared
from logbook_agent.store.layout import LOG
from logbook_agent.store.spool import BEGAN, ERRORS, FINAL, HEARTBEAT, SEEN, Sent, Spool, write_sent_together
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted

_ADDRESS = re.compile(r"https?://[^\s/]")
# How the lines of a coordinator begin in the log of its Job, and the name of the word that a work is to be stopped.
_PREFIX, _STOP = "LOGBOOK ", "_ray_pkg_logbook_stop_"
# Whatever depends on the batch lies in the packages: a Job's entrypoint is shown to everybody.
_BOOT = """import sys, ray
ray.init(log_to_driver=False, logging_level="ERROR")
from ray.experimental.internal_kv import _internal_kv_get as get
exec(compile(get(("gcs://" + sys.argv[1]).encode()), "ray_coordinator.py", "exec"))
"""
# The Job that takes an id.
_EMPTY = "true"
# Of what Ray says of a Job that did not begin.
_MESSAGE_CHARS = 300
_GOING = ("PENDING", "RUNNING")
# Whoever asks for a Job again earlier gets what was read last. A worker writes its heartbeat no more often.
_PACE_S, _BEAT_S = 0.5, 4.0
# The log of a Job is read from its end: so many lines first, then more until none is missing.
_LINES = (8, 100, 1000, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySettings(Places):
    """A Ray cluster.

    address: address of the dashboard, `http://HOST:8265`
    cpus: CPUs that Ray reserves for a run
    gpus: GPUs that Ray reserves for a run
    resources: custom resources that Ray reserves for a run, such as `{TPU = 4}`
    python: Python 3.11 or later on the nodes, for workers; default: the one that Ray runs in
    lease_s: seconds after which a run without a result counts as lost once its coordinator or the head has died
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


@dataclass(slots=True)
class Journal:
    """A Job by its id, as far as it was read in this process: its `status` (None: Ray does not know it), and what its
    coordinator told of each work, by their keys. `has_begun`: before that nothing was started."""

    jobs: Jobs
    job: str
    status: str | None = None
    message: str = ""
    is_empty: bool = False
    has_begun: bool = False
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    _head: str | None = None
    _last: int = 0
    _read_at: float = float("-inf")

    @property
    def is_going(self) -> bool:
        return self.status in _GOING

    def refresh(self, *, at_once: bool = False) -> None:
        """Read what is new. Raises ToolError."""
        if not at_once and time.monotonic() - self._read_at < _PACE_S:
            return
        # Asked before the log is read, which is then complete for a Job that has ended.
        found = self.jobs.job(self.job)
        self.status = None if found is None else str(found.get("status"))
        if found is not None:
            self.message = str(found.get("message") or "")
            self.is_empty = found.get("entrypoint") == _EMPTY
            self._head = found.get("driver_node_id") or self._head
        if self._head is not None:
            self._read(self._head)
        self._read_at = time.monotonic()

    def _read(self, head: str) -> None:
        events: list[dict[str, Any]] = []
        for lines in _LINES:
            text = self.jobs.log_bytes(head, f"job-driver-{self.job}.log", lines=lines) or b""
            ours = [line[len(_PREFIX) :] for line in text.split(b"\n") if line.startswith(_PREFIX.encode())]
            events = []
            for line in ours:
                with contextlib.suppress(ValueError):  # it is not whole yet
                    events.append(json.loads(line))
            if events and events[0]["n"] <= self._last + 1:
                break
        for event in events:
            if event["n"] > self._last:
                self._last, self.has_begun = event["n"], True
                if event.get("key"):
                    self.told.setdefault(event["key"], {}).update(event)

    @property
    def ended_as(self) -> str:
        """Why a run has no end that its coordinator saw."""
        if self.status is None:
            return "Ray no longer knows its Job: the head was restarted"
        if self.is_empty:
            return "the submission never arrived"
        # Ray puts the last lines of the log behind words of its own.
        lines = [] if self.has_begun else self.message.strip().splitlines()[-1:]
        why = "".join(lines).strip()[:_MESSAGE_CHARS]
        return f"its coordinator ended as {self.status}{why and f': {why}'}"


@functools.cache
def journal_of(address: str, job: str) -> Journal:
    """The journal of a Job; one for each in this process."""
    return Journal(jobs_at(address), job)


class Ray(Remote):
    """Speaks to the cluster by HTTP. What `far.py` answers on another machine is answered from there."""

    pace_s = 1.0
    hands_over = False
    devices = None

    def __init__(self, settings: RaySettings, environ: Mapping[str, str]) -> None:
        super().__init__(shell=Shell(environ=environ), places=settings, environ=environ, secrets={})
        self.settings = settings
        self.jobs = jobs_at(settings.address)
        # The packages that were brought to the cluster, by the folders where the nodes unpack them.
        self._packages: dict[str, str] = {}

    @property
    def place(self) -> str | None:
        return self.settings.address.partition("://")[2].rstrip("/")

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

    def start_all(self, items: Sequence[Submission], at_most: int) -> None:
        """As `Batch.start_all`."""
        self.submit(items, at_most)

    def folders(self, items: Sequence[Submission]) -> Sequence[str]:
        """Those of one Job: its id, and the number of the work."""
        job = f"logbook-{uuid.uuid4().hex}"
        return [f"{job}.{number}" for number in range(len(items))]

    def launch(self, items: Sequence[tuple[Submission, Sent]], at_most: int) -> None:
        """As `Remote.launch`, by one Job."""
        job, _ = _parts(items[0][1])
        cases = [{"key": _parts(sent)[1], "work": encode(item.work), "pin": item.pin} for item, sent in items]
        with nothing_sent():
            self.provide(self.code_folder, worker_code())
            coordinator = Path(__file__).with_name("ray_coordinator.py").read_bytes()
            program, plan = _package(coordinator), f"_ray_pkg_logbook_plan_{job}.zip"
            self.jobs.provide(program, coordinator)
            folders = {self.code_folder, *(item.work.tree for item, _ in items if item.work.tree)}
            self.jobs.write(plan, json.dumps(self._plan(job, cases, at_most, folders)).encode())
        self.jobs.submit(job, shlex.join(["python", "-P", "-c", _BOOT, program, plan]))
        write_sent_together([(item.spool, dataclasses.replace(sent, job=job)) for item, sent in items])

    def _plan(self, job: str, cases: list[dict[str, Any]], at_most: int, folders: set[str]) -> dict[str, Any]:
        """The plan of the coordinator: the works, and how to start them."""
        top = f"{self.settings.folder}/"
        return {
            "job": job,
            "prefix": _PREFIX,
            "stop": _STOP,
            "folder": self.settings.folder,
            "code": self.code_folder.removeprefix(top),
            "far": far_source(),
            "python": self.settings.python,
            "options": self.settings.options,
            "at_most": at_most,
            "packages": {folder.removeprefix(top): self._packages[folder] for folder in folders},
            "cases": cases,
        }

    def provide(self, folder: str, files: Files, *, is_read_only: bool = False) -> None:
        data = files.archive()
        self._packages[folder] = _package(data)
        self.jobs.provide(self._packages[folder], data)

    def has_arrived(self, spool: Spool, sent: Sent) -> bool:
        """As `Remote.has_arrived`; a Job that has not begun may still do so."""
        job, _ = _parts(sent)
        journal = journal_of(self.settings.address, job)
        journal.refresh(at_once=True)
        if journal.status is None:
            if self.jobs.submit(job, _EMPTY):
                return False
            journal.refresh(at_once=True)
        if journal.is_going and not journal.has_begun and not journal.is_empty:
            raise NoAnswer(f"the job {job} has not started yet", cause=f"its state in Ray is {journal.status}")
        return journal.has_begun

    def end(self, sent: Sent) -> None:
        self.jobs.write(f"{_STOP}{_parts(sent)[1]}.zip")

    # -- following -----------------------------------------------------------------------------------

    def judged(self, spool: Spool, sent: Sent, head: Mapping[str, Any]) -> tuple[Stage, str | None]:
        """As `Remote.judged`. What nobody answers for counts as lost when the lease is over: by then its worker, too,
        has noticed and ended."""
        seen = spool.seen()
        if "unknown" in head:
            if sent.job is None and (seen is None or seen.stage == "sent"):
                closed = head["unknown"] and self.jobs.submit(_parts(sent)[0], _EMPTY)
                return ("never-started", "the submission never arrived") if closed else ("sent", None)
            head = {"stage": "elsewhere", "said": "Ray no longer knows its Job: the head was restarted"}
        stage, said = super().judged(spool, sent, head)
        if stage != "elsewhere" or seen is None or seen.stage != stage:
            return stage, said
        is_over = time.time() - (spool.folder / SEEN).stat().st_mtime > self.settings.lease_s
        return "lost" if is_over else stage, said

    def look(self, spools: Sequence[Spool], *, wait_s: float = 0.0) -> None:
        """Nothing to do: what is read of a Job tells of all its runs."""

    def drop(self, sent: Sent) -> None:
        """Nothing to do: the files lie on a node, which removes them when they are old."""

    def state(self, spool: Spool, sent: Sent, offset: int | None, wait_s: float) -> tuple[object, bytes]:
        """As `Remote.state`: how far a run is, as `far.py` answers on a machine of its own."""
        job, key = _parts(sent)
        journal = journal_of(self.settings.address, job)
        journal.refresh()
        told = journal.told.setdefault(key, {})
        if told.get("event") == "over":
            return self._over(told, key, offset)
        if journal.status is None:
            return {"unknown": not spool.is_held()}, b""
        if not journal.is_going:
            return self._broken_off(journal, told, key), b""
        if told.get("event") != "placed":
            return {"stage": "sent", "said": told.get("said")}, b""
        # Most runs of a batch are over within a second.
        now = time.monotonic()
        if now - told.setdefault("beat_at", now - _BEAT_S + 1.0) >= _BEAT_S:
            told["beat_at"] = now
            for name, file in (("began", BEGAN), ("heartbeat", HEARTBEAT)):
                with contextlib.suppress(ValueError):
                    found = json.loads(self._file(told["node"], key, file) or b"null")
                    told[name] = found or told.get(name)
        output = b"" if offset is None else self._output(told["node"], key, offset)
        return {"stage": "running", "began": told.get("began"), "heartbeat": told.get("heartbeat")}, output

    def _over(self, told: Mapping[str, Any], key: str, offset: int | None) -> tuple[dict[str, Any], bytes]:
        """A run that its coordinator saw end."""
        head = {"stage": told["stage"], "said": told.get("said")}
        if told["stage"] == "ended" and not told.get("files") and not self._is_alive(told["node"]):
            return {"stage": "lost", "said": "its node ended before its files were collected"}, b""
        return head, b"" if offset is None or "node" not in told else self._output(told["node"], key, offset)

    def _broken_off(self, journal: Journal, told: dict[str, Any], key: str) -> dict[str, Any]:
        """A run whose coordinator is gone: it may have ended all the same."""
        said = journal.ended_as
        if not journal.has_begun:
            return {"stage": "never-started", "said": said}
        node = told.get("node")
        end = None if node is None else self._file(node, key, FINAL)
        if not end:
            return {"stage": "elsewhere", "said": said}
        # A command that was ended with the coordinator, which nobody had asked for, is lost.
        is_cut = _is_interrupted(end)
        head = {"stage": "lost", "said": said} if is_cut else {"stage": "ended", "said": None}
        told |= {"event": "over", "node": node, **head}
        return head

    def fetch(self, spool: Spool, sent: Sent) -> None:
        """As `Remote.fetch`: what can be had of the files."""
        job, key = _parts(sent)
        journal = journal_of(self.settings.address, job)
        journal.refresh()
        told = journal.told.setdefault(key, {})
        if told.get("event") != "over" and journal.status is not None and not journal.is_going:
            self._broken_off(journal, told, key)
        if told.get("files"):
            bring(spool, members(io.BytesIO(base64.b64decode(told["files"]))))
            return
        contents: dict[str, bytes] = {}
        node = told.get("node")
        for name in told.get("sizes", FETCHED):
            found = None if node is None else self._file(node, key, name)
            # Ray may answer with nothing for a file that is not there.
            if found or (found is not None and name not in (BEGAN, FINAL)):
                contents[name] = found
        if told.get("stage") == "lost":
            contents.pop(FINAL, None)
        elif told.get("stage") == "ended" and FINAL not in contents:
            if node is not None and self._is_alive(node):
                raise ToolError(
                    f"cannot read the files of {key}", cause="Ray did not return them", hint="logbook status"
                )
            told["said"] = "its node ended before its files were collected"
        said = told.get("said") or (None if journal.is_going else journal.ended_as)
        if said and not contents.get(ERRORS) and FINAL not in contents:
            contents[ERRORS] = f"{said}\n".encode()
        bring(spool, ((name, [content]) for name, content in contents.items()))

    # -- files of a spool on its node, which its coordinator links into the log folder there -----------------

    def _file(self, node: str, key: str, name: str) -> bytes | None:
        return self.jobs.log_bytes(node, f"logbook/{key}/{name}")

    def _output(self, node: str, key: str, offset: int) -> bytes:
        return self.jobs.piece(node, f"logbook/{key}/{LOG}", offset, PIECE_BYTES)

    def _is_alive(self, node: str) -> bool:
        return any(row["node_id"] == node for row in self.jobs.nodes())


def _parts(sent: Sent) -> tuple[str, str]:
    """The Job of a far spool, and its key there."""
    place = PurePosixPath(sent.folder)
    return place.stem, place.name


def _package(data: bytes) -> str:
    """The name of the package with these bytes on a cluster."""
    return f"_ray_pkg_logbook_{hashlib.sha256(data).hexdigest()[:32]}.zip"


def _is_interrupted(end: bytes) -> bool:
    """Whether a worker says that its command was ended from outside."""
    try:
        return bool(json.loads(end)["exit"].get("interrupted"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


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
