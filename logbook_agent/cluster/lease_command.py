"""`logbook lease`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text
from logbook_agent.cli.output import emit
from logbook_agent.entries import leases
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import UsageError
from logbook_agent.model.lease import Lease
from logbook_agent.running.prepare import parse_duration

_VERBS = ("request", "list", "renew", "release")


def lease_command(
    *,
    verb: Annotated[str, Argument(metavar="ACTION", help="request, list, renew or release.")],
    name: Annotated[
        Text, Argument(metavar="[NAME]", help="The allocator: NAME of [allocators.NAME] in the settings.")
    ] = None,
    for_: Annotated[
        Text, Option("--for", metavar="TIME", help="How long the lease lasts from now: 90m, 8h, 2d. [ttl_s]")
    ] = None,
    offline: Annotated[bool, Option("--offline", help="List what is recorded, without asking any allocator.")] = False,
    common: Common,
) -> None:
    """A lease holds devices for a logbook until it is released or expires.

    `request` asks for a lease, `list` shows all of them, `renew` extends the open one, `release` ends it.
    Example: logbook lease request tpu --for 4h
    """
    space = common.space()
    book = space.book()
    if verb not in _VERBS:
        raise UsageError(f"unknown action {verb!r}", cause=f"actions: {', '.join(_VERBS)}", hint="logbook lease list")
    if verb == "list":
        if name is not None:
            leases.check_name(space, book, name)
        found = leases.listed(space, book, offline=offline)
        wanted = [lease for lease in found if name in (None, lease.allocator)]
        spent, budget = leases.spent(space, book), book.header.device_hours
        data = {"leases": [_data(lease, space.now()) for lease in wanted], "device_hours": round(spent, 4)}
        text = "\n".join(_text(lease, space.now()) for lease in wanted) or "no leases"
        total = f"\ntotal: {spent:.2f}" + (f" of {budget:g}" if budget is not None else "") + " device hours"
        emit("lease", data, text + (total if wanted else ""), as_json=common.as_json, warnings=space.warnings)
        return
    if name is None:
        raise UsageError(
            f"{verb} needs the name of an allocator", cause="none was given", hint=f"logbook lease {verb} NAME"
        )
    ttl_s = parse_duration(for_, "--for") if for_ is not None else None
    if verb == "release":
        released = leases.release(space, book, name)
        none = f"{name} has no open lease"
        text = _text(released, space.now()) if released is not None else none
        data = {"leases": [_data(released, space.now())] if released is not None else []}
        emit("lease", data, text, as_json=common.as_json, warnings=space.warnings)
        return
    do = leases.request if verb == "request" else leases.renew
    lease = do(space, book, name, ttl_s=ttl_s)
    data = {"leases": [_data(lease, space.now())]}
    emit("lease", data, _text(lease, space.now()), as_json=common.as_json, warnings=space.warnings)


def _data(lease: Lease, now: datetime) -> dict[str, Any]:
    plain = {key: value for key, value in encode(lease).items() if key != "format"}
    return {**plain, "device_hours": round(lease.device_hours(now), 4)}


def _text(lease: Lease, now: datetime) -> str:
    """`tpu  moe-tpu-3f2a9c01  active (expires ...): 4 devices, 0.50 device hours`."""
    devices = f"{lease.devices} device{'' if lease.devices == 1 else 's'}"
    facts = [lease.said] if lease.said and lease.state not in ("active", "released") else []
    facts += [f"expires {lease.until}"] if lease.is_open else []
    known = f" ({', '.join(facts)})" if facts else ""
    hours = f"{lease.device_hours(now):.2f} device hours"
    return f"{lease.allocator}  {lease.id}  {lease.state}{known}: {devices}, {hours}"
