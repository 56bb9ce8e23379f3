"""This user's own folders on this machine, by the XDG rules, and the settings in one of them, which no branch can
change."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field, structs

from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import SETTINGS_BYTES
from logbook_agent.store.opening import named_text
from logbook_agent.store.parse import parse_toml

_HOMES = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}


class UserPlaces(Struct, frozen=True, kw_only=True):
    """This user's folders for one root: `cache` holds what can be made again, `state` what cannot. None: there is no
    place for it."""

    cache: Path | None = None
    state: Folder | None = None


NO_PLACES = UserPlaces()


def user_folder(environ: Mapping[str, str], kind: str) -> Path | None:
    """Our folder of a kind: `config`, `cache` or `state`; None where the environment names no home.

    A relative folder is ignored, as the XDG rules demand: it could lead into a repository.
    """
    variable, below_home = _HOMES[kind]
    for name, below in ((variable, ""), ("HOME", below_home)):
        folder = Path(environ.get(name, ""))
        if folder.is_absolute():
            return folder / below / "logbook-agent"
    return None


def made_folder(folder: Folder | None, what: str) -> Folder:
    """One of the user's own folders, which is made. Raises UsageError where there is no place for `what`."""
    if folder is None:
        raise UsageError(
            f"no folder for {what}",
            cause="neither XDG_STATE_HOME nor HOME names an absolute path",
            hint="set HOME",
        )
    folder.make(private=True)
    return folder


def places_of(root: Path, environ: Mapping[str, str]) -> UserPlaces:
    """The folders for a root, named after its real path: two clones share none, and no branch can bring one."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:20]
    cache, state = (user_folder(environ, kind) for kind in ("cache", "state"))
    return UserPlaces(cache=cache and cache / name, state=Folder(state / name) if state is not None else None)


# -- settings ------------------------------------------------------------------------------------------


class UserConfig(Struct, frozen=True, kw_only=True):
    """Settings of the user: `$XDG_CONFIG_HOME/logbook-agent/config.toml`, else `~/.config/logbook-agent/config.toml`.

    launchers: tables `[launchers.NAME]`, or texts, their templates
    executors: tables `[executors.NAME]`
    allow_run: folders of logbooks for which `logbook mcp --allow-run` may start commands; absolute, or from `~/`
    """

    launchers: dict[str, Any] = field(default_factory=dict)
    executors: dict[str, dict[str, Any]] = field(default_factory=dict)
    allow_run: tuple[str, ...] = ()


def user_config_file(environ: Mapping[str, str]) -> Path | None:
    """Where the settings are, or would be; None where the environment names no home."""
    folder = user_folder(environ, "config")
    return None if folder is None else folder / "config.toml"


def load_user_config(environ: Mapping[str, str]) -> UserConfig:
    """The settings; the defaults where there is no file. Raises StoreError for a file that cannot be read, and
    UsageError for one that does not fit."""
    path = user_config_file(environ)
    if path is None or not os.path.lexists(path):
        return UserConfig()
    try:
        return decode(UserConfig, parse_toml(named_text(path, limit=SETTINGS_BYTES)))
    except StoreError as error:
        hint = f"correct or remove the file: {path}"
        raise StoreError(f"cannot read your settings in {path}", cause=error.message, hint=hint) from error
    except ValueError as error:
        is_unknown = isinstance(error, CodecError) and error.message == "unknown key"
        names = ", ".join(f.name for f in structs.fields(UserConfig))
        hint = f"the settings are: {names}" if is_unknown else "correct that line"
        raise UsageError(f"your settings are not valid: {error}", cause=f"they are in {path}", hint=hint) from error
