"""Leases of a logbook: requesting, renewing and releasing them, and what a run needs of one before it begins."""

from __future__ import annotations

import dataclasses
import time
from datetime import UTC, datetime, timedelta

from logbook_agent.model.errors import LogbookError, ToolError, UsageError
from logbook_agent.model.lease import Lease
from logbook_agent.running.allocators.allocator import Allocator, allocator
from logbook_agent.running.executors.settings import declared, is_confirmed, is_declared, named
from logbook_agent.running.executors.table import executor_named
from logbook_agent.store.book import Book
from logbook_agent.store.leases import has_leases, leases, new_id, write_lease
from logbook_agent.store.workspace import Workspace

# A request without an answer may still be on its way for so long.
_SETTLE = timedelta(minutes=5)
# A lease that was active so long ago is asked about again.
_FRESH_S = 30.0


def request(workspace: Workspace, book: Book, name: str, *, ttl_s: float | None = None) -> Lease:
    """Ask the allocator of this name for a lease, and return it as it stands then. Raises UsageError where there is an
    open one, or the budget is spent."""
    asked = allocator(workspace, book, named(workspace, name, "allocators"))
    ttl_s = asked.ttl_s if ttl_s is None else ttl_s
    with book.lock():
        there = _open(book, name)
        if there is not None:
            raise UsageError(
                f"{name} already has an open lease: {there.id}",
                cause=f"its state is {there.state}",
                hint=f"logbook lease renew {name}, or: logbook lease release {name}",
            )
        _check_budget(workspace, book)
        now = workspace.now()
        lease = write_lease(
            book,
            Lease(
                id=new_id(book, name),
                allocator=name,
                devices=asked.devices,
                requested=now.astimezone(UTC).isoformat(timespec="milliseconds"),
                until=_text(now + timedelta(seconds=ttl_s)),
            ),
        )
    try:
        asked.request(lease.id, ttl_s)
    except ToolError as error:
        # It may be there all the same: its answer was lost.
        lease = _after_refusal(workspace, book, asked, lease, error)
    else:
        lease = _polled(workspace, book, asked, lease)
    _warn_of_budget(workspace, book, lease)
    return lease


def _after_refusal(workspace: Workspace, book: Book, asked: Allocator, lease: Lease, error: ToolError) -> Lease:
    said = error.message + (f" ({error.cause})" if error.cause else "")
    try:
        found = asked.poll(lease.id)
    except ToolError:
        workspace.warnings.append(f"{lease.id}: {said}; the request may or may not have arrived")
        return write_lease(book, dataclasses.replace(lease, said=said))
    if found.state is None:
        return write_lease(book, lease.seen("failed", said, workspace.now()))
    return write_lease(book, lease.seen(found.state, found.said, workspace.now()))


def _polled(workspace: Workspace, book: Book, asked: Allocator, lease: Lease) -> Lease:
    """The lease as its allocator tells of it now; as it was where that does not answer, with a warning."""
    try:
        found = asked.poll(lease.id)
    except ToolError as error:
        workspace.warnings.append(f"{lease.id}: {error.message}" + (f" ({error.cause})" if error.cause else ""))
        return lease
    now, state = workspace.now(), found.state
    if state is None:
        if lease.state == "requested" and not lease.given_up and abs(now - _moment(lease.requested)) < _SETTLE:
            return lease  # it may not have come yet
        state = "released" if lease.given_up or lease.is_overdue(now) or lease.active_s else "failed"
        state = "released" if lease.active_since is not None else state
    seen = lease.seen(state, found.said, now)
    return seen if seen == lease else write_lease(book, seen)


def listed(workspace: Workspace, book: Book, *, offline: bool = False) -> list[Lease]:
    """All leases, the open ones as their allocators tell of them now."""
    there = declared(workspace, "allocators")
    found = []
    for lease in leases(book):
        one = there.get(lease.allocator)
        if lease.is_open and not offline and (one is None or not is_confirmed(workspace, one)):
            workspace.warnings.append(
                f"{lease.id}: cannot ask for its state: the settings have no confirmed allocator {lease.allocator!r}"
            )
        elif lease.is_open and not offline and one is not None:
            lease = _polled(workspace, book, allocator(workspace, book, one), lease)
        found.append(lease)
    return found


def renew(workspace: Workspace, book: Book, name: str, *, ttl_s: float | None = None) -> Lease:
    """Have the open lease of an allocator last so long from now on. Raises UsageError where there is none."""
    lease, asked = _of(workspace, book, name)
    ttl_s = asked.ttl_s if ttl_s is None else ttl_s
    _check_budget(workspace, book)
    asked.renew(lease.id, ttl_s)
    now = workspace.now()
    lease = write_lease(book, dataclasses.replace(lease, until=_text(now + timedelta(seconds=ttl_s))))
    lease = _polled(workspace, book, asked, lease)
    _warn_of_budget(workspace, book, lease)
    return lease


def release(workspace: Workspace, book: Book, name: str) -> Lease | None:
    """End the open lease of an allocator, and return it; None where it has none. It may be asked for again. Raises
    ToolError when the allocator does not end it: then it is still open; UsageError where there is no such allocator."""
    if _open(book, name) is None:
        check_name(workspace, book, name)
        return None
    lease, asked = _of(workspace, book, name)
    # On disk before it is asked for: whoever comes later knows that nobody wants it.
    lease = write_lease(book, dataclasses.replace(lease, given_up=True))
    try:
        asked.release(lease.id)
    except ToolError as error:
        raise ToolError(
            f"{lease.id} was not released: {error.message}",
            cause=error.cause or "the allocator refused",
            hint=f"try again: logbook lease release {name}",
        ) from error
    lease = _polled(workspace, book, asked, lease)
    if lease.state == "active":  # it takes its time to end
        lease = write_lease(book, dataclasses.replace(lease, said="release requested"))
    return lease


def check_name(workspace: Workspace, book: Book, name: str) -> None:
    """Raises UsageError where no lease and no table of the settings is of an allocator of this name."""
    if all(lease.allocator != name for lease in leases(book)) and name not in declared(workspace, "allocators"):
        named(workspace, name, "allocators")


# -- before and after runs ---------------------------------------------------------------------------


def check_executor(workspace: Workspace, book: Book, on: str) -> None:
    """Raises UsageError where the settings of this executor cannot work, or runs there need a lease that is not active,
    or the budget is spent."""
    found = declared(workspace).get(on) if is_declared(workspace, on) else None
    if found is not None:
        executor_named(workspace, on)
    if found is not None and found.lease is not None:
        check_lease(workspace, book, found.lease)


def check_lease(workspace: Workspace, book: Book, name: str) -> None:
    """Raises UsageError where the lease of this allocator is not active, or the budget is spent."""
    asked_at = workspace.made.get(f"lease {name}")
    if isinstance(asked_at, float) and time.monotonic() - asked_at < _FRESH_S:
        return
    hint = f"logbook lease request {name}"
    lease = _open(book, name)
    if lease is None:
        raise UsageError(f"no lease from {name!r}", cause="runs on this executor need one", hint=hint)
    _check_budget(workspace, book)
    lease = _polled(workspace, book, _of(workspace, book, name)[1], lease)
    if lease.state != "active":
        raise UsageError(
            f"the lease {lease.id} of {name!r} is {lease.state}",
            cause=lease.said or "its allocator reported this",
            hint="logbook lease list" if lease.is_open else hint,
        )
    workspace.made[f"lease {name}"] = time.monotonic()


def release_after(workspace: Workspace, book: Book, on: str | None) -> None:
    """Release the lease of an executor whose series of runs has come to its end; a failure is warned about."""
    found = declared(workspace).get(on) if on is not None else None
    if found is None or found.lease is None:
        return
    try:
        release(workspace, book, found.lease)
    except LogbookError as error:
        workspace.warnings.append(f"{error.message}; {error.hint}")


# -- parts -------------------------------------------------------------------------------------------


def spent(workspace: Workspace, book: Book) -> float:
    """The device hours that all leases have taken."""
    return sum(lease.device_hours(workspace.now()) for lease in leases(book)) if has_leases(book) else 0.0


def _check_budget(workspace: Workspace, book: Book) -> None:
    budget = book.header.device_hours
    taken = spent(workspace, book) if budget is not None else 0.0
    if budget is not None and taken >= budget:
        raise UsageError(
            f"the budget of {budget:g} device hours is spent",
            cause=f"leases have used {taken:.2f} device hours",
            hint=f"logbook lease list, or raise device_hours in {book.header_path}",
        )


def _warn_of_budget(workspace: Workspace, book: Book, lease: Lease) -> None:
    """Say when a lease would take more than is left."""
    budget = book.header.device_hours
    if budget is None or not lease.is_open:
        return
    now = workspace.now()
    most = sum(one.most_device_hours(now) if one.id == lease.id else one.device_hours(now) for one in leases(book))
    if most > budget:
        workspace.warnings.append(
            f"if this lease lasts until {lease.until}, leases will have used {most:.2f} of {budget:g} device hours"
        )


def _open(book: Book, name: str) -> Lease | None:
    """The open lease of an allocator."""
    found = [lease for lease in leases(book) if lease.allocator == name and lease.is_open] if has_leases(book) else []
    return found[-1] if found else None


def _of(workspace: Workspace, book: Book, name: str) -> tuple[Lease, Allocator]:
    """The open lease of an allocator, with it."""
    asked = allocator(workspace, book, named(workspace, name, "allocators"))
    lease = _open(book, name)
    if lease is None:
        raise UsageError(
            f"no open lease from {name!r}",
            cause="none was requested, or it has ended",
            hint=f"logbook lease request {name}",
        )
    return lease, asked


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
