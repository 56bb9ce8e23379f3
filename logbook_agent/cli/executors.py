"""`logbook executors`: lists and checks executors."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, to_builtins

from logbook_agent.cli.options import Common, arguments
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.worker_report import Device
from logbook_agent.running.executors import LOCAL
from logbook_agent.running.executors.table import declared, executor_named, named
from logbook_agent.store.workspace import Workspace


class Checked(Struct, frozen=True, kw_only=True):
    """What an executor answered. `version` is that of the code that measures there, `python` what it runs in."""

    name: str
    kind: str
    is_ready: bool = False
    host: str | None = None
    python: str | None = None
    version: str | None = None
    devices: tuple[Device, ...] = ()
    problem: str | None = None
    hint: str | None = None


def executors_command(
    *,
    names: Sequence[str] = arguments("[NAME...]", "Which executors. [all in the settings]"),
    common: Common,
) -> int:
    """Each is asked for its host, its Python and its devices. Exit code 1: an executor cannot be used.

    Example: logbook executors box
    """
    space = common.space()
    there = declared(space)
    for name in names:
        if name != LOCAL:
            named(space, name)
    chosen = [name for name in (LOCAL, *there) if not names or name in names]
    found = [_checked(space, name, there[name].common.kind if name in there else LOCAL) for name in chosen]
    data = {"executors": [{**to_builtins(one), "devices": encode(one.devices)} for one in found]}
    common.emit("executors", data, "\n".join(map(_text, found)))
    return 1 if any(one.problem for one in found) else 0


def _checked(workspace: Workspace, name: str, kind: str) -> Checked:
    """Ask an executor."""
    try:
        answer = executor_named(workspace, name).hello()
    except LogbookError as error:
        return Checked(name=name, kind=kind, problem=error.said, hint=error.hint)
    return Checked(
        name=name,
        kind=kind,
        is_ready=True,
        host=answer.host.name,
        python=answer.python,
        version=answer.version,
        devices=answer.devices,
    )


def _text(one: Checked) -> str:
    """`box  ssh  ok  box: Python 3.11.7, 4 x tpu (TPU v5p)`."""
    state = "ok" if one.is_ready else "failed"
    parts = [f"Python {one.python}"] if one.python is not None else []
    parts += [_device(device) for device in one.devices]
    what = one.problem or ", ".join(parts)
    return "  ".join(part for part in (one.name, one.kind, state, f"{one.host}: {what}" if one.host else what) if part)


def _device(device: Device) -> str:
    return f"{device.count} x {device.platform}" + (f" ({device.kind})" if device.kind else "")
