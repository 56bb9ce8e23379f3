"""The executors that `--on` may name: tables of the user's own settings. What makes an executor of its table is found
in the table of features, by its kind."""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct, structs

from logbook_agent.features import FEATURES, present, provided
from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.run import Run
from logbook_agent.running.executors import LOCAL, TYPED
from logbook_agent.running.executors.contract import Executor, Launches
from logbook_agent.running.executors.local import Local
from logbook_agent.store.config import load_user_config, user_config_file
from logbook_agent.store.places import manual
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.launchers import Launched, launchers_from, wrap
from logbook_agent.text.phrases import nearest

T = TypeVar("T", bound=Struct)
# A start that is refused for a reason that may pass is tried again for so long.
PATIENCE_S = 900.0
_MOST_RETRY_S = 7 * 24 * 3600.0


class CommonSettings(Struct, frozen=True, kw_only=True):
    """The keys that each executor has.

    kind: `ssh`, `slurm`, `ray`, `command`, or `MODULE:FUNCTION`, which makes one of your own
    equivalent: true declares its machines equal: a round of `logbook sweep --parallel` may use several, and runs of
        different ones are compared; default: false
    retry_start_s: for how many seconds a start that was refused for a reason that may pass is retried; 0: not at all;
        default: 900
    """

    kind: str
    equivalent: bool = False
    retry_start_s: float = PATIENCE_S

    def __post_init__(self) -> None:
        if not 0 <= self.retry_start_s <= _MOST_RETRY_S:
            raise ValueError(f"retry_start_s is {self.retry_start_s:g}: expected seconds from 0 to {_MOST_RETRY_S:g}")


COMMON = tuple(field.name for field in structs.fields(CommonSettings))


class Declared(Struct, frozen=True, kw_only=True):
    """One table `[executors.NAME]` of the settings in `file`."""

    name: str
    table: Mapping[str, object]
    file: Path | None = None

    @property
    def what(self) -> str:
        """`executor 'box'`."""
        return f"executor {self.name!r}"

    @property
    def common(self) -> CommonSettings:
        """What every executor may state. Raises UsageError."""
        return self.read(CommonSettings)

    def read(self, settings: type[T]) -> T:
        """Its common settings, or its others, as a value of this class. Raises UsageError for an unknown or missing
        one, or a wrong type."""
        is_common = settings is CommonSettings
        try:
            return decode(settings, {key: value for key, value in self.table.items() if (key in COMMON) == is_common})
        except CodecError as error:
            raise UsageError(
                f"{self.what}: {error}",
                cause=f"[executors.{self.name}] in {self.file} is not valid",
                hint=f"its settings are: {', '.join(f.name for f in structs.fields(settings))}",
            ) from None


def is_declared(workspace: Workspace, name: str) -> bool:
    """Whether `--on` of this name means an executor."""
    return name in load_user_config(workspace.environ).executors


def declared(workspace: Workspace) -> dict[str, Declared]:
    """All of them by name. Raises UsageError where one cannot be used."""
    file, tables = user_config_file(workspace.environ), load_user_config(workspace.environ).executors
    if LOCAL in tables:
        raise UsageError(
            f"[executors.{LOCAL}] in {file}", cause="that name is reserved for this machine", hint="rename it"
        )
    return {name: Declared(name=name, table=table, file=file) for name, table in sorted(tables.items())}


def named(workspace: Workspace, name: str) -> Declared:
    """The executor of this name. Raises UsageError when there is none."""
    there = declared(workspace)
    if name not in there:
        near = nearest(name, tuple(there))
        raise UsageError(
            f"no executor {name!r}",
            cause=f"executors in the settings: {', '.join(there) or 'none'}",
            hint=f"did you mean {near}?" if near else f"describe it in your settings: {manual('how-to/clusters.md')}",
        )
    return there[name]


def executor_of(workspace: Workspace, run: Run) -> Executor:
    """The executor that made, or makes, a run: what a process of this machine leaves is the same with a worker or
    without. Raises UsageError for one that this version does not have."""
    return executor_named(workspace, run.executor or LOCAL)


@functools.lru_cache(maxsize=64)
def executor_named(workspace: Workspace, name: str) -> Executor:
    """The executor of this name, one for all that is asked in an invocation: it remembers whether its machine answers.
    Raises UsageError for one that the settings or this version do not have."""
    if name == LOCAL:
        return Local(workspace.environ)
    declared = Declared(name=TYPED, table={"kind": TYPED}) if name == TYPED else named(workspace, name)
    try:
        found: object = _maker(declared)(workspace, declared)
    except LogbookError:
        raise
    except Exception as error:
        if ":" not in declared.common.kind:
            raise
        raise _of_the_user(declared, f"{type(error).__name__}: {error}") from error
    if not isinstance(found, Executor):
        raise _of_the_user(declared, f"it returned {type(found).__name__}")
    return found


def _of_the_user(declared: Declared, why: str) -> UsageError:
    return UsageError(
        f"{declared.what}: {declared.common.kind!r} makes no executor",
        cause=why,
        hint=f"correct it, or [executors.{declared.name}] in {declared.file}",
    )


def _maker(declared: Declared) -> Callable[[Workspace, Declared], Any]:
    """What makes an executor of these settings: that of a feature, or a function of the user's own. Raises
    UsageError."""
    kind = declared.common.kind
    feature = next((feature for feature in FEATURES if kind in feature.executors), None)
    if feature is None and ":" in kind:
        try:
            maker: Callable[[Workspace, Declared], Any] = pkgutil.resolve_name(kind)
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(
                f"{declared.what}: no function {kind!r}",
                cause=str(error),
                hint="install its module beside logbook-agent, or name its folder in PYTHONPATH",
            ) from error
        return maker
    if feature is None:
        kinds = [kind for feature in FEATURES for kind in feature.executors if kind != TYPED]
        raise UsageError(
            f"{declared.what}: unknown kind {kind!r}",
            cause=f"this version knows {', '.join(kinds)}",
            hint=f"correct it in {declared.file}",
        )
    if feature not in present():
        raise UsageError(
            f"{declared.what}: the feature {feature.name!r} is missing from this installation",
            cause=f"executors of kind {kind!r} belong to it",
            hint="install logbook-agent with all of its features, or leave --on out",
        )
    return cast("Callable[[Workspace, Declared], Any]", provided(feature.executors[kind]))


def pool_of(workspace: Workspace, name: str) -> str | None:
    """The name that records give to the equal machines of an executor; None if they are not declared to be equal."""
    return name if is_declared(workspace, name) and named(workspace, name).common.equivalent else None


def patience_of(workspace: Workspace, name: str) -> float:
    """For how many seconds a refused start is tried again on the executor of this name."""
    return named(workspace, name).common.retry_start_s if is_declared(workspace, name) else PATIENCE_S


# -- what --on names -------------------------------------------------------------------------------


def carried_on(
    workspace: Workspace, words: Sequence[str], env: Mapping[str, str], on: str, *, shell: bool
) -> tuple[str | None, Launched | None]:
    """The executor, the launcher, or both, that `--on` names for a command. Raises UsageError where there is none."""
    executor = executor_named(workspace, on) if is_declared(workspace, on) else None
    if executor is not None and not isinstance(executor, Launches):
        return on, None
    if shell:
        raise UsageError(
            "--shell and --on cannot be combined",
            cause="a launcher takes words, not shell text",
            hint="write the shell out: --on NAME -- bash -lc '...'",
        )
    if executor is not None:
        return on, executor.launched(words, env, workspace.redactor)
    launchers = launchers_from(load_user_config(workspace.environ).launchers)
    name, _, target = on.partition(":")
    if name not in launchers:
        raise _unknown(workspace, name, target, launchers)
    launched = wrap(launchers[name], words, env, target or None)
    return TYPED if launched.submits else None, launched


def executor_named_by(workspace: Workspace, on: str | None) -> str | None:
    """The executor that `--on` names if it starts workers of logbook, else None."""
    if on is None or not is_declared(workspace, on) or isinstance(executor_named(workspace, on), Launches):
        return None
    return on


def _unknown(workspace: Workspace, name: str, target: str, launchers: Collection[str]) -> UsageError:
    """What to say of `--on NAME[:TARGET]` where no launcher has this name."""
    if name == LOCAL:
        return UsageError(
            f"--on {LOCAL}: this machine is the default",
            cause="--on names another machine",
            hint="leave --on out; to run in the background: --detach",
        )
    if target and is_declared(workspace, name):
        return UsageError(
            f"executor {name!r} takes no target",
            cause=f"{target!r} follows its name, and only launchers have targets",
            hint=f"--on {name}",
        )
    return UsageError(
        f"no executor or launcher {name!r}",
        cause=f"no executor in the settings has this name; launchers in the settings: {', '.join(launchers) or 'none'}",
        hint=f"logbook executors lists the executors; {manual('how-to/clusters.md')} describes launchers",
    )
