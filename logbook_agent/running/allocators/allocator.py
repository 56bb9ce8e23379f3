"""Allocators: programs of the settings that hold devices under a name, `[allocators.NAME]`.

Whatever is asked of one may be asked again: a lease has a name of its own, which is on disk before it is requested, so
that a request whose answer was lost is found by it, and released by it.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from logbook_agent.model.errors import ToolError, UsageError
from logbook_agent.model.lease import LEASE_STATES, MOST_DEVICES, MOST_S, LeaseState
from logbook_agent.running.executors.jobstate import told
from logbook_agent.running.executors.settings import Declared
from logbook_agent.running.executors.shell import ShellAnswer, run_program
from logbook_agent.running.executors.templates import filled
from logbook_agent.store.book import Book
from logbook_agent.store.files import create_log, remove_tree
from logbook_agent.store.processes import alive
from logbook_agent.store.reading import LOG
from logbook_agent.store.spool import Spool, name_holder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.words import split_env_words

Words = tuple[str, ...]
ALLOCATORS = ("command", "dev-tpu")
_TTL_S = 8 * 3600.0
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
# An answer to a question; a request may take longer.
_LOOK_S = 30.0
# What `allocate` may take to end, and how often it is asked to.
_END_S, _PAUSE_S = 5.0, 0.5
# Processes of ours that may still run: an object that is forgotten would complain of them.
_started: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """What an allocator says of a lease; `state` None: it knows none of that name."""

    state: LeaseState | None
    said: str | None = None


class Allocator(Protocol):
    """`devices` is how many one lease holds, `ttl_s` for how long where nobody says."""

    @property
    def devices(self) -> int: ...

    @property
    def ttl_s(self) -> float: ...

    def request(self, lease_id: str, ttl_s: float) -> None:
        """Ask for a lease; it need not be there when this returns. Raises ToolError when there is certainly none, or
        that is open: `poll` tells."""

    def poll(self, lease_id: str) -> Polled:
        """How a lease stands. Raises ToolError when the allocator does not answer."""

    def renew(self, lease_id: str, ttl_s: float) -> None:
        """Have a lease last so long from now on. Raises ToolError, UsageError where leases cannot be renewed."""

    def release(self, lease_id: str) -> None:
        """Ask for the end of a lease; that of one that has ended is no error. Raises ToolError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatorSettings:
    """An allocator asked by commands: lists of words, `{id}` the lease's name and `{ttl}` its length in seconds.

    request: command that asks for a lease
    poll: command that prints JSON with a `state`, or a line whose last word is the state
    release: command that ends a lease
    renew: command that extends a lease; without it, leases cannot be renewed
    states: what each state means: `requested`, `waiting`, `active`, `suspended`, `released` or `failed`
    gone: regular expression for what `poll` and `release` print on stderr when the lease does not exist
    devices: how many devices a lease holds
    ttl_s: length of a lease in seconds, unless `--for` gives another
    timeout_s: seconds to wait for an answer
    """

    request: Words
    poll: Words
    release: Words
    renew: Words = ()
    states: dict[str, str] = field(default_factory=dict)
    gone: str = "not found"
    devices: int = 1
    ttl_s: float = _TTL_S
    timeout_s: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DevTpuSettings:
    """An allocator of development TPUs.

    program: the words before `allocate`, with `--tpu-name`
    tpu_type: type of the TPU
    devices: how many devices a lease holds
    ttl_s: length of a lease in seconds, unless `--for` gives another
    timeout_s: seconds to wait for an answer
    """

    program: Words
    tpu_type: str
    devices: int = 1
    ttl_s: float = _TTL_S
    timeout_s: float = 120.0


S = TypeVar("S", AllocatorSettings, DevTpuSettings)


def allocator(workspace: Workspace, book: Book, declared: Declared) -> Allocator:
    """The allocator of these settings. Raises UsageError where they do not fit."""
    if declared.kind == "dev-tpu":
        return DevTpu(_sound(declared, declared.read(DevTpuSettings)), workspace, book)
    if declared.kind != "command":
        raise UsageError(
            f"allocator {declared.name!r} : unknown kind {declared.kind!r}",
            cause=f"this version knows {', '.join(ALLOCATORS)}",
            hint=f"correct it in {declared.file}",
        )
    settings = _sound(declared, declared.read(AllocatorSettings))
    for key in ("request", "poll", "renew", "release"):
        unknown = [n for word in getattr(settings, key) for n in _PLACEHOLDER.findall(word) if n not in ("id", "ttl")]
        if unknown:
            raise UsageError(
                f"allocator {declared.name!r}: unknown placeholder in {key}: {{{unknown[0]}}}",
                hint="placeholders: {id}, {ttl}",
            )
    if wrong := next((state for state in settings.states.values() if state not in LEASE_STATES), None):
        raise UsageError(
            f"allocator {declared.name!r}: unknown meaning in states: {wrong!r}",
            hint=f"meanings: {', '.join(LEASE_STATES)}",
        )
    return Commands(declared.name, settings, workspace)


def _sound(declared: Declared, settings: S) -> S:
    """The settings. Raises UsageError for numbers that no lease can have."""
    for name, value, most in (("devices", settings.devices, MOST_DEVICES), ("ttl_s", settings.ttl_s, MOST_S)):
        if not 1 <= value <= most:
            raise UsageError(
                f"allocator {declared.name!r}: {name} is {value:g}",
                cause=f"expected a number from 1 to {most:.0f}",
                hint=f"correct it in {declared.file}",
            )
    return settings


class Commands:
    """An allocator that is spoken to by templates."""

    def __init__(self, name: str, settings: AllocatorSettings, workspace: Workspace) -> None:
        self._name, self._settings, self._environ = name, settings, workspace.environ
        self._cwd = str(workspace.cwd)
        self.devices, self.ttl_s = settings.devices, settings.ttl_s

    def request(self, lease_id: str, ttl_s: float) -> None:
        self._checked(self._run(self._settings.request, lease_id, ttl_s))

    def poll(self, lease_id: str) -> Polled:
        answer = self._run(self._settings.poll, lease_id, 0.0, most_s=_LOOK_S)
        if answer.code != 0 and re.search(self._settings.gone, answer.err):
            return Polled(state=None, said=answer.said)
        job = told(self._checked(answer).out.decode("utf-8", "replace"), {}, {})
        if job is None:
            raise ToolError(f"{self._name} reported no state for {lease_id}", cause="its answer cannot be read")
        meant = self._settings.states.get(job.state, job.state.lower())
        found = next((one for one in LEASE_STATES if one == meant), None)
        if found is None:
            raise ToolError(
                f"{self._name} reported an unknown state for {lease_id}: {job.state}",
                cause="`states` in its settings does not say what that means",
            )
        return Polled(state=found, said=job.said)

    def renew(self, lease_id: str, ttl_s: float) -> None:
        if not self._settings.renew:
            raise UsageError(
                f"leases of {self._name!r} cannot be renewed",
                cause="its settings have no `renew`",
                hint=f"logbook lease release {self._name}, then request another",
            )
        self._checked(self._run(self._settings.renew, lease_id, ttl_s))

    def release(self, lease_id: str) -> None:
        answer = self._run(self._settings.release, lease_id, 0.0)
        if answer.code != 0 and not re.search(self._settings.gone, answer.err):
            self._checked(answer)

    def _run(self, words: Words, lease_id: str, ttl_s: float, *, most_s: float = float("inf")) -> ShellAnswer:
        return run_words(
            filled(words, id=lease_id, ttl=str(round(ttl_s))),
            self._environ,
            self._cwd,
            min(most_s, self._settings.timeout_s),
        )

    def _checked(self, answer: ShellAnswer) -> ShellAnswer:
        if answer.code != 0:
            raise ToolError(f"the command of {self._name} failed", cause=answer.said)
        return answer


class DevTpu:
    """`dev_tpu.py allocate`, which holds a TPU as long as it runs: it is started in the background, under `timeout`, so
    that it ends whatever becomes of the client."""

    def __init__(self, settings: DevTpuSettings, workspace: Workspace, book: Book) -> None:
        self._settings, self._environ = settings, workspace.environ
        self._cwd, self._book = workspace.cwd, book
        self.devices, self.ttl_s = settings.devices, settings.ttl_s

    def request(self, lease_id: str, ttl_s: float) -> None:
        own, words = split_env_words(self._settings.program)
        argv = ["timeout", "--signal=INT", str(round(ttl_s)), *words, "allocate", "--tpu-type", self._settings.tpu_type]
        spool = self._book.create_spool(self._spool(lease_id))
        lock = spool.claim()
        if lock is None:
            raise ToolError(f"{lease_id} is being requested", cause="by another process")
        try:
            log = create_log(spool.folder / LOG, within=spool.within)
            # The lock is the program's own as long as it runs.
            process = subprocess.Popen(
                argv,
                cwd=self._cwd,
                env={**self._environ, **own},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(lock,),
            )
            _started.append(process)
            name_holder(lock, process.pid)
            os.close(log)
        except OSError as error:
            raise ToolError("dev_tpu.py could not be started", cause=str(error)) from error
        finally:
            os.close(lock)

    def poll(self, lease_id: str) -> Polled:
        answer = self._run("status", most_s=_LOOK_S)
        if answer.code == 0:
            return Polled(state="active", said="active")
        if self._spool(lease_id).is_held():
            return Polled(state="waiting", said="allocate is still waiting for a TPU")
        return Polled(state=None, said=self._last_line(lease_id) or answer.said)

    def renew(self, lease_id: str, ttl_s: float) -> None:
        raise UsageError(
            "a development TPU cannot be renewed",
            cause="dev_tpu.py allocate gets its time limit at the start",
            hint="release it, then request another",
        )

    def release(self, lease_id: str) -> None:
        answer = self._run("release")
        # One that waits for a TPU has nothing to release yet, and would get it later.
        spool, deadline = self._spool(lease_id), time.monotonic() + _END_S
        while spool.is_held() and time.monotonic() < deadline:
            holder = spool.holder()
            if holder is not None and alive(holder[0].pid, holder[0].started):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(holder[0].pid, signal.SIGINT)
            time.sleep(_PAUSE_S)
        if answer.code != 0 and self._run("status", most_s=_LOOK_S).code == 0:
            raise ToolError("dev_tpu.py did not release the TPU", cause=answer.said)
        if not spool.is_held():
            remove_tree(spool.folder, within=spool.within)

    def _run(self, verb: str, *, most_s: float = float("inf")) -> ShellAnswer:
        words = [*self._settings.program, verb]
        return run_words(words, self._environ, str(self._cwd), min(most_s, self._settings.timeout_s))

    def _spool(self, lease_id: str) -> Spool:
        """Where `allocate` writes to, and which lock it holds as long as it runs."""
        return self._book.spool_named(f".lease-{lease_id}")

    def _last_line(self, lease_id: str) -> str | None:
        lines = (self._spool(lease_id).read(LOG) or "").strip().splitlines()
        return lines[-1] if lines else None


def run_words(words: Sequence[str], environ: Mapping[str, str], cwd: str, timeout_s: float) -> ShellAnswer:
    """Run a program of the settings; leading `K=V` words are set for it."""
    own, argv = split_env_words(words)
    return run_program(argv, {**environ, **own}, stdin=b"", timeout_s=timeout_s, cwd=cwd)
