"""`logbook executors`: lists and checks executors, and confirms the tables of a project."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, Texts
from logbook_agent.cli.output import emit
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.run import Device
from logbook_agent.running.confirmation import confirm, open_claims
from logbook_agent.running.executors import LOCAL
from logbook_agent.running.executors.contract import Installs
from logbook_agent.running.executors.table import Declared, declared, executor_named, is_confirmed, made
from logbook_agent.store.reading import manual
from logbook_agent.store.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What an executor answered. `is_ready` None: it was not asked. `version` is that of the code that measures there,
    `python` what it runs in."""

    name: str
    kind: str
    file: str | None = None
    is_confirmed: bool = True
    is_ready: bool | None = None
    host: str | None = None
    python: str | None = None
    version: str | None = None
    devices: tuple[Device, ...] = ()
    problem: str | None = None
    hint: str | None = None


def executors_command(
    *,
    names: Annotated[Texts, Argument(metavar="[NAME...]", help="Which executors. [all in the settings]")] = None,
    digest: Annotated[
        Text,
        Option(
            "--confirm", metavar="DIGEST", help="Allow the launchers, executors and allocators that have this digest."
        ),
    ] = None,
    install: Annotated[
        bool, Option("--install", help="Create the Python environment for workers on each machine named.")
    ] = False,
    offline: Annotated[bool, Option("--offline", help="List them without contacting any machine.")] = False,
    common: Common,
) -> int:
    """Each is asked for its host, its Python and its devices.

    You must confirm launchers, executors and allocators of a project, and files of the repository that they name,
    before they are used, and again after each change. Exit code 1: an executor cannot be used.
    Example: logbook executors --offline
    """
    space = common.space()
    there = declared(space)
    unknown = [name for name in names or () if name not in there and name != LOCAL]
    if unknown:
        raise UsageError(
            f"no executor {unknown[0]!r}",
            cause=f"executors in the settings: {', '.join(there) or 'none'}",
            hint=f"describe it in your settings: {manual('how-to/clusters.md')}",
        )
    done = confirm(space, digest) if digest is not None else None
    if install and not names:
        raise UsageError(
            "--install needs the name of an executor",
            cause="it changes files on that machine",
            hint="logbook executors NAME --install",
        )
    for name in names or () if install else ():
        _install_on(space, name)
    chosen = [name for name in (LOCAL, *there) if not names or name in names]
    found = [_checked(space, name, there.get(name), offline=offline) for name in chosen]
    left = open_claims(space)
    data = {
        "executors": [{**asdict(one), "devices": encode(one.devices)} for one in found],
        "confirmed": done.data() if done is not None else None,
        "not_confirmed": [claim.data() for claim in left],
    }
    lines = [f"confirmed for {done.top}: {done.shown}"] if done is not None else []
    lines += map(_text, found)
    lines += [
        f"not confirmed: {claim.shown}\n  to allow them: logbook executors --confirm {claim.digest}" for claim in left
    ]
    emit("executors", data, "\n".join(lines), as_json=common.as_json, warnings=space.warnings)
    return 1 if any(one.problem for one in found) else 0


def _checked(workspace: Workspace, name: str, declared: Declared | None, *, offline: bool) -> Checked:
    """Ask an executor, but not one that the user has not confirmed; None: this machine."""
    known = Checked(name=name, kind=LOCAL)
    if declared is not None:
        may_be_used = is_confirmed(workspace, declared)
        known = Checked(name=name, kind=declared.kind, file=str(declared.file), is_confirmed=may_be_used)
        if not may_be_used or offline:
            return known
    try:
        answer = (executor_named(workspace, name) if declared is None else made(workspace, declared)).hello()
    except LogbookError as error:
        return replace(known, is_ready=False, problem=error.said, hint=error.hint)
    return replace(
        known,
        is_ready=True,
        host=answer.host.name,
        python=answer.python,
        version=answer.version,
        devices=answer.devices,
    )


def _install_on(workspace: Workspace, name: str) -> None:
    executor = executor_named(workspace, name)
    if not isinstance(executor, Installs):
        raise UsageError(
            f"nothing can be installed on {name}",
            cause="it runs on this machine, or its launcher decides what is there",
            hint="leave --install out",
        )
    executor.install()


def _text(one: Checked) -> str:
    """`box  ssh  ok  box: Python 3.11.7, 4 x tpu (TPU v5p)`."""
    state = (
        "not confirmed" if not one.is_confirmed else "-" if one.is_ready is None else "ok" if one.is_ready else "failed"
    )
    parts = [f"Python {one.python}"] if one.python is not None else []
    parts += [_device(device) for device in one.devices]
    what = one.problem or ", ".join(parts)
    return "  ".join(part for part in (one.name, one.kind, state, f"{one.host}: {what}" if one.host else what) if part)


def _device(device: Device) -> str:
    return f"{device.count} x {device.platform}" + (f" ({device.kind})" if device.kind else "")
