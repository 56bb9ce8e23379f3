"""Runs on a Ray cluster. A batch of works is one Job, which spreads them over the nodes (`ray_coordinator.py`); a run
of its own is a batch of one.

The id of the Job is chosen here and stands in the client's spool before it is sent, and Ray takes none twice: so a
submission whose answer was lost starts nothing when it is looked for. An id that Ray does not know is taken by an empty
Job, so that it cannot come later.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import tarfile
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from logbook_agent import __version__
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.carried import Files, worker_code
from logbook_agent.running.executors.contract import PIECE_BYTES, Stage, Submission
from logbook_agent.running.executors.ray_files import beats_of, inline_files, piece, place_of
from logbook_agent.running.executors.ray_jobs import jobs_at
from logbook_agent.running.executors.ray_journal import Journal, journal_of
from logbook_agent.running.executors.ray_plan import PREFIX, STOP, coordinator, entrypoint, package
from logbook_agent.running.executors.remote import Places, Remote
from logbook_agent.running.executors.settings import Declared
from logbook_agent.running.executors.shell import Here, NoAnswer, ShellAnswer
from logbook_agent.running.executors.submitted import sent_of, write_sent
from logbook_agent.running.worker.work import Work
from logbook_agent.store.reading import LOG
from logbook_agent.store.spool import BEGAN, ERRORS, FINAL, SEEN, SENT, Sent, Spool
from logbook_agent.store.workspace import Workspace

_BROUGHT = (BEGAN, LOG, "changes.diff", ERRORS, FINAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySettings:
    """`address` of the dashboard. What a run takes of a node: `cpus`, `gpus` and `resources`, such as `{TPU = 4}`.
    `folder` and `tree` lie on the nodes, as in `Places`; `python`: instead of Ray's own. `lease_s`: so long after its
    coordinator or the head is gone, a run without an end counts as lost."""

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


class Ray(Remote):
    """Speaks to the cluster by HTTP. What `far.py` answers on another machine is answered from there."""

    pace_s = 1.0
    hands_over = False

    def __init__(self, settings: RaySettings, environ: Mapping[str, str]) -> None:
        places = Places(folder=settings.folder, python=settings.python, sync=settings.sync, tree=settings.tree)
        super().__init__(shell=Here(environ=environ), places=places, environ=environ, secrets={})
        self.settings = settings
        self.jobs = jobs_at(settings.address)
        # By the folder that they are to lie in on the nodes.
        self._packages: dict[str, str] = {}

    @property
    def place(self) -> str | None:
        return self.settings.address.partition("://")[2].rstrip("/")

    def hello(self) -> dict[str, Any]:
        """As `Executor.hello`; its devices are what the nodes offer beside processors."""
        version, nodes = self.jobs.version(), self.jobs.nodes()
        offers: dict[str, float] = {}
        for node in nodes:
            for name, number in node.get("resources_total", {}).items():
                offers[name] = offers.get(name, 0) + number
        lacking = [name for name, number in self._needs().items() if offers.get(name, 0) < number]
        if lacking:
            raise ToolError(
                f"no node of {self.place} offers {', '.join(lacking)}",
                cause=f"a run reserves {json.dumps(self.settings.options)}",
                hint="correct cpus, gpus and resources of this executor",
            )
        name = f"{self.place}, Ray {version.get('ray_version')}, {len(nodes)} node{'' if len(nodes) == 1 else 's'}"
        return {"version": __version__, "host": {"name": name}, "devices": [], "python": self.settings.python or None}

    def _needs(self) -> dict[str, float]:
        return {"CPU": self.settings.cpus, "GPU": self.settings.gpus, **self.settings.resources}

    # -- submitting ----------------------------------------------------------------------------------

    def start(self, spool: Spool, claim: int, work: Work, secrets: Mapping[str, str]) -> None:
        self.start_all([Submission(spool=spool, claim=claim, work=work, secrets=secrets)], at_most=1)

    def start_all(self, items: Sequence[Submission], at_most: int) -> None:
        """As `Batch.start_all`."""
        new = [item for item in items if not item.spool.has(FINAL) and not item.spool.has(SENT)]
        if not new:
            return
        for item in new:
            self.check_secrets(item.work)
        self.provide(self.code_folder, worker_code())
        carried = [(item, self.carry(item.spool, item.work)) for item in new]
        job = f"logbook-{uuid.uuid4().hex}"
        cases = []
        for item, work in carried:
            key = f"{work.entry}.{work.run:02d}-{uuid.uuid4().hex[:12]}"
            write_sent(item.spool, Sent(folder=f"{self.places.folder}/spools/{job}/{key}"), self.environ)
            cases.append({"key": key, "work": encode(work), "pin": item.pin})
        try:
            self._submit(job, cases, at_most)
        except NoAnswer as error:
            if error.is_certain:
                raise
        else:
            for item, _ in carried:
                if (sent := sent_of(item.spool, self.environ)) is not None:
                    write_sent(item.spool, dataclasses.replace(sent, job=job), self.environ)

    def _submit(self, job: str, cases: list[dict[str, Any]], at_most: int) -> None:
        top = f"{self.places.folder}/"
        plan = {
            "job": job,
            "prefix": PREFIX,
            "stop": STOP,
            "folder": self.places.folder,
            "code": self.code_folder.removeprefix(top),
            "python": self.settings.python,
            "options": self.settings.options,
            "at_most": at_most,
            "packages": {folder.removeprefix(top): name for folder, name in self._packages.items()},
            "cases": cases,
        }
        packages = {package(data): data for data in (coordinator(), json.dumps(plan).encode())}
        try:
            for name, data in packages.items():
                self.jobs.provide(name, data)
        except NoAnswer as error:
            # Nothing starts by a package alone.
            error.is_certain = True
            raise
        self.jobs.submit(job, entrypoint(*packages))

    def provide(self, folder: str, files: Files) -> None:
        data = files.archive()
        self._packages[folder] = package(data)
        self.jobs.provide(self._packages[folder], data)

    # -- following -----------------------------------------------------------------------------------

    def judged(self, spool: Spool, sent: Sent, head: Mapping[str, Any]) -> tuple[Stage, str | None]:
        """As `Remote.judged`. What nobody answers for counts as lost when the lease is over: by then its worker, too,
        has noticed and ended."""
        seen = spool.seen()
        if "unknown" in head:
            if sent.job is None and (seen is None or seen.stage == "sent"):
                closed = head["unknown"] and self.jobs.submit(sent.folder.split("/")[-2], "true")
                return ("never-started", "the submission never arrived") if closed else ("sent", None)
            head = {"stage": "elsewhere", "said": "Ray no longer knows its Job: the head was restarted"}
        stage, said = super().judged(spool, sent, head)
        if stage != "elsewhere" or seen is None or seen.stage != stage:
            return stage, said
        is_over = time.time() - (spool.folder / SEEN).stat().st_mtime > self.settings.lease_s
        return "lost" if is_over else stage, said

    def look(self, spools: Sequence[Spool]) -> None:
        """Nothing to do: what is read of a Job tells of all its runs."""

    def far(self, words: list[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> ShellAnswer:
        """Answer as `far.py` does on a machine of its own."""
        verb, folder, *options = words
        job, key = folder.split("/")[-2:]
        journal = journal_of(self.settings.address, job)
        if verb in ("follow", "fetch"):
            journal.refresh()
        if verb == "follow":
            offset = int(options[options.index("--offset") + 1]) if "--offset" in options else None
            head, output = self._followed(journal, key, offset, close="--close" in options)
            return ShellAnswer(code=0, out=json.dumps(head).encode() + b"\n" + output)
        if verb == "fetch":
            return ShellAnswer(code=0, out=self._fetched(journal, key))
        if verb == "stop":
            self.jobs.put(f"{STOP}{key}.zip")
        return ShellAnswer(code=0, out=b"{}\n")

    def _followed(self, journal: Journal, key: str, offset: int | None, *, close: bool) -> tuple[dict[str, Any], bytes]:
        """What is known of a run, and its log from this byte on."""
        told = journal.told.setdefault(key, {})
        if told.get("event") == "over":
            return self._over(told, key, offset)
        if journal.status is None:
            return {"unknown": close}, b""
        if not journal.is_going:
            return self._broken_off(journal, told, key), b""
        if told.get("event") != "placed":
            return {"stage": "sent", "said": told.get("said")}, b""
        found = beats_of(self.settings.address, told["node"], key)
        found.refresh()
        output = b"" if offset is None else self._output(told["node"], key, offset)
        return {"stage": "running", "began": found.began, "heartbeat": found.heartbeat}, output

    def _over(self, told: Mapping[str, Any], key: str, offset: int | None) -> tuple[dict[str, Any], bytes]:
        """A run that its coordinator saw end."""
        head = {"stage": told["stage"], "said": told.get("said")}
        files = inline_files(told)
        if files is not None:
            return head, b"" if offset is None else files.get(LOG, b"")[offset : offset + PIECE_BYTES]
        if told["stage"] == "ended" and not self._is_alive(told["node"]):
            return {"stage": "lost", "said": "its node ended before its files were collected"}, b""
        return head, b"" if offset is None or "node" not in told else self._output(told["node"], key, offset)

    def _broken_off(self, journal: Journal, told: dict[str, Any], key: str) -> dict[str, Any]:
        """A run whose coordinator is gone: it may have ended all the same."""
        said = _ended_as(journal)
        if not journal.has_begun:
            return {"stage": "never-started", "said": f"{said}: {journal.message.strip()[-300:]}"}
        node = told.get("node") or self._node_of(key, FINAL)
        end = None if node is None else self.jobs.log_bytes(node, place_of(key, FINAL))
        if not end:
            return {"stage": "elsewhere", "said": said}
        # A command that was ended with the coordinator, which nobody had asked for, is lost.
        is_cut = _is_interrupted(end)
        told |= {
            "event": "over",
            "stage": "lost" if is_cut else "ended",
            "node": node,
            "said": said if is_cut else None,
        }
        return {"stage": told["stage"], "said": told["said"]}

    def _node_of(self, key: str, name: str) -> str | None:
        """The living node where a run has left this file."""
        nodes = [node["node_id"] for node in self.jobs.nodes()]
        return next((node for node in nodes if self.jobs.log_bytes(node, place_of(key, name))), None)

    def _output(self, node: str, key: str, offset: int) -> bytes:
        return piece(self.settings.address, node, place_of(key, LOG), offset)

    def _is_alive(self, node: str) -> bool:
        return any(row["node_id"] == node for row in self.jobs.nodes())

    def _fetched(self, journal: Journal, key: str) -> bytes:
        """The files of a run that is over, as an archive: what can be had of them."""
        told = journal.told.setdefault(key, {})
        if told.get("event") != "over" and journal.status is not None and not journal.is_going:
            self._broken_off(journal, told, key)
        if "files" in told:
            return base64.b64decode(told["files"])
        contents: dict[str, bytes] = {}
        node = told.get("node") or self._node_of(key, BEGAN)
        for name in told.get("sizes", _BROUGHT):
            found = None if node is None else self.jobs.log_bytes(node, place_of(key, name))
            # Ray may answer with nothing for a file that is not there.
            if found or (found is not None and name not in (BEGAN, FINAL)):
                contents[name] = found
        if told.get("stage") == "lost":
            contents.pop(FINAL, None)
        elif told.get("stage") == "ended" and FINAL not in contents:
            if node is not None and self._is_alive(node):
                raise ToolError(
                    f"cannot read the files of {key}", cause="Ray did not return them", hint="logbook collect"
                )
            told["said"] = "its node ended before its files were collected"
        said = told.get("said") or (None if journal.is_going else _ended_as(journal))
        if said and not contents.get(ERRORS) and FINAL not in contents:
            contents[ERRORS] = f"{said}\n".encode()
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tar:
            for name, content in contents.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        return buffer.getvalue()


def _is_interrupted(end: bytes) -> bool:
    """Whether a worker says that its command was ended from outside."""
    try:
        return bool(json.loads(end)["exit"].get("interrupted"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _ended_as(journal: Journal) -> str:
    if journal.status is None:
        return "Ray no longer knows its Job: the head was restarted"
    return f"its coordinator ended as {journal.status}"


def ray(workspace: Workspace, declared: Declared) -> Ray:
    """The executor of such settings."""
    return Ray(declared.read(RaySettings), workspace.environ)
