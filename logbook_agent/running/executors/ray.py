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
import re
import tarfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from logbook_agent import __version__
from logbook_agent.model.errors import ToolError, UsageError
from logbook_agent.running.executors.answers import record_of
from logbook_agent.running.executors.carried import Files, worker_code
from logbook_agent.running.executors.contract import PIECE_BYTES, NoAnswer, PruneCount, Stage, Submission, nothing_sent
from logbook_agent.running.executors.conversation import Here
from logbook_agent.running.executors.ray_files import BEAT_S, beats_of, inline_files, piece, place_of
from logbook_agent.running.executors.ray_jobs import jobs_at
from logbook_agent.running.executors.ray_journal import Heard, Journal, journal_of
from logbook_agent.running.executors.ray_plan import STOP
from logbook_agent.running.executors.ray_submit import RaySettings, RaySubmitter
from logbook_agent.running.executors.remote import Places, Remote, bring, forget, unpacked
from logbook_agent.running.executors.settings import Declared
from logbook_agent.running.executors.submitted import sent_of
from logbook_agent.running.worker.work import Work
from logbook_agent.store.reading import LOG
from logbook_agent.store.spool import BEGAN, ERRORS, FINAL, SEEN, Sent, Spool
from logbook_agent.store.workspace import Workspace

_ADDRESS = re.compile(r"https?://[^\s/]")
# Of what Ray says of a Job that did not begin.
_MESSAGE_CHARS = 300
# Ray starts its processes on every node for that.
_PRUNE_S = 120.0
_BROUGHT = (BEGAN, LOG, "changes.diff", ERRORS, FINAL)


class Ray(Remote):
    """Speaks to the cluster by HTTP. What `far.py` answers on another machine is answered from there."""

    pace_s = 1.0
    hands_over = False
    devices = None

    def __init__(self, settings: RaySettings, environ: Mapping[str, str]) -> None:
        places = Places(folder=settings.folder, python=settings.python, sync=settings.sync, tree=settings.tree)
        super().__init__(shell=Here(environ=environ), places=places, environ=environ, secrets={})
        self.settings = settings
        self.jobs = jobs_at(settings.address)
        self.submitter = RaySubmitter(settings)
        self._heard = Heard(settings.address)
        # Jobs that cannot come any more: empty ones have their ids.
        self._closed: set[str] = set()
        # The far spool of each here.
        self._folders: dict[Path, str] = {}

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

    def prune(self) -> PruneCount:
        """As `Prunes.prune`, on all nodes that live. What is left of ended runs there goes after two weeks."""
        self.provide(self.code_folder, worker_code())
        job = self.submitter.prune(self.code_folder)
        journal, deadline = journal_of(self.settings.address, job), time.monotonic() + _PRUNE_S
        while job not in journal.told and time.monotonic() < deadline:
            journal.refresh(at_once=True)
            if journal.status is not None and not journal.is_going and job not in journal.told:
                break
            time.sleep(self.pace_s / 2)
        found = [record_of(PruneCount, one) for one in journal.told.get(job, {}).get("nodes", [])]
        if not found or None in found:
            raise ToolError(f"the nodes of {self.place} were not pruned", cause=_ended_as(journal))
        return PruneCount(**{name: sum(getattr(one, name) for one in found) for name in ("trees", "runs", "bytes")})

    # -- submitting ----------------------------------------------------------------------------------

    def start(self, spool: Spool, claim: int, work: Work, secrets: Mapping[str, str]) -> None:
        self.start_all([Submission(spool=spool, claim=claim, work=work, secrets=secrets)], at_most=1)

    def expect(self) -> None:
        """As `Batch.expect`: a Job takes some seconds to begin."""
        self.submitter.expect()

    def start_all(self, items: Sequence[Submission], at_most: int) -> None:
        """As `Batch.start_all`."""
        new = [item for item in items if not item.spool.has(FINAL) and not self.has_started(item.spool)]
        if not new:
            return
        for item in new:
            self.check_secrets(item.work)
        self.submitter.forget_packages()
        with nothing_sent():
            self.provide(self.code_folder, worker_code())
            carried = [dataclasses.replace(item, work=self.carry(item.spool, item.work)) for item in new]
        try:
            self.submitter.submit(carried, at_most, self.code_folder)
        except NoAnswer:
            raise
        except ToolError:
            for item in new:
                forget(item.spool)
            raise

    def has_arrived(self, spool: Spool, sent: Sent) -> bool:
        """As `Remote.has_arrived`; a Job that has not begun may still do so."""
        job = sent.folder.split("/")[-2]
        journal = journal_of(self.settings.address, job)
        journal.refresh(at_once=True)
        if job not in self._closed and journal.status is None and self.jobs.submit(job, "true"):
            self._closed.add(job)
        if job in self._closed:
            return False
        if journal.is_going and not journal.has_begun:
            raise NoAnswer(f"the job {job} has not begun yet", cause=f"Ray calls it {journal.status}")
        return journal.has_begun

    def provide(self, folder: str, files: Files, *, is_read_only: bool = False) -> None:
        self.submitter.provide(folder, files.archive())

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

    def look(self, spools: Sequence[Spool], *, wait_s: float = 0.0) -> None:
        """Nothing to do: what is read of a Job tells of all its runs."""

    def news(self, spools: Sequence[Spool]) -> Sequence[Spool]:
        """As `Batch.news`."""
        return [spool for spool in spools if self._has_news(spool)]

    def _has_news(self, spool: Spool) -> bool:
        if spool.folder not in self._folders:
            sent = sent_of(spool, self.environ)
            if sent is None:
                return True
            self._folders[spool.folder] = sent.folder
        job, key = self._folders[spool.folder].split("/")[-2:]
        return self._heard.has_news(job, key)

    def collect_all(self, spools: Sequence[Spool]) -> None:
        """As `Batch.collect_all`: what came with the word that they are over."""
        found = []
        for spool in spools:
            sent = sent_of(spool, self.environ)
            if sent is None or spool.has(FINAL):
                continue
            job, key = sent.folder.split("/")[-2:]
            told = journal_of(self.settings.address, job).told.get(key, {})
            if "files" in told:
                found.append((spool, unpacked(spool, base64.b64decode(told["files"]))))
        bring(found)

    def ask(
        self, request: Mapping[str, Any], *, timeout_s: float = 60.0, into: BinaryIO | None = None
    ) -> tuple[dict[str, Any], bytes]:
        """Answer as `far.py` does on a machine of its own."""
        verb, folder = request["verb"], request["folder"] if "folder" in request else request["folders"][0]
        job, key = folder.split("/")[-2:]
        journal = journal_of(self.settings.address, job)
        if verb in ("follow", "fetch"):
            journal.refresh()
        if verb == "follow":
            return self._followed(journal, key, request["offset"], close=request["close"])
        if verb == "fetch":
            archive = self._fetched(journal, key)
            if into is None:
                return {}, archive
            into.write(archive)
        if verb == "stop":
            self.jobs.write(f"{STOP}{key}.zip")
        return {}, b""

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
        # Most runs of a batch are over before their first heartbeat.
        if time.monotonic() - told["seen_at"] >= BEAT_S / 4:
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
            return {"stage": "never-started", "said": said}
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
                    f"cannot read the files of {key}", cause="Ray did not return them", hint="logbook status"
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
    if journal.status == "SUCCEEDED" and not journal.has_begun:
        return "the submission never arrived"  # the empty Job that keeps it from coming later
    # Ray puts the last lines of the log behind words of its own.
    lines = [] if journal.has_begun else journal.message.strip().splitlines()[-1:]
    why = "".join(lines).strip()[:_MESSAGE_CHARS]
    return f"its coordinator ended as {journal.status}{why and f': {why}'}"


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
