"""Everything recorded about where and with what a run happens, taken just before it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.model.run import Code, Contention, Device, Host
from logbook_agent.running.provenance.devices import visible_devices
from logbook_agent.running.provenance.environment import relevant_env
from logbook_agent.running.provenance.git import code_facts
from logbook_agent.running.provenance.host import host_facts
from logbook_agent.running.provenance.others import other_users
from logbook_agent.running.provenance.software import software_versions


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Facts of one moment. `diff` and `untracked` hold what is to be kept beside the record, unredacted."""

    code: Code | None
    diff: bytes | None = None
    untracked: dict[str, bytes] = field(default_factory=dict)
    host: Host
    devices: tuple[Device, ...] = ()
    software: dict[str, str] = field(default_factory=dict)
    relevant_env: dict[str, str] = field(default_factory=dict)
    contention: Contention | None = None
    problems: tuple[str, ...] = ()


def snapshot(
    *,
    cwd: Path,
    root: Path,
    argv: Sequence[str],
    environ: Mapping[str, str],
    env_patterns: Sequence[str] = (),
    packages: Sequence[str] = (),
    remote: bool = False,
) -> Provenance:
    """Facts about `argv` as started in `cwd`. With `remote` a launcher carries the command elsewhere, so
    this host's devices, packages and variables say nothing about it and are left unknown."""
    code = code_facts(cwd, root, argv, environ=environ)
    contention = None if remote else other_users()
    held = [] if contention is None else [f"contended: {who} held an accelerator" for who in contention.accelerator]
    return Provenance(
        code=code.code,
        diff=code.diff,
        untracked=code.untracked,
        host=host_facts(),
        devices=() if remote else visible_devices(environ),
        software={} if remote else software_versions(argv, cwd, environ, packages),
        relevant_env={} if remote else relevant_env(environ, env_patterns),
        contention=contention,
        problems=(*code.problems, *held),
    )
