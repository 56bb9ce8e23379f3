"""The user's own settings: one file outside of every repository, which no branch can change."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.store.parse import parse_toml
from logbook_agent.store.reading import SETTINGS_BYTES, read_text
from logbook_agent.store.user_folders import user_folder

# What earlier versions wrote, and nothing reads any more.
_OLD = ("confirmed_executors", "confirmed_hosts")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConfig:
    """Settings of the user: `$XDG_CONFIG_HOME/logbook-agent/config.toml`, else `~/.config/logbook-agent/config.toml`.

    launchers: launchers of your own, as in a project
    executors: executors of your own
    allocators: allocators of your own
    """

    launchers: dict[str, Any] = field(default_factory=dict)
    executors: dict[str, dict[str, Any]] = field(default_factory=dict)
    allocators: dict[str, dict[str, Any]] = field(default_factory=dict)


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
        table = parse_toml(read_text(path, within=None, limit=SETTINGS_BYTES))
        return decode(UserConfig, {key: value for key, value in table.items() if key not in _OLD})
    except StoreError as error:
        hint = f"correct or remove the file: {path}"
        raise StoreError(f"cannot read your settings in {path}", cause=error.message, hint=hint) from error
    except ValueError as error:
        is_unknown = isinstance(error, CodecError) and error.message == "unknown key"
        names = ", ".join(f.name for f in fields(UserConfig))
        hint = f"the settings are: {names}" if is_unknown else "correct that line"
        raise UsageError(f"your settings are not valid: {error}", cause=f"they are in {path}", hint=hint) from error
