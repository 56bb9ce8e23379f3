"""`logbook lease`."""

from __future__ import annotations

from datetime import datetime

from logbook_agent.cli.declared import argument
from logbook_agent.cli.options import Common, Text, duration
from logbook_agent.cluster import leases
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import UsageError
from logbook_agent.running.executors.table import named
from logbook_agent.text.phrases import counted


def lease_command(
    *,
    verb: str = argument("ACTION", "request, list or release.", ...),
    name: Text = argument("[NAME]", "The allocator: NAME of [allocators.NAME] in the settings."),
    ttl_s: float | None = duration("--for TIME", "How long the lease lasts from now: 90m, 8h, 2d. [ttl_s]"),
    common: Common,
) -> None:
    """A lease holds devices for a logbook until it is released or expires.

    `request` asks for a lease, `list` shows all of them, `release` ends the open one.
    Example: logbook lease request tpu --for 4h
    """
    space = common.space()
    book = space.book()
    if verb not in ("request", "list", "release"):
        raise UsageError(f"unknown action {verb!r}", cause="actions: request, list, release", hint="logbook lease list")
    if name is None and verb != "list":
        raise UsageError(
            f"{verb} needs the name of an allocator", cause="none was given", hint=f"logbook lease {verb} NAME"
        )
    data: dict[str, object] = {}
    last = ""
    if name is None or verb == "list":
        if name is not None:
            named(space, name, "allocators")
        found = [lease for lease in leases.listed(space, book) if name in (None, lease.allocator)]
        spent, budget = leases.spent(space, book), book.header.device_hours
        data["device_hours"] = round(spent, 4)
        total = f"total: {spent:.2f}" + (f" of {budget:g}" if budget is not None else "") + " device hours"
        last = total if found else "no leases"
    elif verb == "request":
        found = [leases.request(space, book, name, ttl_s=ttl_s)]
    else:
        released = leases.release(space, book, name)
        found = [released] if released is not None else []
        last = "" if found else f"{name} has no open lease"
    data["leases"] = [_lease_data(lease, space.now()) for lease in found]
    lines = [*(_lease_text(lease, space.now()) for lease in found), *([last] if last else [])]
    common.emit("lease", data, "\n".join(lines))


def _lease_data(lease: leases.Lease, now: datetime) -> dict[str, object]:
    plain = {key: value for key, value in encode(lease).items() if key != "format"}
    return {**plain, "device_hours": round(lease.device_hours(now), 4)}


def _lease_text(lease: leases.Lease, now: datetime) -> str:
    """`tpu  moe-tpu-3f2a9c01  active (expires ...): 4 devices, 0.50 device hours`."""
    facts = [lease.said] if lease.said and lease.state not in ("active", "released") else []
    facts += [f"expires {lease.until}"] if lease.is_open else []
    known = f" ({', '.join(facts)})" if facts else ""
    hours = f"{lease.device_hours(now):.2f} device hours"
    return f"{lease.allocator}  {lease.id}  {lease.state}{known}: {counted(lease.devices, 'device')}, {hours}"
