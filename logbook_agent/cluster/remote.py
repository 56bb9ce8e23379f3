"""Workers on another machine. Their folders there, the far spools, are copied into the client's spools bit by bit.

Before anything is sent, the client's spool says where it goes (`sent.json`). There the far spool is made exclusively: a
submission whose answer was lost starts nothing twice when it is sent again, and a client that asks for one that never
came closes its place for good, so that it cannot come later.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from logbook_agent.cluster.far import PIECE_BYTES, Piece
from logbook_agent.cluster.questions import MOST_BYTES, FarFiles, Questions, Shell, brief
from logbook_agent.cluster.sent_code import Archive, Places, carried
from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.errors import LogbookError, ToolError
from logbook_agent.model.worker_report import OVER, Stage
from logbook_agent.running.executors.contract import Executor, Submission, for_each, nothing_sent, troubles_of
from logbook_agent.running.programs import NoAnswer
from logbook_agent.running.provenance.machine import MachineFacts
from logbook_agent.running.worker.tree import ARCHIVE
from logbook_agent.running.worker.work import Work
from logbook_agent.store.run_files import BEGAN, FINAL, SENT
from logbook_agent.store.spool import Seen, Sent, Spool

_FETCH_S = 600.0
# A question that only looks has so long.
_LOOK_S = 15.0
# A start waits for the end of a run that is over so soon.
_AT_ONCE_S = 0.6
# Whoever can wait for news asks again after so long.
_NEWS_S = 2.0


class FarState(Struct, frozen=True, kw_only=True):
    """How far a run is, as its machine tells it; `seen` is a digest of that. `silent_s`: how long nothing was heard of
    its worker. `complaint`: what an engine wrote that ended it. `is_closed`: no worker can begin any more. `is_whole`:
    all that it left has come."""

    stage: Stage = "elsewhere"
    seen: int = 0
    said: str | None = None
    has_begun: bool = False
    silent_s: float | None = None
    complaint: str = ""
    is_closed: bool = False
    is_whole: bool = False


class Remote(Executor):
    """Starts workers on the machine that `shell` leads to; `Batch` has a batch system start them."""

    def __init__(self, *, shell: Shell, places: Places, environ: Mapping[str, str], place: str = "") -> None:
        self.shell, self.places, self.environ = shell, places, environ
        # Values of variables that every worker gets.
        self.secrets: Mapping[str, str] = {}
        # As the settings name the machine.
        self.place = place or shell.host
        self.questions = Questions(shell, places, str(self.place))
        self.ask = self.questions.ask
        self.files = FarFiles()
        # What the states of runs were called when they were last told, and which runs have come whole, by their
        # folders.
        self._seen: dict[str, int] = {}
        self._whole: set[str] = set()
        # Archives that are there.
        self._provided: set[str] = set()

    # -- the contract --------------------------------------------------------------------------------

    def hello(self) -> MachineFacts:
        """As `Executor.hello`."""
        found: MachineFacts = self._decoded(MachineFacts, self.ask("hello", {})[0])
        return found

    def start(self, items: Sequence[Submission], at_most: int) -> None:
        """As `Executor.start`."""
        new = [item for item in items if not item.spool.has(FINAL) and not self.has_arrived(item.spool)]
        if not new:
            return
        with nothing_sent():
            new = [structs.replace(item, work=self.carry(item.spool, item.work)) for item in new]
        # What is sent again goes to the same place, where it starts nothing twice.
        first = [item.spool for item in new if not item.spool.has(SENT)]
        places = [f"{self.places.folder}/spools/{name}" for name in self.folders(new)]
        sent = [item.spool.get(Sent) or Sent(folder=place) for item, place in zip(new, places, strict=True)]
        for item, one in zip(new, sent, strict=True):
            item.spool.put(one)
        try:
            self.launch(list(zip(new, sent, strict=True)), at_most)
        except NoAnswer:
            raise
        except ToolError:
            for spool in first:
                spool.files.remove(SENT)
            raise

    def look(self, spools: Sequence[Spool], *, wait_s: float = 0.0, with_log: bool = False) -> Mapping[Path, str]:
        """As `Executor.look`."""
        going: dict[str, Spool] = {}

        def add(spool: Spool) -> None:
            sent, seen = spool.get(Sent), spool.get(Seen)
            if sent is not None and not spool.has(FINAL) and (seen is None or seen.stage not in OVER):
                going[sent.folder] = spool

        troubles = troubles_of(add, spools)
        try:
            states = self.states(going, max(wait_s, _NEWS_S) if wait_s else 0.0, with_log=with_log) if going else {}
        except LogbookError as error:
            return troubles | {spool.folder: error.said for spool in going.values()}
        return troubles | troubles_of(lambda spool: self._keep(spool, states), going.values())

    def _keep(self, spool: Spool, states: Mapping[str, FarState]) -> None:
        """Keep the stage of a run in its spool, and what the engine says of it. Raises LogbookError."""
        if (sent := spool.get(Sent)) is not None:
            stage, said = self.judged(spool, sent, states[sent.folder])
            if spool.get(Seen) != (seen := Seen(stage=stage, said=None if said is None else brief(said))):
                spool.put(seen)

    def stop(self, spools: Sequence[Spool]) -> None:
        """As `Executor.stop`."""
        sent = [sent for spool in spools if not spool.has(FINAL) and (sent := spool.get(Sent)) is not None]
        self.end(sent)

    def collect(self, spool: Spool) -> None:
        """As `Executor.collect`. What was brought is removed there. Raises ToolError."""
        if (sent := spool.get(Sent)) is None:
            return
        has_end = spool.has(FINAL)
        if not has_end:
            self.fetch(spool, sent)
        # One that came counts all the same where its machine is gone since.
        with contextlib.suppress(*(ToolError,) if has_end else ()):
            self.drop(sent)

    # -- what engines do in their own way --------------------------------------------------------------

    def folders(self, items: Sequence[Submission]) -> Sequence[str]:
        """Names for the far spools of these works, below `spools`. Nothing else has them."""
        return [f"{item.work.entry}.{item.work.run:02d}-{new_name()}" for item in items]

    def launch(self, items: Sequence[tuple[Submission, Sent]], at_most: int) -> None:
        """Have workers started there. Raises as `Executor.start`."""
        spools = {sent.folder: item.spool for item, sent in items}
        request = {
            "works": {sent.folder: encode(item.work) for item, sent in items},
            "secrets": {sent.folder: {**self.secrets, **item.secrets} for item, sent in items},
            "code": self.questions.code_folder,
            # One that is over at once costs no further question; others that are to run beside it do not wait.
            "wait_s": _AT_ONCE_S if at_most == 1 else 0.0,
        }
        states = self._take_states(spools, *self.ask("start", request))
        for spool in spools.values():
            self._keep(spool, states)

    def has_arrived(self, spool: Spool) -> bool:
        """Whether it is known that an earlier submission arrived. Raises NoAnswer while it must not be sent again."""
        return False

    def states(
        self, going: Mapping[str, Spool], wait_s: float = 0.0, *, with_log: bool = False
    ) -> Mapping[str, FarState]:
        """The states of these runs, by their folders, after what is new of them was brought. Raises LogbookError."""
        # While a client submits a run, it may come yet; else its place is closed.
        runs = {
            folder: [not spool.is_held(), self._seen.get(folder), self.files.sizes(spool), with_log]
            for folder, spool in going.items()
        }
        return self._take_states(going, *self.ask("look", {"runs": runs, "wait_s": wait_s}, timeout_s=_LOOK_S + wait_s))

    def judged(self, spool: Spool, sent: Sent, state: FarState) -> tuple[Stage, str | None]:
        """The stage of a run by its state, and what the engine says of it. Raises ToolError."""
        return state.stage, state.said

    def end(self, sents: Sequence[Sent]) -> None:
        """Ask the workers there to end their commands. Raises ToolError where none could be asked."""

        def end(sent: Sent) -> None:
            self.ask("stop", {"folder": sent.folder})

        for_each(end, sents)

    def drop(self, sent: Sent) -> None:
        """Remove what was fetched of a run there. Raises ToolError."""
        self.ask("drop", {"folder": sent.folder})

    def fetch(self, spool: Spool, sent: Sent) -> None:
        """Bring what a run has left into its spool. Raises ToolError, StoreError."""
        size = 0
        while sent.folder not in self._whole:
            # Its facts come again, as they are with its end.
            sizes = {name: known for name, known in self.files.sizes(spool).items() if size or name != BEGAN}
            head, pieces = self.ask("fetch", {"folder": sent.folder, "sizes": sizes}, timeout_s=_FETCH_S)
            self._bring({sent.folder: spool}, pieces)
            size += (more := sum(len(data) for _, (_, _, data) in pieces))
            if head.get("is_whole") is True:
                self._whole.add(sent.folder)
            elif more < PIECE_BYTES or size > MOST_BYTES:
                error = NoAnswer(f"cannot bring a run from {self.place}", cause="its files never end")
                raise self.questions.silenced(error)
        self.files.finish(spool)
        self._whole.discard(sent.folder)

    # -- what is asked of that machine -----------------------------------------------------------------

    def _take_states(
        self, going: Mapping[str, Spool], head: Mapping[str, Any], pieces: Sequence[tuple[str, Piece]]
    ) -> dict[str, FarState]:
        told = head.get("runs")
        told = told if isinstance(told, dict) else {}
        states: dict[str, FarState] = {folder: self._decoded(FarState, told.get(folder)) for folder in going}
        self._bring(going, pieces)
        self._seen |= {folder: state.seen for folder, state in states.items()}
        self._whole |= {folder for folder, state in states.items() if state.is_whole}
        return states

    def _bring(self, going: Mapping[str, Spool], pieces: Sequence[tuple[str, Piece]]) -> None:
        for folder, (name, at, data) in pieces:
            if folder in going:
                self.files.bring(going[folder], name, at, data)

    def _decoded(self, kind: type[Any], plain: object) -> Any:
        try:
            return decode(kind, plain)
        except CodecError as error:
            raise NoAnswer(f"cannot read the answer of {self.place}", cause=brief(str(error))) from None

    # -- what is carried there -------------------------------------------------------------------------

    def carry(self, spool: Spool, work: Work) -> Work:
        """The work as it holds on the other machine, after the files that it needs were brought there. Raises ToolError
        where that is not possible."""
        work, tree = carried(spool, work, self.places, self.environ)
        if tree is not None:
            self.provide(f"{work.tree}{ARCHIVE}", tree)
        return work

    def provide(self, path: str, files: Archive) -> None:
        """Bring the archive of these files there, unless the file, whose name is their digest, exists."""
        if path not in self._provided and not self.ask("take", {"path": path})[0].get("has"):
            self.ask("take", {"path": path}, data=files.packed(), timeout_s=_FETCH_S)
        self._provided.add(path)


def new_name() -> str:
    """A unique name."""
    return uuid.uuid4().hex[:12]
