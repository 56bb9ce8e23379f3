"""What every use case needs to know about where it runs; read once, passed on."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logbook_agent.model.codec import decode, encode
from logbook_agent.model.entry import Entry
from logbook_agent.model.header import Header
from logbook_agent.processes import create_time
from logbook_agent.redaction import Redactor, secrets_in
from logbook_agent.report.blocks import Blocks
from logbook_agent.report.templates import Templates
from logbook_agent.report.times import stamp
from logbook_agent.repository import repository_of
from logbook_agent.store.book import Book
from logbook_agent.store.config import Config, load_config
from logbook_agent.store.locate import choose, find_root

if TYPE_CHECKING:
    from logbook_agent.model.run import Run


def utc_now() -> datetime:
    """This moment."""
    return datetime.now(UTC)


@dataclass(kw_only=True)
class Workspace:
    """Folder, environment, options and clock of one invocation; `warnings` are told at its end."""

    cwd: Path
    environ: Mapping[str, str]
    root_option: str | None = None
    logbook_option: str | None = None
    now: Callable[[], datetime] = utc_now
    # `clock` and `sleep` for the pace of requests, where they are not this machine's.
    timing: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @cached_property
    def config(self) -> Config:
        return load_config(self.cwd)

    @cached_property
    def root(self) -> Path:
        return find_root(self.cwd, self.environ, self.config, self.root_option)

    def book(self, entry_id: str | None = None) -> Book:
        """The logbook this invocation is about."""
        return choose(self.root, self.environ, self.config, self.logbook_option, entry_id)

    @cached_property
    def templates(self) -> Templates:
        config = self.config
        if config.folder is None or not config.templates:
            return Templates()
        place = repository_of(config.folder)
        return Templates(config.folder / config.templates, within=place.top if place is not None else config.folder)

    def blocks(self, book: Book) -> Blocks:
        return Blocks(self.templates, book.header)

    @cached_property
    def redactor(self) -> Redactor:
        return Redactor(secrets=secrets_in(self.environ, self.config.secrets), extra_names=self.config.secrets)

    def stamp(self) -> str:
        """This moment as records store it."""
        return stamp(self.now())

    def owner(self) -> dict[str, object]:
        """Who reserves an ID."""
        pid = os.getpid()
        return {
            "host": os.uname().nodename,
            "pid": pid,
            "started": create_time(pid),
            "root": str(self.root),
            "at": self.stamp(),
        }

    def learn_secrets(self, environ: Mapping[str, str], argv: Sequence[str]) -> None:
        """From here on, also hide the secrets among these variables and words wherever they are printed."""
        known = self.redactor
        more = (*secrets_in(environ, self.config.secrets), *known.secrets_in_argv(argv))
        if more:
            self.redactor = Redactor(secrets=(*known.secrets, *more), extra_names=known.extra_names)

    def redacted_entry(self, entry: Entry) -> Entry:
        """An entry whose planned commands and every other text are free of secrets."""
        commands = tuple(dataclasses.replace(c, argv=self.redactor.argv(c.argv), label=c.label) for c in entry.commands)
        return decode(Entry, _redacted(encode(dataclasses.replace(entry, commands=commands)), self.redactor))

    def redacted_header(self, header: Header) -> Header:
        return decode(Header, _redacted(encode(header), self.redactor))

    def redacted(self, plain: Any) -> Any:
        """Plain data in which no text holds a secret."""
        return _redacted(plain, self.redactor)

    def redacted_run(self, run: Run) -> Run:
        """A run whose words, variables and every other text are free of secrets."""
        from logbook_agent.model.run import Run

        plain = encode(run)
        plain["argv"] = list(self.redactor.argv(run.argv))
        if run.launcher is not None:
            plain["launcher"]["prefix"] = list(self.redactor.argv(run.launcher.prefix))
            plain["launcher"]["command"] = list(self.redactor.argv(run.launcher.command))
        plain["env"] = {
            "declared": self.redactor.mapping(run.env.declared),
            "relevant": self.redactor.mapping(run.env.relevant),
        }
        return decode(Run, _redacted(plain, self.redactor))


def _redacted(plain: Any, redactor: Redactor) -> Any:
    """Plain data without secrets. Most hold none, and one look at all its texts tells."""
    return _without_secrets(plain, redactor) if redactor.may_hold_some("\n".join(_texts(plain))) else plain


def _texts(plain: Any, name: str = "") -> Iterator[str]:
    """Every text in it; one that has a name stands as `name=text`, as secrets are known by their names too."""
    if isinstance(plain, str):
        yield f"{name}={plain}"
    elif isinstance(plain, dict):
        for key, value in plain.items():
            yield key
            yield from _texts(value, key)
    elif isinstance(plain, list):
        for value in plain:
            yield from _texts(value)


def _without_secrets(plain: Any, redactor: Redactor) -> Any:
    if isinstance(plain, str):
        return redactor.text(plain)
    if isinstance(plain, dict):
        return {redactor.text(k): _without_secrets(v, redactor) for k, v in plain.items()}
    if isinstance(plain, list):
        return [_without_secrets(v, redactor) for v in plain]
    return plain
