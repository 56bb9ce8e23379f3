"""The user's own settings: one file outside of every repository, which no branch can change."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.store.files import locked, make_folder, write_atomic
from logbook_agent.store.reading import read_text
from logbook_agent.store.user_folders import user_folder

MOST_BYTES = 1024 * 1024
_HOSTS = "confirmed_hosts"
# What earlier versions wrote, and nothing reads any more.
_OLD = "confirmed_executors"
_TABLES = ("launchers", "executors", "allocators")
_LIST = rf"""(?m)^{_HOSTS}[ \t]*=[ \t]*\[(?:"[^"\n]*"|'[^'\n]*'|[^\]"'#])*\]"""
_FIRST_LINE = "# The settings of logbook-agent for this user.\n"

Hosts = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConfig:
    """Settings of the user: `$XDG_CONFIG_HOME/logbook-agent/config.toml`, else `~/.config/logbook-agent/config.toml`.

    confirmed_hosts: hosts that a token may be sent to; written by `logbook link --confirm-host`
    launchers: launchers of your own, as in a project
    executors: executors of your own
    allocators: allocators of your own
    """

    confirmed_hosts: Hosts = ()
    launchers: dict[str, Any] = field(default_factory=dict)
    executors: dict[str, Any] = field(default_factory=dict)
    allocators: dict[str, Any] = field(default_factory=dict)


def user_config_file(environ: Mapping[str, str]) -> Path | None:
    """Where the settings are, or would be; None where the environment names no home."""
    folder = user_folder(environ, "config")
    return None if folder is None else folder / "config.toml"


def load_user_config(environ: Mapping[str, str]) -> UserConfig:
    """The settings; the defaults where there is no file. Raises StoreError for a file that cannot be read, and
    UsageError for one that does not fit."""
    path = user_config_file(environ)
    return UserConfig() if path is None else _config_of(_table(_text(path), path), path)


def change_confirmed_hosts(environ: Mapping[str, str], change: Callable[[Hosts], Hosts]) -> UserConfig:
    """Replace the confirmed hosts and leave the rest of the file as it is. Nothing is written when none changes."""
    path = user_config_file(environ)
    if path is None:
        raise UsageError(
            "no folder for your settings",
            cause="neither XDG_CONFIG_HOME nor HOME names an absolute path",
            hint="set HOME",
        )
    make_folder(path.parent, within=path.parent, private=True)
    with locked(path.with_name("config.lock"), within=path.parent):
        text = _text(path)
        before = _table(text, path)
        config = _config_of(before, path)
        hosts = change(config.confirmed_hosts)
        if hosts != config.confirmed_hosts:
            # A link stays, and its target is replaced: people keep their settings in a repository of their own.
            real = Path(os.path.realpath(path))
            data = _with_hosts(text, before, hosts, path).encode()
            write_atomic(real, data, within=real.parent, private=True)
    return dataclasses.replace(config, confirmed_hosts=hosts)


def _text(path: Path) -> str:
    """The text of a regular file; "" when there is none."""
    if not os.path.lexists(path):
        return ""
    try:
        return read_text(path, within=None, limit=MOST_BYTES)
    except StoreError as error:
        hint = f"correct or remove the file: {path}"
        raise StoreError(f"cannot read your settings in {path}", cause=error.message, hint=hint) from error


def _table(text: str, path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise _bad(path, why, "correct that line") from error


def _config_of(table: Mapping[str, Any], path: Path) -> UserConfig:
    names = (_HOSTS, *_TABLES)
    unknown = next((key for key in table if key not in (*names, _OLD)), None)
    if unknown is not None:
        raise _bad(path, f"unknown setting {unknown!r}", f"the settings are: {', '.join(names)}")
    hosts = table.get(_HOSTS, [])
    if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
        raise _bad(path, f"{_HOSTS} must be a list of strings", f'write: {_HOSTS} = ["ghe.example.org"]')
    for name in _TABLES:
        found = table.get(name, {})
        # A launcher may be a text: its template.
        kinds = dict | str if name == "launchers" else dict
        if not isinstance(found, dict) or not all(isinstance(one, kinds) for one in found.values()):
            raise _bad(path, f"{name} must be tables", f'write: [{name}.NAME] kind = "command"')
    return UserConfig(
        confirmed_hosts=tuple(dict.fromkeys(_host(host, path) for host in hosts)),
        **{name: table.get(name, {}) for name in _TABLES},
    )


def _host(text: str, path: Path) -> str:
    from logbook_agent.text.address import parse_site

    try:
        return parse_site(text).host
    except UsageError as error:
        raise _bad(path, f"{_HOSTS}: {error.message}", f"{error.cause}; {error.hint}") from None


def _bad(path: Path, why: str, hint: str) -> UsageError:
    return UsageError(f"your settings are not valid: {why}", cause=f"they are in {path}", hint=hint)


def _with_hosts(text: str, before: Mapping[str, Any], hosts: Hosts, path: Path) -> str:
    """The text with these hosts and everything else as it was. Raises UsageError where that cannot be had."""
    line = f"{_HOSTS} = [{', '.join(json.dumps(host) for host in hosts)}]"
    new, found = re.subn(_LIST, lambda _: line, text, count=1)
    if not found:
        # Before the first table, so that it belongs to none.
        new = f"{line}\n{text}" if text else f"{_FIRST_LINE}{line}\n"
    try:
        same = _table(new, path) == {**before, _HOSTS: list(hosts)}
    except UsageError:
        same = False
    if not same:
        raise UsageError(
            f"cannot change {_HOSTS} in {path} without changing the rest",
            cause="its list is written in a form that only a person can edit safely, such as one with comments inside",
            hint=f"write into that file: {line}",
        )
    return new
