"""Which root and which logbook a command is about."""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from logbook_agent.model.errors import NotFound, StoreError, UsageError
from logbook_agent.model.ids import parse_id, typed_id
from logbook_agent.store.book import Book, books
from logbook_agent.store.config import Config
from logbook_agent.store.paths import is_inside
from logbook_agent.store.repository import repository_of
from logbook_agent.text.redaction import Redactor, by_shape

START_LINE = "logbook start TOPIC --prefix PREFIX --goal 'What this thread should find out'"


def find_root(cwd: Path, environ: Mapping[str, str], config: Config, option: str | None) -> Path:
    """The folder that holds the logbooks: --root, $LOGBOOK_ROOT, the configured one, the nearest
    `logbooks/` from here up to the top of the repository, else `logbooks/` at that top (or here)."""
    named = option or environ.get("LOGBOOK_ROOT")
    if named:
        return (cwd / Path(named).expanduser()).absolute()
    if config.root is not None and config.folder is not None:
        return _inside((config.folder / config.root).absolute(), config.bounds or config.folder)
    place = repository_of(cwd)
    top = place.top if place is not None else None
    for folder in (cwd, *cwd.parents):
        if books(folder / "logbooks"):
            return _inside(folder / "logbooks", top or folder)
        if folder == top:
            break
    return _inside((top or cwd) / "logbooks", top or cwd)


def _inside(root: Path, bounds: Path) -> Path:
    """A root that nobody named for this command: a setting and a link come with the repository, and must stay in it."""
    # Git's own folder lies inside too, and is nobody's place for logbooks.
    if is_inside(root, bounds) and ".git" not in Path(os.path.realpath(root)).parts:
        return root
    named = shlex.quote(os.path.realpath(root))
    raise UsageError(
        f"the logbook folder {root} is outside {bounds}",
        cause="a setting or a link of the repository points there; only you can choose a folder outside it",
        hint=f"if it is the one you want: logbook --root {named} ..., or set LOGBOOK_ROOT",
    )


def choose(
    root: Path,
    environ: Mapping[str, str],
    config: Config,
    option: str | None,
    entry_id: str | None = None,
    *,
    redactor: Callable[[], Redactor] = by_shape,
) -> Book:
    """The logbook that -L, $LOGBOOK, an entry's prefix or the configuration names, or the only one."""
    there = books(root, redactor=redactor)
    if not there:
        raise NotFound(
            f"no logbook in {root}",
            cause="no logbook was started here, or this is the wrong folder",
            hint=f"start one with: {START_LINE}",
        )
    name = option or environ.get("LOGBOOK")
    if name:
        return _named(there, name)
    parsed = parse_id(typed_id(entry_id)) if entry_id else None
    if parsed is not None:
        by_prefix = [b for b in there if prefix_of(b) == parsed[0]]
        if by_prefix:
            return by_prefix[0]
    if config.logbook:
        return _named(there, config.logbook)
    if len(there) == 1:
        return there[0]
    raise UsageError(
        f"{len(there)} logbooks, none selected: {_list(there)}",
        cause="this root holds several logbooks",
        hint=f"name one: logbook -L {there[0].topic} ..., or set LOGBOOK={there[0].topic}",
    )


def _named(there: list[Book], name: str) -> Book:
    for book in (b for b in there if name in (b.topic, prefix_of(b))):
        return book
    near = difflib.get_close_matches(name, [b.topic for b in there], n=1)
    raise NotFound(
        f"no logbook {name}",
        cause=f"there are: {_list(there)}",
        hint=f"try: logbook -L {near[0] if near else there[0].topic} status",
    )


def _list(there: list[Book]) -> str:
    return ", ".join(f"{b.topic} ({prefix_of(b) or 'its logbook.yaml is damaged'})" for b in there)


def prefix_of(book: Book) -> str | None:
    """The prefix of a logbook; None where its header cannot be read, which concerns no other logbook."""
    try:
        return book.header.prefix
    except StoreError:
        return None
