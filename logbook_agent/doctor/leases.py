"""Leases that nobody needs any more and that may still hold devices."""

from __future__ import annotations

from collections.abc import Iterator

from logbook_agent.doctor.finding import Examination, Trouble
from logbook_agent.model.errors import StoreError
from logbook_agent.store.leases import has_leases, leases


def check_leases(examination: Examination) -> Iterator[Trouble]:
    """Each is named with what to type; allocators are not asked."""
    book, now = examination.book, examination.workspace.now()
    if not has_leases(book):
        return
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
