"""The project's settings: `logbook.toml`, or `[tool.logbook]` in pyproject.toml, from here upwards."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logbook_agent.model.errors import SettingError, StoreError, UsageError
from logbook_agent.store.parse import parse_toml
from logbook_agent.store.reading import SETTINGS_BYTES, is_inside, read_bytes, text_of
from logbook_agent.store.repository import repository_of

if TYPE_CHECKING:
    from logbook_agent.text.address import Site
    from logbook_agent.text.redaction.shapes import Rule

# What GitHub asks of those who write much; an Enterprise may set other limits.
LEAST_PAUSE_S = 1.0
# A day. The system takes no timeout of centuries, and a float holds no whole number of any size.
_MOST_S = 86_400
_TEXT = ("root", "logbook", "templates", "zone")
_SIZES = ("log_bytes", "logbook_bytes")
# Tables of tables, and a kind that one may have.
_TABLES = {"executors": "ssh", "allocators": "command"}
_LISTS = ("require", "env", "secrets", "packages")
# The values of these variables are recorded and published; a pulled repository must not ask for all of them.
_NAMED_ENOUGH = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2}", re.ASCII)
REQUIRABLE = ("hypothesis", "title", "label", "interpretation", "next")
_GITHUB_TEXT = {
    "repository": "OWNER/REPO",
    "host": "ghe.example.org",
    "api": "https://ghe.example.org/api/v3",
    "remote": "origin",
}
_SECONDS = {"pause_s": 1.0, "timeout_s": 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubConfig:
    """Where the issue of a logbook is, and how its host is asked.

    repository: `OWNER/REPO` of the issue; default: where the git remote leads
    host: a host or its base URL; default: github.com, or where the git remote leads if no `repository` is set; without
        TLS (`http://`) only this machine
    api: base URL of the API where it is not `https://HOST/api/v3`, on the same host; not for github.com
    remote: git remote that pushed files are linked to; default: `origin`, else the only one
    labels: labels of an issue that is created
    pause_s: seconds between two writes, at most 86400; for github.com at least 1
    timeout_s: seconds for one request, at most 86400
    """

    repository: str | None = None
    host: str | None = None
    api: str | None = None
    remote: str | None = None
    labels: tuple[str, ...] = ()
    pause_s: float = 1.0
    timeout_s: float = 30.0

    @property
    def site(self) -> Site:
        # Every command reads the settings; few need addresses, whose import takes some milliseconds.
        from logbook_agent.text.address import Site, parse_site

        return Site() if self.host is None else parse_site(self.host)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Settings of a project: `logbook.toml`, or `[tool.logbook]` in `pyproject.toml`. Paths are relative to the file.

    root: folder of logbooks, in this repository; default: the nearest `logbooks/`, else one at the top of the
        repository
    logbook: the default logbook of all commands, by topic or prefix
    templates: folder with templates of your own, in this repository
    zone: IANA time zone of new logbooks; default: UTC
    require: options that `run` and `plan` require: any of `hypothesis`, `title`, `label` (`run` alone),
        `interpretation`, `next`
    env: glob patterns of further variables to record; each begins with three literal characters
    secrets: names of further variables whose values are redacted
    secret_rules: tables `[[secret_rules]]`, the shapes of further secrets
    packages: further packages whose versions are recorded
    launchers: tables `[launchers.NAME]`, or texts, their templates
    executors: tables `[executors.NAME]`
    allocators: tables `[allocators.NAME]`
    log_bytes: size limit of one `output.log`; what exceeds it is counted and not kept
    logbook_bytes: how many bytes of logs `logbook doctor --prune` keeps in a logbook
    github: table `[github]`, the issue that shows a logbook to others
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
    executors: dict[str, Any] = field(default_factory=dict)
    allocators: dict[str, Any] = field(default_factory=dict)
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
    try:
        if not isinstance(table, dict):
            raise SettingError("the settings must be a table", "write: [tool.logbook]")
        return _config_of(table, file)
    except SettingError as error:
        raise _bad(file, error.message, error.hint) from None


def _config_of(table: dict[str, Any], file: Path) -> Config:
    names = [f.name for f in fields(Config) if f.name != "file"]
    values: dict[str, Any] = {"file": file}
    for key, value in table.items():
        if key not in names:
            raise SettingError(f"unknown setting {key!r}", f"the settings are: {', '.join(names)}")
        if key in _TEXT and not isinstance(value, str):
            raise SettingError(f"{key} must be a string", f'write: {key} = "..."')
        if key in _TEXT and "\0" in value:
            raise SettingError(f"{key} holds a NUL byte", f'write: {key} = "..."')
        if key in _LISTS:
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise SettingError(f"{key} must be a list of strings", f'write: {key} = ["..."]')
            value = tuple(value)
        if key == "env" and (wide := next((v for v in value if _NAMED_ENOUGH.match(v) is None), None)) is not None:
            example = 'begin with three characters of the name: env = ["NCCL_*"]'
            raise SettingError(f"env: {wide!r} names too many variables", example)
        if key == "launchers" and not isinstance(value, dict):
            raise SettingError("launchers must be tables", 'write: [launchers.NAME] template = "... {command}"')
        if key in _TABLES and not (isinstance(value, dict) and all(isinstance(v, dict) for v in value.values())):
            raise SettingError(f"{key} must be tables", f'write: [{key}.NAME] kind = "{_TABLES[key]}"')
        if key in _SIZES and (not isinstance(value, int) or value <= 0):
            raise SettingError(f"{key} must be a positive number", f"write: {key} = 268435456")
        if key == "secret_rules":
            # Few projects have rules of their own.
            from logbook_agent.store.config_rules import secret_rules

            value = secret_rules(value)
        if key == "github":
            value = github_config(value)
        values[key] = value
    unknown = [name for name in values.get("require", ()) if name not in REQUIRABLE]
    if unknown:
        raise SettingError(f"require names {unknown[0]!r}", f"it may name: {', '.join(REQUIRABLE)}")
    config = Config(**values)
    if config.templates is not None and not is_inside(file.parent / config.templates, _bounds(file)):
        hint = "keep templates in the repository whose logbooks use them"
        raise SettingError(f"templates points outside {_bounds(file)}", hint)
    return config


def _bad(file: Path, message: str, hint: str) -> UsageError:
    return UsageError(f"{file.name}: {message}", cause=f"the settings in {file} are not valid", hint=hint)


# -- the table [github] -----------------------------------------------------------------------------


def github_config(table: object) -> GitHubConfig:
    """Raises SettingError for an unknown key, a wrong type, and an address that the token must not go to."""
    if not isinstance(table, dict):
        raise SettingError("github must be a table", 'write: [github] repository = "OWNER/REPO"')
    names = [f.name for f in fields(GitHubConfig)]
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in names:
            raise SettingError(f"unknown setting {key!r} in [github]", f"its settings are: {', '.join(names)}")
        if key in _GITHUB_TEXT and (not isinstance(value, str) or not value.strip()):
            raise SettingError(f"github.{key} must be a string", f'write: {key} = "{_GITHUB_TEXT[key]}"')
        if key == "labels":
            if not isinstance(value, list) or not all(isinstance(v, str) and v.strip() for v in value):
                raise SettingError("github.labels must be a list of strings", 'write: labels = ["experiment"]')
            value = tuple(value)
        if key in _SECONDS:
            value = _seconds(key, value)
        values[key] = value
    config = GitHubConfig(**values)
    _check_addresses(config)
    if config.timeout_s == 0:
        raise SettingError("github.timeout_s must be above zero", "write: timeout_s = 30")
    if config.pause_s < LEAST_PAUSE_S and config.site == GitHubConfig().site:
        raise SettingError(
            f"github.pause_s must be at least {LEAST_PAUSE_S:g} for {config.site.host}",
            "GitHub asks for a second between two writes; leave it out, or write: pause_s = 1",
        )
    return config


def _seconds(key: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_S:
        return float(value)
    raise SettingError(
        f"github.{key} must be a number of seconds", f"write: {key} = {_SECONDS[key]:g}; the most is {_MOST_S}"
    )


def _check_addresses(config: GitHubConfig) -> None:
    from logbook_agent.text.address import parse_api, parse_repository

    try:
        key = "host"
        site = config.site
        key = "repository"
        if config.repository is not None:
            if "://" in config.repository:
                raise SettingError(
                    "github.repository must be OWNER/REPO", 'write: repository = "OWNER/REPO", and host = "HOST"'
                )
            parse_repository(config.repository, site=site)
        key = "api"
        api = None if config.api is None else parse_api(config.api)
    except UsageError as error:
        raise SettingError(f"github.{key}: {error.message}", f"{error.cause}; {error.hint}") from None
    if api is None:
        return
    if site == GitHubConfig().site:
        raise SettingError(
            f"github.api cannot be set for {site.host}",
            f'its API is {site.api}; for another host set: host = "{api.hostname}"',
        )
    if api.hostname != site.hostname:
        raise SettingError(
            f"github.api is on {api.hostname}, and github.host is {site.hostname}",
            "the token of a host is sent only to that host; name the same host in both",
        )
