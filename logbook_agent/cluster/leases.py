"""Leases: devices that an allocator, a program of the settings, holds for a logbook until they are released or expire.

Each is a file, `TOPIC/leases/ID.json`. Its ID is the name that the allocator knows it by, and is on disk before the
lease is requested: one whose request got no answer is found, and released, by it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from logbook_agent.cluster.job_templates import Words, filled, unknown_placeholder
from logbook_agent.cluster.jobs import job_state
from logbook_agent.cluster.shell import ShellAnswer, run_program
from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.errors import RecordError, StoreError, ToolError, UsageError
from logbook_agent.running.executors.contract import NoAnswer
from logbook_agent.running.executors.table import Declared, declared, named
from logbook_agent.store.book import Book
from logbook_agent.store.parse import parse_json, place_of
from logbook_agent.store.trouble import Trouble
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.plain import clean_record
from logbook_agent.text.shell_words import split_env_words

LeaseState = Literal["requested", "waiting", "active", "suspended", "released", "failed"]
LEASE_STATES: tuple[LeaseState, ...] = get_args(LeaseState)
_CLOSED: frozenset[LeaseState] = frozenset({"released", "failed"})
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,80}")
_BYTES = 64 * 1024
# More than anybody lends.
_MOST_DEVICES, _MOST_S = 10**6, 10 * 366 * 86400.0
# A request without an answer may still arrive for so long.
_SETTLE = timedelta(minutes=5)
# A question is answered within this; a request may take longer.
_LOOK_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One lease of the allocator `allocator`, with `devices` devices; `id` is its name there.

    Times are UTC, ISO 8601. `until`: when the allocator ends it by itself. `active_s`: the seconds that it was active,
    without the time since `active_since`. `given_up`: its release was requested. `said`: the allocator's last words.
    """

    format: int = 1
    id: str
    allocator: str
    devices: int = 1
    state: LeaseState = "requested"
    requested: str
    until: str
    active_since: str | None = None
    active_s: float = 0.0
    ended: str | None = None
    given_up: bool = False
    said: str | None = None

    @property
    def is_open(self) -> bool:
        return self.state not in _CLOSED

    def is_overdue(self, now: datetime) -> bool:
        return now > datetime.fromisoformat(self.until)

    def device_hours(self, now: datetime) -> float:
        """The device hours that it has taken until now."""
        return (self.active_s + self._running_s(now)) * self.devices / 3600

    def _running_s(self, now: datetime) -> float:
        """Seconds since it became active last: never negative, and not past `until`, whatever a clock does."""
        if self.active_since is None:
            return 0.0
        since = datetime.fromisoformat(self.active_since)
        return max(0.0, (min(now, datetime.fromisoformat(self.until)) - since) / timedelta(seconds=1))

    def seen(self, state: LeaseState, said: str | None, now: datetime) -> Lease:
        """The lease after its allocator reported this state."""
        moment = now.isoformat(timespec="seconds")
        if not self.is_open or (state, said) == (self.state, self.said):
            return self
        is_active, was_active = state == "active", self.active_since is not None
        return dataclasses.replace(
            self,
            state=state,
            said=said,
            active_s=self.active_s if is_active else self.active_s + self._running_s(now),
            active_since=(self.active_since if was_active else moment) if is_active else None,
            ended=moment if state in _CLOSED else None,
        )


# -- files -------------------------------------------------------------------------------------------


def leases(book: Book) -> list[Lease]:
    """All leases of a logbook, the latest last. Raises RecordError for a file that cannot be read."""
    folder = book.folder / "leases"
    if not os.path.isdir(folder):  # noqa: PTH112 - most logbooks have none
        return []
    names = [name.removesuffix(".json") for name in book.files.names(folder) if name.endswith(".json")]
    found = [_read(book, name) for name in names if _NAME.fullmatch(name)]
    return sorted(found, key=lambda lease: (lease.requested, lease.id))


def write_lease(book: Book, lease: Lease) -> Lease:
    """Write a lease without secrets; returns what was written."""
    lease = clean_record(lease, book.redactor)
    book.files.make(book.folder / "leases")
    data = json.dumps(encode(lease), ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"
    book.files.write(book.folder / "leases" / f"{lease.id}.json", data, durable=book.durable)
    return lease


def _read(book: Book, name: str) -> Lease:
    path = book.folder / "leases" / f"{name}.json"
    try:
        lease = decode(Lease, parse_json(book.files.text(path, limit=_BYTES), path))
        if lease.id != name:
            raise CodecError(f"id: {lease.id!r} is not the name of its file")
        if not (1 <= lease.devices <= _MOST_DEVICES and 0 <= lease.active_s <= _MOST_S):
            raise CodecError(f"{lease.devices} devices, active for {lease.active_s} s")
        for text in filter(None, (lease.requested, lease.until, lease.active_since, lease.ended)):
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None or not 2000 <= moment.year < 9000:
                raise CodecError(f"{text!r} is not a time of a lease")
    except (CodecError, ValueError) as error:
        raise RecordError(
            f"{place_of(path)}: {error}", cause="it was changed by hand", hint="logbook doctor"
        ) from error
    return lease


# -- allocators ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatorSettings:
    """An allocator: lists of words, `{id}` the lease's name and `{ttl}` its length in seconds.

    request: command that asks for a lease
    poll: command that prints JSON with a `state`, or a line whose last word is the state
    release: command that ends a lease
    states: what each state means: `requested`, `waiting`, `active`, `suspended`, `released` or `failed`
    gone: regular expression for what `poll` and `release` print on stderr when the lease does not exist
    devices: how many devices a lease holds
    ttl_s: length of a lease in seconds, unless `--for` gives another
    timeout_s: seconds to wait for an answer
    """

    request: Words
    poll: Words
    release: Words
    states: dict[str, LeaseState] = field(default_factory=dict)
    gone: str = "not found"
    devices: int = 1
    ttl_s: float = 8 * 3600.0
    timeout_s: float = 120.0


class Allocator:
    """Programs that lend devices. Each may be asked again: a lease that is there, or gone, already is no error."""

    def __init__(self, workspace: Workspace, found: Declared) -> None:
        """Raises UsageError where the settings cannot work."""
        self._workspace, self._name = workspace, found.name
        self.settings = settings = found.read(AllocatorSettings)
        if found.kind != "command":
            raise UsageError(
                f"{found.what}: unknown kind {found.kind!r}",
                cause="this version knows command",
                hint=f"correct it in {found.file}",
            )
        for key in ("request", "poll", "release"):
            unknown = unknown_placeholder(getattr(settings, key), ("id", "ttl"))
            if unknown is not None:
                raise UsageError(
                    f"{found.what}: unknown placeholder in {key}: {{{unknown}}}", hint="placeholders: {id}, {ttl}"
                )
        for key, value, most in (("devices", settings.devices, _MOST_DEVICES), ("ttl_s", settings.ttl_s, _MOST_S)):
            if not 1 <= value <= most:
                raise UsageError(
                    f"{found.what}: {key} is {value:g}",
                    cause=f"expected a number from 1 to {most:.0f}",
                    hint=f"correct it in {found.file}",
                )

    def request(self, lease_id: str, ttl_s: float) -> None:
        """Request a lease, which may become active later. Raises ToolError when it is unknown whether there is one."""
        self._checked(self._run(self.settings.request, lease_id, ttl_s))

    def poll(self, lease_id: str) -> tuple[LeaseState | None, str | None]:
        """The state of a lease, None where there is none, and what the allocator says. Raises ToolError."""
        answer = self._run(self.settings.poll, lease_id, most_s=_LOOK_S)
        if answer.code != 0 and re.search(self.settings.gone, answer.err):
            return None, answer.said
        job = job_state(self._checked(answer).out.decode("utf-8", "replace"), {}, {})
        if job is None:
            raise ToolError(f"{self._name} reported no state for {lease_id}", cause="its answer cannot be read")
        meant = self.settings.states.get(job.state, job.state.lower())
        state = next((one for one in LEASE_STATES if one == meant), None)
        if state is None:
            raise ToolError(
                f"{self._name} reported an unknown state for {lease_id}: {job.state}",
                cause="`states` in its settings does not say what that means",
            )
        return state, job.said

    def release(self, lease_id: str) -> None:
        """End a lease. Raises ToolError."""
        answer = self._run(self.settings.release, lease_id)
        if answer.code != 0 and not re.search(self.settings.gone, answer.err):
            self._checked(answer)

    def _run(self, words: Words, lease_id: str, ttl_s: float = 0.0, *, most_s: float = float("inf")) -> ShellAnswer:
        own, argv = split_env_words(filled(words, id=lease_id, ttl=str(round(ttl_s))))
        return run_program(
            argv,
            {**self._workspace.environ, **own},
            stdin=b"",
            timeout_s=min(most_s, self.settings.timeout_s),
            cwd=str(self._workspace.cwd),
        )

    def _checked(self, answer: ShellAnswer) -> ShellAnswer:
        if answer.code != 0:
            raise ToolError(f"the command of {self._name} failed", cause=answer.said)
        return answer


# -- what is done with them ------------------------------------------------------------------------------


def request(workspace: Workspace, book: Book, name: str, *, ttl_s: float | None = None) -> Lease:
    """Request a lease of this allocator, and return it. Raises UsageError where one is open, or the budget of the
    logbook is spent."""
    allocator = Allocator(workspace, named(workspace, name, "allocators"))
    with book.lock():
        if (there := _open(book, name)) is not None:
            raise UsageError(
                f"{name} already has an open lease: {there.id}",
                cause=f"its state is {there.state}",
                hint=f"logbook lease release {name}",
            )
        budget, taken = book.header.device_hours, spent(workspace, book)
        if budget is not None and taken >= budget:
            raise UsageError(
                f"the budget of {budget:g} device hours is spent",
                cause=f"leases have used {taken:.2f} device hours",
                hint=f"logbook lease list, or raise device_hours in {book.header_path}",
            )
        now = workspace.now().astimezone(UTC)
        ttl_s = allocator.settings.ttl_s if ttl_s is None else ttl_s
        words = re.sub(r"[^a-z0-9]+", "-", f"{book.header.prefix}-{name}".lower()).strip("-")
        lease = Lease(
            id=f"{words[:60]}-{secrets.token_hex(4)}",
            allocator=name,
            devices=allocator.settings.devices,
            requested=now.isoformat(timespec="milliseconds"),
            until=(now + timedelta(seconds=ttl_s)).isoformat(timespec="seconds"),
        )
        lease = write_lease(book, lease)
    try:
        allocator.request(lease.id, ttl_s)
    except ToolError as error:
        state: LeaseState | None = None
        said, answer, is_unknown = error.said, None, isinstance(error, NoAnswer)
        try:
            state, answer = allocator.poll(lease.id)
        except ToolError:
            is_unknown = True
        if state is None and is_unknown:
            # It may still be created: the next look asks for it again.
            workspace.warnings.append(f"{lease.id}: {said}; the request may or may not have arrived")
            return write_lease(book, dataclasses.replace(lease, said=said))
        seen = lease.seen(state or "failed", said if state is None else answer, workspace.now())
        return write_lease(book, seen)
    return _polled(workspace, book, allocator, lease)


def listed(workspace: Workspace, book: Book) -> list[Lease]:
    """All leases; the allocators of open ones are asked for their states."""
    there = declared(workspace, "allocators")
    found = []
    for lease in leases(book):
        one = there.get(lease.allocator)
        if lease.is_open and one is None:
            workspace.warnings.append(
                f"{lease.id}: cannot ask for its state: the settings have no allocator {lease.allocator!r}"
            )
        elif lease.is_open and one is not None:
            lease = _polled(workspace, book, Allocator(workspace, one), lease)
        found.append(lease)
    return found


def release(workspace: Workspace, book: Book, name: str) -> Lease | None:
    """Release the open lease of an allocator, and return it; None where it has none. Raises ToolError when the
    allocator does not end it: it stays open, and may be released again; UsageError where there is no such allocator."""
    lease = _open(book, name)
    if lease is None:
        named(workspace, name, "allocators")
        return None
    allocator = Allocator(workspace, named(workspace, name, "allocators"))
    # On disk first: whoever reads it knows that nobody needs it any more.
    lease = write_lease(book, dataclasses.replace(lease, given_up=True))
    try:
        allocator.release(lease.id)
    except ToolError as error:
        raise ToolError(
            f"{lease.id} was not released: {error.message}",
            cause=error.cause or "the allocator refused",
            hint=f"try again: logbook lease release {name}",
        ) from error
    return _polled(workspace, book, allocator, lease)


def spent(workspace: Workspace, book: Book) -> float:
    """The device hours that all leases have taken."""
    return sum(lease.device_hours(workspace.now()) for lease in leases(book))


def check_leases(workspace: Workspace, book: Book) -> Iterator[Trouble]:
    """Leases that nobody needs any more and that may still hold devices; allocators are not asked."""
    now = workspace.now()
    try:
        found = leases(book)
    except StoreError as error:
        yield Trouble("error", "lease", None, error.message, error.hint or error.cause)
        return
    for lease in found:
        if not lease.is_open or not (lease.given_up or lease.is_overdue(now)):
            continue
        why = "its release did not complete" if lease.given_up else f"it expired at {lease.until}"
        message = f"the lease {lease.id} of {lease.allocator!r} is still {lease.state}: {why}"
        mend = f"logbook lease release {lease.allocator}; its state: logbook lease list"
        yield Trouble("warning", "lease", None, message, mend)


def _polled(workspace: Workspace, book: Book, allocator: Allocator, lease: Lease) -> Lease:
    """The lease in its present state; unchanged, with a warning, where its allocator does not answer."""
    try:
        state, said = allocator.poll(lease.id)
    except ToolError as error:
        workspace.warnings.append(f"{lease.id}: {error.said}")
        return lease
    now = workspace.now()
    if state is None:
        is_new = abs(now - datetime.fromisoformat(lease.requested)) < _SETTLE
        if lease.state == "requested" and not lease.given_up and is_new:
            return lease  # it may not have arrived yet
        has_ended = lease.given_up or lease.is_overdue(now) or lease.active_s or lease.active_since is not None
        state = "released" if has_ended else "failed"
    seen = lease.seen(state, said, now)
    return seen if seen == lease else write_lease(book, seen)


def _open(book: Book, name: str) -> Lease | None:
    """The open lease of an allocator."""
    return next((lease for lease in reversed(leases(book)) if lease.allocator == name and lease.is_open), None)
