"""Workers on another machine. What they leave lies in a folder there, the far spool; the client's spool follows it.

Before anything is sent, the client's spool says where it goes (`sent.json`). There the far spool is made exclusively: a
submission whose answer was lost starts nothing when it is sent again, and a client that asks for one that never came
closes its place for good, so that it cannot come later.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from logbook_agent.cluster.answers import files_of, record_of, sound, stage_named
from logbook_agent.cluster.archive import bring, members
from logbook_agent.cluster.questions import Questions
from logbook_agent.cluster.sent_code import Files, Places, carried
from logbook_agent.cluster.shell import Shell, brief
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.model.worker_report import Began
from logbook_agent.running.executors.contract import (
    OVER,
    Followed,
    MachineFacts,
    NoAnswer,
    Stage,
    Submission,
    for_each,
    nothing_sent,
)
from logbook_agent.running.executors.local import log_from
from logbook_agent.running.worker.tree import ARCHIVE
from logbook_agent.running.worker.work import OWN, Work
from logbook_agent.store.layout import LOG
from logbook_agent.store.spool import BEGAN, FINAL, SENT, Heartbeat, Seen, Sent, Spool, write_sent_together

_FETCH_S = 600.0
# A question that only looks has so long.
_LOOK_S = 15.0
# A start waits for the end of a run that is over so soon.
_AT_ONCE_S = 0.6
# Whoever can wait for news asks again after so long.
_NEWS_S = 2.0


class Remote:
    """Starts workers on the machine that `shell` leads to. Engines that start them in their own way override `folders`,
    `launch`, `has_arrived`, `end` and `judged`."""

    is_batch: ClassVar[bool] = False
    is_single: ClassVar[bool] = False
    # Questions wait for news by themselves.
    pace_s: ClassVar[float] = 0.5
    # Whether secrets of the command can be handed to the worker without lying on a disk there.
    hands_over: ClassVar[bool] = True
    # As `Executor.devices`.
    devices: tuple[str, ...] | None = None

    def __init__(self, *, shell: Shell, places: Places, environ: Mapping[str, str], secrets: Mapping[str, str]) -> None:
        self.shell, self.places, self.environ, self.secrets = shell, places, environ, secrets
        self.questions = Questions(shell, places)
        self.ask = self.questions.ask
        # What was told of runs last, by their folders; those that were not yet followed since.
        self.looked: dict[str, Any] = {}
        self._fresh: set[str] = set()
        # Archives that are there.
        self._provided: set[str] = set()

    @property
    def place(self) -> str | None:
        """The machine, as the settings name it."""
        return self.shell.host

    @property
    def name(self) -> str:
        """The machine, for messages."""
        return self.place or "this host"

    # -- the contract --------------------------------------------------------------------------------

    def hello(self) -> MachineFacts:
        """As `Executor.hello`."""
        found: MachineFacts | None = record_of(MachineFacts, self.ask("hello", {})[0])
        if found is None:
            raise ToolError(f"cannot tell what machine {self.name} is", cause="its answer is not valid")
        return found

    def start(self, items: Sequence[Submission], at_most: int) -> None:
        """As `Executor.start`."""
        new = [item for item in items if not item.spool.has(FINAL) and not self._has_started(item.spool)]
        if not new:
            return
        for item in new:
            self._check_secrets(item.work)
        with nothing_sent():
            carried = [dataclasses.replace(item, work=self.carry(item.spool, item.work)) for item in new]
        sent = [Sent(folder=f"{self.places.folder}/spools/{name}") for name in self.folders(carried)]
        write_sent_together([(item.spool, one) for item, one in zip(new, sent, strict=True)])
        try:
            self.launch(list(zip(carried, sent, strict=True)), at_most)
        except NoAnswer:
            raise
        except ToolError:
            for item in new:
                _forget(item.spool)
            raise

    def _has_started(self, spool: Spool) -> bool:
        """Whether an earlier submission arrived. If not, it cannot arrive any more. Raises NoAnswer while this is
        unknown."""
        sent = spool.get(Sent)
        if sent is None:
            return False
        try:
            arrived = self.has_arrived(spool, sent)
        except ToolError as error:
            raise NoAnswer(error.message, cause=error.cause, hint=error.hint) from error
        if not arrived:
            _forget(spool)
        return arrived

    def follow(self, spool: Spool, offset: int | None = None, *, wait_s: float = 0.0) -> Followed:
        """As `Executor.follow`; while the machine does not answer, what was known last, and why."""
        before = spool.get(Seen)
        # First: an attempt that an engine cut off is lost, though its worker wrote an end.
        # What it printed lies there until it is brought here.
        if before is not None and before.stage in OVER and (offset is None or spool.has(LOG)):
            output = b"" if offset is None else log_from(spool, offset)
            return Followed(stage=stage_named(before.stage), output=output, said=before.said)
        if spool.has(FINAL):
            return Followed(stage="ended", output=b"" if offset is None else log_from(spool, offset))
        sent = spool.get(Sent)
        if sent is None:
            said = before.said if before is not None else None
            return Followed(stage="sent", said=said) if spool.is_held() else Followed(stage="never-started")
        try:
            told, output = self.state(spool, sent, offset, wait_s)
            head = sound(told)
            stage, said = self.judged(spool, sent, head)
            said = None if said is None else brief(said)
        except ToolError as error:
            known: Stage = stage_named(before.stage) if before is not None else "sent"
            return Followed(stage=known, trouble=error.said, heartbeat=spool.get(Heartbeat))
        heartbeat = record_of(Heartbeat, head.get("heartbeat"))
        self._mirror(spool, stage, said, head, heartbeat)
        return Followed(stage=stage, output=output, heartbeat=heartbeat, said=said)

    def look(self, spools: Sequence[Spool], *, wait_s: float = 0.0) -> None:
        """As `Executor.look`, by one question for all of them."""
        sent: dict[str, bool] = {}
        for spool in spools:
            # What is wrong with one is told when it is followed.
            with contextlib.suppress(StoreError):
                there, seen = spool.get(Sent), spool.get(Seen)
                if there is not None and not spool.has(FINAL) and not (seen is not None and seen.stage in OVER):
                    sent[there.folder] = not spool.is_held()
        with contextlib.suppress(ToolError):
            self._ask_states(sent, max(wait_s, _NEWS_S) if wait_s else 0.0)

    def _ask_states(self, folders: Mapping[str, bool], wait_s: float, offset: int | None = None) -> bytes:
        """Ask how far runs are, by their folders, with whether a submission that has not arrived is kept from arriving:
        while a client submits it, it may come yet. Of a single one, the log from `offset` on."""
        if not folders:
            return b""
        known = {folder: self.looked.get(folder) for folder in folders}
        seen = {folder: told.get("seen") if isinstance(told, dict) else None for folder, told in known.items()}
        runs = {folder: [close, seen[folder], offset] for folder, close in folders.items()}
        answer, output = self.ask("look", {"runs": runs, "wait_s": wait_s}, timeout_s=_LOOK_S + wait_s)
        self._take_states(folders, answer)
        return output

    def _take_states(self, folders: Collection[str], answer: Mapping[str, Any]) -> None:
        found = answer.get("runs")
        self.looked |= {folder: found.get(folder) if isinstance(found, dict) else None for folder in folders}
        self._fresh = set(folders)

    def stop(self, spools: Sequence[Spool]) -> None:
        """As `Executor.stop`."""
        sent = [sent for spool in spools if not spool.has(FINAL) and (sent := spool.get(Sent)) is not None]
        for_each(self.end, sent)

    def collect(self, spool: Spool) -> None:
        """As `Executor.collect`. What was brought is removed there. Raises ToolError."""
        sent = spool.get(Sent)
        if sent is None:
            return
        if not spool.has(FINAL):
            self.fetch(spool, sent)
            self.looked.pop(sent.folder, None)
            self.drop(sent)
            return
        # A client that was cut off brought it. It counts all the same where its machine is gone.
        with contextlib.suppress(ToolError):
            self.drop(sent)

    # -- what engines do in their own way --------------------------------------------------------------

    def folders(self, items: Sequence[Submission]) -> Sequence[str]:
        """Names for the far spools of these works, below `spools`. Nothing else has them."""
        return [f"{item.work.entry}.{item.work.run:02d}-{new_name()}" for item in items]

    def launch(self, items: Sequence[tuple[Submission, Sent]], at_most: int) -> None:
        """Have workers started there. Raises as `Executor.start`."""
        for item, sent in items:
            # One that is over at once costs no further question; others that are to run beside it do not wait.
            request = {"folder": sent.folder, "work": encode(item.work), "wait_s": _AT_ONCE_S if at_most == 1 else 0.0}
            secrets = {**self.secrets, **item.secrets}
            answer, _ = self.ask("start", {**request, "code": self.questions.code_folder, "secrets": secrets})
            self._take_states([sent.folder], answer)

    def has_arrived(self, spool: Spool, sent: Sent) -> bool:
        """Whether a submission arrived whose answer was lost. If not, it cannot arrive any more. Raises ToolError."""
        self._ask_states({sent.folder: True}, 0.0)
        return not sound(self.looked[sent.folder]).get("is_closed")

    def end(self, sent: Sent) -> None:
        """Ask the worker there to end its command."""
        self.ask("stop", {"folder": sent.folder})

    def drop(self, sent: Sent) -> None:
        """Remove what was fetched of a run there. Raises ToolError."""
        self.ask("drop", {"folder": sent.folder})

    def state(self, spool: Spool, sent: Sent, offset: int | None, wait_s: float) -> tuple[object, bytes]:
        """What its far spool tells of a run, and its log from this byte on. Raises ToolError."""
        output = b""
        told = self.looked.get(sent.folder)
        is_over = isinstance(told, dict) and stage_named(told.get("stage")) in OVER
        # What it printed is shown from its log, once that is here.
        if sent.folder not in self._fresh or (offset is not None and not is_over):
            output = self._ask_states({sent.folder: not spool.is_held()}, wait_s, offset)
        self._fresh.discard(sent.folder)
        return self.looked[sent.folder], output

    def judged(self, spool: Spool, sent: Sent, head: Mapping[str, Any]) -> tuple[Stage, str | None]:
        """The stage of a run by what its far spool tells, and what the engine says of it. Raises ToolError."""
        return stage_named(head.get("stage")), head.get("said")

    def fetch(self, spool: Spool, sent: Sent) -> None:
        """Bring what a run has left into its spool. Raises ToolError, StoreError."""
        with tempfile.TemporaryFile() as archive:
            if files := files_of(self.looked.get(sent.folder)):
                archive.write(files)
                archive.seek(0)
            else:
                self.ask("fetch", {"folder": sent.folder}, timeout_s=_FETCH_S, into=archive)
            try:
                bring(spool, members(archive))
            except StoreError as error:
                said = f"{self.name}: {error.message}"
                self.questions.silence(NoAnswer(said, cause=error.cause))
                raise StoreError(said, cause=error.cause) from error

    # -- what is carried there -------------------------------------------------------------------------

    def _check_secrets(self, work: Work) -> None:
        """Raises ToolError where a word of the command holds a secret that cannot be handed over."""
        words = [place for place, name in work.hidden.items() if name.startswith(OWN)]
        if words and not self.hands_over:
            raise ToolError(
                "the command holds a secret",
                cause="a queue stores what is submitted, and others can read it",
                hint="pass it in an environment variable that is set where the command runs",
            )

    def carry(self, spool: Spool, work: Work) -> Work:
        """The work as it holds on the other machine, after the files that it needs were brought there. Raises ToolError
        where that is not possible."""
        work, tree = carried(spool, work, self.places, self.environ)
        if tree is not None:
            self.provide(f"{work.tree}{ARCHIVE}", tree)
        return work

    def provide(self, path: str, files: Files) -> None:
        """Bring the archive of these files there, unless the file, whose name is their digest, exists."""
        if path not in self._provided and not self.ask("has", {"path": path})[0].get("has"):
            self.ask("take", {"path": path}, data=files.archive(), timeout_s=_FETCH_S)
        self._provided.add(path)

    def _mirror(
        self, spool: Spool, stage: Stage, said: str | None, head: Mapping[str, Any], heartbeat: Heartbeat | None
    ) -> None:
        """Copy what was seen there to the client's spool."""
        began = record_of(Began, head.get("began"))
        if began is not None and began != (spool.get(Began) if spool.has(BEGAN) else None):
            spool.put(began)
        if heartbeat is not None and heartbeat != spool.get(Heartbeat):
            spool.put(heartbeat)
        if spool.get(Seen) != (seen := Seen(stage=stage, said=said)):
            spool.put(seen)


def new_name() -> str:
    """A unique name."""
    return uuid.uuid4().hex[:12]


def _forget(spool: Spool) -> None:
    """Remove the note of where a run was sent, because nothing was started there."""
    spool.files.remove(SENT)
