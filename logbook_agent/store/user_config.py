"""The user's own settings: one file outside of every repository, which no branch can change."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.store.files import locked, make_folder, write_atomic
from logbook_agent.store.reading import read_text

MOST_BYTES = 1024 * 1024
_HOSTS = "confirmed_hosts"
_LIST = re.compile(rf"""(?m)^{_HOSTS}[ \t]*=[ \t]*\[(?:"[^"\n]*"|'[^'\n]*'|[^\]"'#])*\]""")
_FIRST_LINE = "# The settings of logbook-agent for this user.\n"

Hosts = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConfig:
    """`confirmed_hosts`: hosts that a token may go to, as they stand in addresses."""

    confirmed_hosts: Hosts = ()


def user_config_file(environ: Mapping[str, str]) -> Path | None:
    """Where the settings are, or would be; None where the environment names no home.

    A relative folder is ignored, as the XDG rules demand: it could lead into a repository.
    """
    for name, below in (("XDG_CONFIG_HOME", ""), ("HOME", ".config")):
        folder = Path(environ.get(name, ""))
        if folder.is_absolute():
            return folder / below / "logbook-agent" / "config.toml"
    return None


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
        hosts = _config_of(before, path).confirmed_hosts
        changed = change(hosts)
        if changed != hosts:
            # A link stays, and its target is replaced: people keep their settings in a repository of their own.
            real = Path(os.path.realpath(path))
            data = _with_hosts(text, before, changed, path).encode()
            write_atomic(real, data, within=real.parent, private=True)
    return UserConfig(confirmed_hosts=changed)


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
    unknown = next((key for key in table if key != _HOSTS), None)
    if unknown is not None:
        raise _bad(path, f"unknown setting {unknown!r}", f"the settings are: {_HOSTS}")
    hosts = table.get(_HOSTS, [])
    if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
        raise _bad(path, f"{_HOSTS} must be a list of strings", f'write: {_HOSTS} = ["ghe.example.org"]')
    return UserConfig(confirmed_hosts=tuple(dict.fromkeys(_host(host, path) for host in hosts)))


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
    new, found = _LIST.subn(lambda _: line, text, count=1)
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
