"""Settings: those of the project, in `logbook.toml` or `[tool.logbook]` of pyproject.toml, from here upwards; and those
of the user, which no branch can change."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, structs

from logbook_agent.model.code import CodeRules
from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.store.folder import SETTINGS_BYTES, named_text, read_named, text_of
from logbook_agent.store.parse import parse_toml
from logbook_agent.store.places import repository_of, user_folder
from logbook_agent.text.redaction.shapes import Rule

if TYPE_CHECKING:
    from logbook_agent.text.address import Site

# The values of these variables are recorded and published; a pulled repository must not ask for all of them.
_NAMED_ENOUGH = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2}", re.ASCII)
REQUIRABLE = ("hypothesis", "title", "label", "interpretation", "next")


class GitHubConfig(Struct, frozen=True, kw_only=True):
    """Where the issue of a logbook is.

    repository: `OWNER/REPO` of the issue; default: where the git remote leads
    host: a host or its base URL; default: github.com, or where the git remote leads if no `repository` is set; without
        TLS (`http://`) only this machine
    remote: git remote that pushed files are linked to; default: `origin`, else the only one
    labels: labels of an issue that is created
    """

    repository: str | None = None
    host: str | None = None
    remote: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def site(self) -> Site:
        # Every command reads the settings; few need addresses, whose import takes some milliseconds.
        from logbook_agent.text.address import Site, parse_site

        return Site() if self.host is None else parse_site(self.host)


class Config(Struct, frozen=True, kw_only=True):
    """Settings of a project: `logbook.toml`, or `[tool.logbook]` in `pyproject.toml`. Paths are relative to the file.

    root: folder of logbooks, in this repository; default: the nearest `logbooks/`, else one at the top of the
        repository
    logbook: the default logbook of all commands, by topic or prefix
    templates: folder with templates of your own, in this repository
    ignore_views: `true`: `start` and `render` list the views in the `.gitignore` of the root
    require: options that `run` and `note --plan` require: any of `hypothesis`, `title`, `label` (`run` alone),
        `interpretation`, `next`
    env: glob patterns of further variables to record; each begins with three literal characters
    secrets: names of further variables whose values are redacted
    secret_rules: tables `[[secret_rules]]`, the shapes of further secrets
    packages: further packages whose versions are recorded
    log_bytes: size limit of one `output.log`; what exceeds it is counted and not kept
    github: table `[github]`, the issue that shows a logbook to others
    code: table `[code]`, which files are code
    """

    file: Path | None = None
    root: str | None = None
    logbook: str | None = None
    templates: str | None = None
    ignore_views: bool = False
    require: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    secret_rules: tuple[Rule, ...] = ()
    packages: tuple[str, ...] = ()
    log_bytes: int = 256 * 1024 * 1024
    github: GitHubConfig = field(default_factory=GitHubConfig)
    code: CodeRules = field(default_factory=CodeRules)

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
        data = read_named(real, limit=SETTINGS_BYTES)
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
        if isinstance(table, dict) and "file" in table:
            raise CodecError("unknown key", ".file")
        config = structs.replace(decode(Config, table), file=file)
        _check(config, file)
        return config
    except CodecError as error:
        raise _bad(file, str(error), _hint(error, file)) from None
    except UsageError as error:
        raise _bad(file, error.message, error.hint) from None


def _hint(error: CodecError, file: Path) -> str:
    """What to write instead."""
    if error.message != "unknown key":
        return f"correct that value in {file}"
    if error.path[0] in (".launchers", ".executors"):
        return "move it to your own settings: ~/.config/logbook-agent/config.toml"
    kinds: dict[str, type[Struct]] = {".github": GitHubConfig, ".code": CodeRules}
    names = (f.name for f in structs.fields(kinds.get(error.path[0], Config)))
    return f"the settings are: {', '.join(name for name in names if name != 'file')}"


def _check(config: Config, file: Path) -> None:
    """Raises UsageError for a value that its type allows and its meaning does not."""
    for name in ("root", "logbook", "templates"):
        if "\0" in (getattr(config, name) or ""):
            raise UsageError(f"{name} holds a NUL byte", hint=f'write: {name} = "..."')
    if (wide := next((v for v in config.env if _NAMED_ENOUGH.match(v) is None), None)) is not None:
        hint = 'begin with three characters of the name: env = ["NCCL_*"]'
        raise UsageError(f"env: {wide!r} names too many variables", hint=hint)
    if unknown := [name for name in config.require if name not in REQUIRABLE]:
        raise UsageError(f"require names {unknown[0]!r}", hint=f"it may name: {', '.join(REQUIRABLE)}")
    if config.log_bytes <= 0:
        raise UsageError("log_bytes must be a positive number", hint="write: log_bytes = 268435456")
    if config.templates is not None and not is_inside(file.parent / config.templates, _bounds(file)):
        hint = "keep templates in the repository whose logbooks use them"
        raise UsageError(f"templates points outside {_bounds(file)}", hint=hint)
    if config.secret_rules:
        _check_rules(config.secret_rules)
    if config.github != GitHubConfig():
        _check_github(config.github)


def _check_github(config: GitHubConfig) -> None:
    """Raises UsageError for an address that the token must not go to, and for empty texts."""
    from logbook_agent.text.address import parse_repository

    texts = {"repository": config.repository, "host": config.host, "remote": config.remote}
    texts |= {f"labels[{n}]": label for n, label in enumerate(config.labels)}
    for name, text in texts.items():
        if text is not None and not text.strip():
            raise UsageError(f"github.{name} is empty", hint="leave it out, or write a text")
    if "://" in (config.repository or ""):
        hint = 'write: repository = "OWNER/REPO", and host = "HOST"'
        raise UsageError("github.repository must be OWNER/REPO", hint=hint)
    key = "host"
    try:
        site = config.site
        key = "repository"
        if config.repository is not None:
            parse_repository(config.repository, site=site)
    except UsageError as error:
        raise UsageError(f"github.{key}: {error.message}", hint=f"{error.cause}; {error.hint}") from None


def _bad(file: Path, message: str, hint: str) -> UsageError:
    return UsageError(f"{file.name}: {message}", cause=f"the settings in {file} are not valid", hint=hint)


# -- redaction rules of a project: bounded, and able to hide more but never less ---------------------------

_RULE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
_RULE_EXAMPLE = """write: [[secret_rules]] id = "acme-token", regex = 'acme_[a-z0-9]{32}', keywords = ["acme_"]"""
_MOST_RULES = 100
_MOST_CHARACTERS = 2_000
# Compiling and matching take time with the repetitions. A group that is repeated without a limit may take for ever.
_MOST_REPETITIONS = 2_000
_COUNT = re.compile(r"\{[0-9,]{0,9}?([0-9]{1,9})\}")
_REPEATED_GROUP = re.compile(r"(?<!\\)\)(?:[*+]|\{[0-9]*,\})")
# What records consist of. A rule that hides any of it would leave nothing to read.
_EVERYDAY = (
    *("experiment", "note", "decision", "incident", "finished", "planned", "exploratory", "replicated"),
    *("stable", "MOE-I8-003", "2026-02-10T10:43:00+00:00", "tflops", "Hypothesis", "0.5", "12345"),
)


def _check_rules(rules: Sequence[Rule]) -> None:
    """Raises UsageError naming the rule of the setting `secret_rules` and what is wrong with it."""
    if len(rules) > _MOST_RULES:
        raise UsageError(
            f"secret_rules has {len(rules)} rules, over the limit of {_MOST_RULES}", hint="join some with |"
        )
    for place, rule in enumerate(rules):
        _check_rule(rule, f"secret_rules[{place}]")


def _check_rule(rule: Rule, where: str) -> None:
    if _RULE_ID.fullmatch(rule.id) is None:
        raise UsageError(f"{where}: id must be a short name of a-z, 0-9 and -", hint=_RULE_EXAMPLE)
    if not 0 < len(rule.regex) <= _MOST_CHARACTERS:
        raise UsageError(f"{where}: regex must be a string of 1 to {_MOST_CHARACTERS} characters", hint=_RULE_EXAMPLE)
    if not all(rule.keywords):
        raise UsageError(f"{where}: a keyword is empty", hint=_RULE_EXAMPLE)
    try:
        pattern = re.compile(rule.regex)
    except re.error as error:
        raise UsageError(f"{where}: regex: {error}", hint="patterns are in the syntax of Python's re") from None
    if _REPEATED_GROUP.search(rule.regex) or sum(map(int, _COUNT.findall(rule.regex))) > _MOST_REPETITIONS:
        hint = "repeat characters, as in [a-z0-9-]{32}; lower the numbers in {m,n}"
        raise UsageError(f"{where}: regex repeats a group without a limit, or too often", hint=hint)
    if pattern.search("") is not None:
        raise UsageError(f"{where}: regex matches the empty string", hint="require at least one character")
    if any(pattern.search(word) is not None for word in _EVERYDAY):
        raise UsageError(f"{where}: regex matches ordinary words", hint="require something that only the secret has")


# -- the user's own ------------------------------------------------------------------------------------


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


def is_inside(path: Path, folder: Path) -> bool:
    """Whether `path` lies in `folder` or is it, all links resolved."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
