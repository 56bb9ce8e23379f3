"""The project's settings: `logbook.toml`, or `[tool.logbook]` in pyproject.toml, from here upwards."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.store.config_github import GitHubConfig, SettingError, github_config
from logbook_agent.store.parse import parse_toml
from logbook_agent.store.paths import is_inside
from logbook_agent.store.reading import SETTINGS_BYTES, read_bytes, text_of
from logbook_agent.store.repository import repository_of

if TYPE_CHECKING:
    from logbook_agent.text.redaction.rules import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Settings of a project; `file` is where they stand, and paths are relative to its `folder`.

    `require`: fields that `run` and `plan` demand. `env`: patterns of further variables that matter.
    `secrets`: names of further variables whose values are redacted; `secret_rules`: shapes of further secrets.
    `packages`: further packages whose versions are recorded. `launchers`: prefixes for `--on`. `log_bytes`: size
    limit of one output.log. `logbook_bytes`: what `prune` leaves of all logs of a logbook. `github`: where the issue
    is, and how it is spoken to.
    """

    file: Path | None = None
    root: str | None = None
    logbook: str | None = None
    templates: str | None = None
    zone: str | None = None
    require: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    secret_rules: tuple[Rule, ...] = ()
    packages: tuple[str, ...] = ()
    launchers: dict[str, Any] = field(default_factory=dict)
    log_bytes: int = 256 * 1024 * 1024
    logbook_bytes: int = 4 * 1024 * 1024 * 1024
    github: GitHubConfig = field(default_factory=GitHubConfig)

    @property
    def folder(self) -> Path | None:
        return self.file.parent if self.file is not None else None

    @property
    def bounds(self) -> Path | None:
        """The top of the repository that the settings lie in, else their folder: what they name lies in there, too."""
        return _bounds(self.file) if self.file is not None else None


_TEXT = ("root", "logbook", "templates", "zone")
_SIZES = ("log_bytes", "logbook_bytes")
_LISTS = ("require", "env", "secrets", "packages")
# The values of these variables are recorded and published; a pulled repository must not ask for all of them.
_NAMED_ENOUGH = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2}", re.ASCII)
REQUIRABLE = ("hypothesis", "title", "label", "interpretation", "next")


def load_config(cwd: Path) -> Config:
    """The nearest settings from `cwd` up to the top of the repository; the defaults where there are none."""
    place = repository_of(cwd)
    top = place.top if place is not None else None
    for folder in (cwd, *cwd.parents):
        for name in ("logbook.toml", "pyproject.toml"):
            path = folder / name
            if os.path.lexists(path):
                table = _table(path)
                if table is not None:
                    return config_of(table, path)
        if folder == top:
            break
    return Config()


def _bounds(file: Path) -> Path:
    place = repository_of(file.parent)
    return place.top if place is not None else file.parent


def _table(path: Path) -> Any:
    """The settings of a file. Raises UsageError, but not for a pyproject.toml that has none of ours."""
    own = path.name == "logbook.toml"
    try:
        # A link within the repository is followed, as every tool does that reads pyproject.toml.
        real = Path(os.path.realpath(path))
        data = read_bytes(real, within=None, limit=SETTINGS_BYTES)
        if not own and b"[tool.logbook" not in data:
            return None
        if not is_inside(real, _bounds(path)):
            raise StoreError(f"{path} points outside {_bounds(path)}", cause="it is a symbolic link")
        table = parse_toml(text_of(data, path))
        return table if own else table["tool"]["logbook"]
    except StoreError as error:
        if not own and not path.is_file():
            return None
        raise UsageError(
            f"{path.name}: {error.message}", cause=error.cause, hint=f"put your settings into a regular file {path}"
        ) from error
    except (LookupError, TypeError) as error:
        raise _bad(path, "[tool.logbook] is not a table", "write the table [tool.logbook]") from error
    except ValueError as error:
        raise UsageError(
            f"{path.name}: {error}",
            cause="the settings are not valid TOML",
            hint=f"correct that line in {path}",
        ) from error


def config_of(table: Any, file: Path) -> Config:
    """Settings of a table. Raises UsageError for an unknown key or a wrong type, naming it."""
    names = [f.name for f in fields(Config) if f.name != "file"]
    if not isinstance(table, dict):
        raise _bad(file, "the settings must be a table", "write: [tool.logbook]")
    values: dict[str, Any] = {"file": file}
    for key, value in table.items():
        if key not in names:
            raise _bad(file, f"unknown setting {key!r}", f"the settings are: {', '.join(names)}")
        if key in _TEXT and not isinstance(value, str):
            raise _bad(file, f"{key} must be a string", f'write: {key} = "..."')
        if key in _TEXT and "\0" in value:
            raise _bad(file, f"{key} holds a NUL byte", f'write: {key} = "..."')
        if key in _LISTS:
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise _bad(file, f"{key} must be a list of strings", f'write: {key} = ["..."]')
            value = tuple(value)
        if key == "env" and (wide := next((v for v in value if _NAMED_ENOUGH.match(v) is None), None)) is not None:
            raise _bad(
                file,
                f"env: {wide!r} names too many variables",
                'begin with three characters of the name: env = ["NCCL_*"]',
            )
        if key == "launchers" and not isinstance(value, dict):
            raise _bad(file, "launchers must be tables", 'write: [launchers.NAME] template = "... {command}"')
        if key in _SIZES and (not isinstance(value, int) or value <= 0):
            raise _bad(file, f"{key} must be a positive number", f"write: {key} = 268435456")
        if key == "secret_rules":
            from logbook_agent.store.config_rules import secret_rules

            try:
                value = secret_rules(value)
            except SettingError as error:
                raise _bad(file, error.message, error.hint) from None
        if key == "github":
            try:
                value = github_config(value)
            except SettingError as error:
                raise _bad(file, error.message, error.hint) from None
        values[key] = value
    unknown = [name for name in values.get("require", ()) if name not in REQUIRABLE]
    if unknown:
        raise _bad(file, f"require names {unknown[0]!r}", f"it may name: {', '.join(REQUIRABLE)}")
    config = Config(**values)
    if config.templates is not None and not is_inside(file.parent / config.templates, _bounds(file)):
        raise _bad(
            file,
            f"templates points outside {_bounds(file)}",
            "keep templates in the repository whose logbooks use them",
        )
    return config


def _bad(file: Path, message: str, hint: str) -> UsageError:
    return UsageError(f"{file.name}: {message}", cause=f"the settings in {file} are not valid", hint=hint)
