"""What every use case needs to know about where it runs; read once, passed on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logbook_agent.model.entry import Entry
from logbook_agent.model.header import Header
from logbook_agent.store.book import Book, books, create
from logbook_agent.store.config import Config, load_config
from logbook_agent.store.locate import choose, find_root
from logbook_agent.store.processes import create_time
from logbook_agent.text.redaction import Redactor, secrets_in
from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.redaction.records import clean_entry, clean_header, clean_run
from logbook_agent.text.times import stamp

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
    timing: Mapping[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    # What other rooms make once for an invocation, by a name of theirs.
    made: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def config(self) -> Config:
        return load_config(self.cwd)

    @cached_property
    def root(self) -> Path:
        return find_root(self.cwd, self.environ, self.config, self.root_option)

    def book(self, entry_id: str | None = None) -> Book:
        """The logbook this invocation is about."""
        return choose(
            self.root, self.environ, self.config, self.logbook_option, entry_id, redactor=lambda: self.redactor
        )

    def books(self) -> list[Book]:
        """All logbooks of the root."""
        return books(self.root, redactor=lambda: self.redactor)

    def create(self, header: Header) -> Book:
        """A new logbook in the root."""
        return create(self.root, header, redactor=lambda: self.redactor)

    @cached_property
    def redactor(self) -> Redactor:
        config = self.config
        known = secrets_in(self.environ, config.secrets)
        return Redactor(secrets=known, extra_names=config.secrets, extra_rules=config.secret_rules)

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
        more = (*secrets_in(environ, self.config.secrets), *self.redactor.secrets_in_argv(argv))
        self.redactor = self.redactor.knowing(more)

    def redacted_entry(self, entry: Entry) -> Entry:
        """The entry as a book would write it."""
        return clean_entry(entry, self.redactor)

    def redacted_header(self, header: Header) -> Header:
        return clean_header(header, self.redactor)

    def redacted(self, plain: Any) -> Any:
        """Plain data in which no text holds a secret."""
        return redacted(plain, self.redactor)

    def redacted_run(self, run: Run) -> Run:
        return clean_run(run, self.redactor)
