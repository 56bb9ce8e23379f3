"""What the files of a logbook are called, and which IDs were handed out.

Entries and runs have whole names on disk, `MOE-003.k3x9q` and `01.p2m4a`, which never change and which no two clones
give twice. In a process, and by people, they are called by the number alone, as long as one entry or run has it.

All worktrees of a clone share the IDs that were handed out, and claims of entries. An ID is reserved by the exclusive
creation of a file. A claim is a file beside those: which process makes the runs of an entry. That process holds a lock;
the claim ends with it, or when somebody releases it. Where the entry was begun, and how many of its runs came to their
end, stays noted in that file: they are in one worktree, and the others do not have them until they merge it. Another
clone sees neither.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field, structs

from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.entry import RELATIONS, bare_id, format_id, id_number, parse_id, sorted_ids
from logbook_agent.model.errors import Locked, StoreError
from logbook_agent.model.values import UID_CHARS, TwinRun, run_number
from logbook_agent.store.folder import SETTINGS_BYTES, Folder
from logbook_agent.store.json_text import parse_json
from logbook_agent.store.places import repository_of
from logbook_agent.store.processes import this_host

# What the block of the header is called in the view; the others are called after their entries.
HEADER = "header"
# The rows of a sweep, beside its runs.
SWEEP_CSV = "sweep.csv"
# The folder of the pictures that the view shows.
PLOTS = "plots"
# The keys of records that name entries.
_NAMING = frozenset({*RELATIONS, "entry", "last_entry", "entries", "evidence"})
# What a person's own keys hold is no name of ours.
_FREE = "extra"


def new_uid() -> str:
    """Five characters, one of 33 million."""
    return "".join(secrets.choice(UID_CHARS) for _ in range(5))


class EntryNames:
    """The entries that a logbook has now, by their whole names."""

    def __init__(self, whole_names: Iterable[str]) -> None:
        self._twins: defaultdict[str, list[str]] = defaultdict(list)
        for name in whole_names:
            self._twins[bare_id(name)].append(name)

    @property
    def ids(self) -> list[str]:
        """The IDs of all entries; those of one number stand together."""
        return [name for bare, twins in self._twins.items() for name in ([bare] if len(twins) == 1 else twins)]

    def id_of(self, name: str) -> str:
        """The ID of a whole name: the number, where no other entry has it. That of an entry that is not here is its
        whole name."""
        bare = bare_id(name)
        return bare if self._twins.get(bare) == [name] else name

    def whole(self, entry_id: str) -> str | None:
        """The whole name of an ID; None where no entry has it, or two have."""
        twins = self._twins.get(bare_id(entry_id), [])
        if entry_id in twins:
            return entry_id
        return twins[0] if len(twins) == 1 and entry_id == bare_id(entry_id) else None

    def twins(self, entry_id: str) -> list[str]:
        """The whole names of the entries with this number, in order."""
        return sorted(self._twins.get(bare_id(entry_id), []))


def renamed(data: Any, name: Callable[[str], str]) -> Any:
    """The plain data of a record with every entry that it names called otherwise."""
    if isinstance(data, list):
        return [renamed(one, name) for one in data]
    if not isinstance(data, dict):
        return data
    return {key: value if key == _FREE else _renamed_value(key, value, name) for key, value in data.items()}


def _renamed_value(key: str, value: Any, name: Callable[[str], str]) -> Any:
    if key in _NAMING and isinstance(value, str):
        return name(value) if parse_id(value) is not None else value
    if key in _NAMING and isinstance(value, list):
        return [_renamed_value(key, one, name) for one in value]
    return renamed(value, name)


def marker_name(run_name: str) -> str:
    """What the marker or spool of a run is called, by the run's whole name: `MOE-003.k3x9q_01.p2m4a`."""
    return run_name.replace("/", "_")


def run_of_marker(name: str) -> str | None:
    """The whole name of the run that a marker or spool belongs to; None for any other name."""
    entry, _, run = name.partition("_")
    return f"{entry}/{run}" if parse_id(entry) is not None and run_number(run) is not None else None


def run_names(names: Iterable[str]) -> Mapping[int, str]:
    """The folders of an entry's runs by their numbers, in order; other names are left out."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for name in names:
        number = run_number(name)
        if number is not None:
            found[number].append(name)
    every: dict[int, str] = {}
    for number in sorted(found):
        twins = sorted(found[number])
        every |= {number: twins[0]} if len(twins) == 1 else {TwinRun(number, t.partition(".")[2]): t for t in twins}
    return every


# -- what all worktrees of a clone share -----------------------------------------------------------


_FOLDER, _LOCK = "claims", ".lock"


class Reservations(Struct, frozen=True, kw_only=True):
    """The folder where IDs of one `prefix` are reserved, for logbooks in `root`. `warning`: worktrees cannot share
    it."""

    files: Folder
    root: Path
    prefix: str
    warning: str | None = None

    def claim(self, entry_id: str) -> bool:
        """Reserve this very ID; False where it was given out."""
        self.files.make()
        return self.files.create(entry_id, self._data)

    def reserve(self, taken: Iterable[str]) -> str:
        """The next free ID after every one in `taken` and every reservation; it is never given out again. The
        reservation names the root that its entry will be in."""
        self.files.make()
        number = max(highest(taken, self.prefix), highest(self.files.names(), self.prefix)) + 1
        while not self.files.create(format_id(self.prefix, number), self._data):
            number += 1
        return format_id(self.prefix, number)

    @property
    def _data(self) -> bytes:
        return json.dumps({"root": str(self.root)}).encode()

    def voids(self, taken: Iterable[str]) -> list[str]:
        """IDs that were reserved from `root` and have no entry. (Other worktrees keep their entries, so what they
        reserved is no business of this one.)"""
        have = set(map(bare_id, taken))
        left = [name for name in sorted_ids(self.files.names(), self.prefix) if name not in have]
        return [name for name in left if self.root_of(name) in (None, str(self.root))]

    def root_of(self, name: str) -> object:
        """The root that an ID was reserved from; None when its process was killed before it wrote that."""
        try:
            found = parse_json(self.files.text(name, limit=SETTINGS_BYTES), self.files.at(name))
        except StoreError:
            return None
        return found.get("root") if isinstance(found, dict) else None


def reservations_of(root: Path, prefix: str) -> Reservations:
    """Where IDs of `prefix` are reserved.

    Inside a git work tree that is the common git folder, so that worktrees of one clone never hand out
    the same ID; elsewhere, or when that folder is read-only, `<root>/.ids/`.
    """
    own = Reservations(files=Folder(root).below(f".ids/{prefix}"), root=root, prefix=prefix)
    place = repository_of(root)
    if place is None:
        return own
    relative = os.path.relpath(os.path.realpath(root), place.top)
    shared = Folder(place.common_dir).below(f"logbook-agent/ids/{_one_name(relative)}/{prefix}")
    # Asking is not enough: a folder may be writable and its file system read-only.
    try:
        shared.make()
        if os.access(shared.path, os.W_OK):
            return structs.replace(own, files=shared)
    except StoreError as error:
        refused = error.__cause__.errno if isinstance(error.__cause__, OSError) else None
        if refused not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
    warning = f"{place.common_dir} is read-only: IDs are not shared with other worktrees of this clone"
    return structs.replace(own, warning=warning)


def highest(names: Iterable[str], prefix: str) -> int:
    """The highest number among the IDs of `prefix`; -1 when there is none (the first ID is 000)."""
    found = sorted_ids(names, prefix)
    return -1 if not found else id_number(found[-1], prefix) or 0


def _one_name(path: str) -> str:
    """A path as one file name, different for different paths."""
    return path.replace("%", "%25").replace("/", "%2F")


# -- claims --------------------------------------------------------------------------------------------


class PlanClaim(Struct, frozen=True, kw_only=True):
    """Who makes the runs of an entry: a process of a host, `at` since when (UTC), and in which `root` of logbooks."""

    entry: str
    host: str
    pid: int
    root: str
    at: str

    @property
    def text(self) -> str:
        """`pid 4711 on box, since 2026-02-10T10:43:00+00:00, in ~/tree/logbooks`."""
        return f"pid {self.pid} on {self.host}, since {self.at}, in {self.root}"

    @property
    def lock(self) -> str:
        """The name of the file that its process holds a lock on."""
        return f".{self.entry}.{self.pid}.lock"

    def wait(self, root: str) -> str:
        """What to type to wait for its end, where `root` is the folder of logbooks; empty for another host."""
        if self.host != this_host():
            return ""
        there = f" --root {shlex.quote(self.root)}" if self.root != root else ""
        return f"logbook wait {self.entry}{there}"

    def data(self) -> dict[str, object]:
        """The claim as plain data."""
        return {"id": self.entry, "host": self.host, "pid": self.pid, "since": self.at, "root": self.root}


class ExecutedAt(Struct, frozen=True, kw_only=True):
    """Where and when the runs of an entry were made, or begun."""

    root: str
    at: str

    @property
    def text(self) -> str:
        """`in ~/tree/logbooks at 2026-02-10T10:43:00+00:00, and is not merged here`."""
        return f"in {self.root} at {self.at}, and is not merged here"


class PlanState(Struct, frozen=True, kw_only=True):
    """The last claim of an entry (None: it has ended), and where it had how many runs, by their number as text; `0`:
    where it was begun last."""

    claim: PlanClaim | None = None
    executed: dict[str, ExecutedAt] = field(default_factory=dict)


class Claims(Struct, frozen=True, kw_only=True):
    """The claims of one prefix, in the folder of its reserved IDs. Every method raises StoreError."""

    place: Reservations

    def held(self) -> list[PlanClaim]:
        """The claims whose process lives, by entry."""
        names = sorted_ids(self._files.names(), self.place.files.path.name)
        found = (self.of(name).claim for name in names)
        return [claim for claim in found if claim is not None and self.is_held(claim)]

    def is_held(self, claim: PlanClaim) -> bool:
        """Whether its process lives; of one on another host that cannot be told from here, and it counts as living."""
        return claim.host != this_host() or self._files.is_locked(claim.lock)

    @contextlib.contextmanager
    def taken(self, claim: PlanClaim, another: str) -> Iterator[None]:
        """Hold a claim until the block is left. Raises Locked where another process that lives holds one; `another`
        makes runs of another entry."""
        with contextlib.ExitStack() as stack:
            with self._locked():
                before = self.of(claim.entry)
                if before.claim is not None:
                    if self.is_held(before.claim):
                        raise refused(before.claim, claim.root, another)
                    self._files.remove(before.claim.lock)
                stack.enter_context(self._files.lock(claim.lock))
                begun = ExecutedAt(root=claim.root, at=claim.at)
                self._write(claim.entry, PlanState(claim=claim, executed={**before.executed, "0": begun}))
            try:
                yield
            finally:
                with self._locked():
                    now = self.of(claim.entry)
                    # One that was released meanwhile may be somebody else's.
                    if now.claim == claim:
                        self._write(claim.entry, PlanState(executed=now.executed))
                    self._files.remove(claim.lock)

    def note(self, claim: PlanClaim, runs: int, at: str) -> None:
        """Note how many runs an entry has, by who holds its claim."""
        with self._locked():
            now = self.of(claim.entry)
            executed = {**now.executed, str(runs): ExecutedAt(root=claim.root, at=at)} if runs else now.executed
            self._write(claim.entry, PlanState(claim=now.claim, executed=executed))

    def release(self, entry_id: str) -> PlanState:
        """End the claim of an entry, also one whose process lives, and forget what was executed of it elsewhere;
        returns what was noted."""
        with self._locked():
            before = self.of(entry_id)
            self._write(entry_id, PlanState())
            return before

    @property
    def _files(self) -> Folder:
        return self.place.files.below(_FOLDER)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._files.make()
        with self._files.lock(_LOCK):
            yield

    def of(self, entry_id: str) -> PlanState:
        """The state of one plan, as noted; without what was executed in a worktree that was removed since, and in the
        clone that this one was copied from."""
        path = self._files.at(entry_id)
        if not self._files.has(entry_id):
            return PlanState()
        try:
            noted = decode(PlanState, parse_json(self._files.text(entry_id, limit=SETTINGS_BYTES), path))
        except CodecError as error:
            raise StoreError(
                f"{path} is not a claim", cause="another program wrote it, or a newer version", hint=f"remove {path}"
            ) from error
        return structs.replace(
            noted, executed={key: at for key, at in noted.executed.items() if self._is_here(Path(at.root))}
        )

    def _is_here(self, root: Path) -> bool:
        """Whether a folder of logbooks is there, in a worktree of this clone."""
        place, own = repository_of(root), Path(os.path.realpath(self.place.files.path))
        return root.is_dir() and own.is_relative_to(os.path.realpath(root) if place is None else place.common_dir)

    def _write(self, entry_id: str, state: PlanState) -> None:
        if state == PlanState():
            self._files.remove(entry_id)
            return
        # After a power cut no process of before lives; what was executed stays.
        self._files.write(entry_id, json.dumps(encode(state)), durable=bool(state.executed))


def refused(claim: PlanClaim, root: str, another: str) -> Locked:
    """The error for who wants to make runs of an entry, in a `root`, that another process has claimed."""
    wait = f"wait until it ends: {claim.wait(root)}"
    if claim.host != this_host():
        wait = f"if that process is gone: logbook note --plan --release {claim.entry}"
    return Locked(
        f"{claim.entry} is claimed by {claim.text}",
        holder=claim.text,
        cause="one process at a time makes the runs of an entry; the claim ends with that process",
        hint=f"{wait}; for another entry: {another}",
    )
