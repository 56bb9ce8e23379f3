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
    verb: Annotated[str, Argument(metavar="VERB", help="request, list, renew or release.")],
    name: Annotated[Text, Argument(metavar="[NAME]", help="The allocator, as [allocators.NAME] calls it.")] = None,
    for_: Annotated[Text, Option("--for", metavar="TIME", help="How long it lasts from now on: 90m, 8h, 2d.")] = None,
    offline: Annotated[bool, Option("--offline", help="List what is recorded; ask no allocator.")] = False,
    common: Common,
) -> None:
    """A lease holds devices for a logbook until it is released or its time is over.

    `request` asks for one, `list` asks how all of them stand, `renew` gives the open one more time, `release` ends it.
    Example: logbook lease request tpu --for 4h
    """
    space = common.space()
    book = space.book()
    if verb not in _VERBS:
        raise UsageError(f"no verb {verb!r}", cause=f"there are {', '.join(_VERBS)}", hint="logbook lease list")
    if verb == "list":
        found = leases.listed(space, book, offline=offline)
        wanted = [lease for lease in found if name in (None, lease.allocator)]
        spent, budget = leases.spent(space, book), book.header.device_hours
        data = {"leases": [_data(lease, space.now()) for lease in wanted], "device_hours": round(spent, 4)}
        text = "\n".join(_text(lease, space.now()) for lease in wanted) or "no leases"
        total = f"\n{spent:.2f} device hours in all" + (f" of {budget:g}" if budget is not None else "")
        emit("lease", data, text + (total if wanted else ""), as_json=common.as_json, warnings=space.warnings)
        return
    if name is None:
        raise UsageError(f"{verb} needs an allocator", cause="none was named", hint=f"logbook lease {verb} NAME")
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
    """`tpu  moe-tpu-3f2a9c01  active until ...: 4 devices, 0.50 device hours`."""
    until = f" until {lease.until}" if lease.is_open else ""
    devices = f"{lease.devices} device{'' if lease.devices == 1 else 's'}"
    said = f" ({lease.said})" if lease.said and lease.state not in ("active", "released") else ""
    hours = f"{lease.device_hours(now):.2f} device hours"
    return f"{lease.allocator}  {lease.id}  {lease.state}{until}{said}: {devices}, {hours}"
