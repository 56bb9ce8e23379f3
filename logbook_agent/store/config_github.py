"""The table `[github]` of the settings: where the issue is, and how its host is spoken to."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from logbook_agent.model.errors import UsageError

if TYPE_CHECKING:
    from logbook_agent.text.address import Site

# What GitHub asks of those who write much; an Enterprise may set other limits.
LEAST_PAUSE_S = 1.0
# A day. The system takes no timeout of centuries, and a float holds no whole number of any size.
_MOST_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubConfig:
    """`repository`: OWNER/REPO; None: where the git remote leads. `host`: a host or its base URL; None: github.com,
    or where the git remote leads when it names the repository. `api`: None: the host's usual one. `remote`: None:
    `origin`, else the only one. `pause_s`: between two writes. `timeout_s`: for one request.
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


class SettingError(Exception):
    """What is wrong with the table, and what to write."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


_TEXT = {
    "repository": "OWNER/REPO",
    "host": "ghe.example.org",
    "api": "https://ghe.example.org/api/v3",
    "remote": "origin",
}
_SECONDS = {"pause_s": 1.0, "timeout_s": 30}


def github_config(table: object) -> GitHubConfig:
    """Raises SettingError for an unknown key, a wrong type, and an address that the token must not go to."""
    if not isinstance(table, dict):
        raise SettingError("github must be a table", 'write: [github] repository = "OWNER/REPO"')
    names = [f.name for f in fields(GitHubConfig)]
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in names:
            raise SettingError(f"unknown setting {key!r} in [github]", f"its settings are: {', '.join(names)}")
        if key in _TEXT and (not isinstance(value, str) or not value.strip()):
            raise SettingError(f"github.{key} must be a string", f'write: {key} = "{_TEXT[key]}"')
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
