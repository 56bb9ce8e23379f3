"""The executors that `--on` may name: tables of the user's own settings, and those of the project that the user has
confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import UsageError
from logbook_agent.running.confirmed import Section, check_confirmed, open_claim
from logbook_agent.store.reading import manual
from logbook_agent.store.user_config import load_user_config, user_config_file
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.near import nearest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
# Executors that need no table: this machine, and submissions to a known launcher as they were typed.
LOCAL, TYPED = "local", "typed"
# A start that is refused for a reason that may pass is tried again for so long.
PATIENCE_S = 900.0
# What every executor may state.
COMMON = ("kind", "equivalent", "retry_start_s")
_MOST_RETRY_S = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One table `[executors.NAME]`: its kind, the other settings as written, and the file that it stands in; or one
    table `[allocators.NAME]`. `is_equivalent`: its machines are declared to be equal, so that runs of different ones
    may be compared. `retry_start_s`: for how long a refused start is tried again."""

    name: str
    kind: str
    table: Mapping[str, Any]
    file: Path | None = None
    is_equivalent: bool = False
    section: Section = "executors"
    retry_start_s: float = PATIENCE_S

    @property
    def what(self) -> str:
        """`executor 'box'`."""
        return f"{self.section.removesuffix('s')} {self.name!r}"

    def read(self, settings: type[T]) -> T:
        """The settings as a value of this class. Raises UsageError for an unknown or missing one, or a wrong type."""
        try:
            return decode(settings, dict(self.table))
        except CodecError as error:
            raise UsageError(
                f"{self.what}: {error}",
                cause=f"[{self.section}.{self.name}] in {self.file} is not valid",
                hint=f"its settings are: {', '.join(f.name for f in fields(settings))}",
            ) from None


def is_declared(workspace: Workspace, name: str) -> bool:
    """Whether `--on` of this name means an executor."""
    return name in workspace.config.executors or name in load_user_config(workspace.environ).executors


def declared(workspace: Workspace, section: Section = "executors") -> dict[str, Declared]:
    """All of them by name; the user's own table is taken where the project has one of the same name."""
    user, config = load_user_config(workspace.environ), workspace.config
    here, own = getattr(config, section), getattr(user, section)
    found = {name: _declared(section, name, table, config.file) for name, table in here.items()}
    own_file = user_config_file(workspace.environ)
    found |= {name: _declared(section, name, table, own_file) for name, table in own.items()}
    return dict(sorted(found.items()))


def is_confirmed(workspace: Workspace, declared: Declared) -> bool:
    """Whether the user lets this table be used as it is now."""
    return open_claim(workspace, declared.section, declared.name) is None


def named(workspace: Workspace, name: str, section: Section = "executors", cwd: Path | None = None) -> Declared:
    """The executor of this name, for programs that start in `cwd`. Raises UsageError when there is none, or the user
    has not confirmed it."""
    there, one = declared(workspace, section), section.removesuffix("s")
    if name not in there:
        near = nearest(name, tuple(there))
        raise UsageError(
            f"no {one} {name!r}",
            cause=f"{section} in the settings: {', '.join(there) or 'none'}",
            hint=f"did you mean {near}?" if near else f"describe it in your settings: {manual('how-to/clusters.md')}",
        )
    check_confirmed(workspace, section, name, cwd)
    return there[name]


def _declared(section: Section, name: str, table: Mapping[str, Any], file: Path | None) -> Declared:
    """One table of an executor or allocator, with the keys that each executor has.

    kind: `ssh`, `slurm`, `ray` or `command`
    equivalent: true declares its machines equal: a round of `logbook sweep --parallel` may use several, and runs of
        different ones are compared; default: false
    retry_start_s: for how many seconds a start that was refused for a reason that may pass is retried; 0: not at all;
        default: 900
    """
    kind = table.get("kind")
    if name == LOCAL:
        raise UsageError(
            f"[{section}.{LOCAL}] in {file}", cause="that name is reserved for this machine", hint="rename it"
        )
    if not isinstance(kind, str):
        raise UsageError(
            f"[{section}.{name}] in {file} has no kind",
            cause="the kind selects how it is reached",
            hint='write: kind = "command"',
        )
    equivalent = table.get("equivalent", False) if section == "executors" else False
    if not isinstance(equivalent, bool):
        raise UsageError(
            f"[{section}.{name}] in {file}: equivalent must be true or false", hint="write: equivalent = true"
        )
    retry_s = table.get("retry_start_s", PATIENCE_S) if section == "executors" else PATIENCE_S
    if isinstance(retry_s, bool) or not isinstance(retry_s, int | float) or not 0 <= retry_s <= _MOST_RETRY_S:
        raise UsageError(
            f"[{section}.{name}] in {file}: retry_start_s = {retry_s!r}: expected seconds from 0 to {_MOST_RETRY_S:g}",
            hint=f"write: retry_start_s = {PATIENCE_S:g}",
        )
    own = COMMON if section == "executors" else ("kind",)
    rest = {key: value for key, value in table.items() if key not in own}
    return Declared(
        name=name,
        kind=kind,
        table=rest,
        file=file,
        is_equivalent=equivalent,
        section=section,
        retry_start_s=float(retry_s),
    )
