"""What every use case needs to know about where it runs; read once, passed on."""

from __future__ import annotations

import difflib
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from logbook_agent.model.entry import parse_id, typed_id
from logbook_agent.model.errors import NotFound, StoreError, Taken, UsageError
from logbook_agent.model.header import Header
from logbook_agent.store.book import Book
from logbook_agent.store.config import Config, is_inside, load_config
from logbook_agent.store.folder import Folder
from logbook_agent.store.places import UserPlaces, places_of, repository_of
from logbook_agent.text.phrases import stamp
from logbook_agent.text.redaction.names import secrets_in
from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.redaction.redactor import Redactor


def utc_now() -> datetime:
    """This moment."""
    return datetime.now(UTC)


def topics(root: Path) -> list[str]:
    """The topics of all logbooks under `root`, in order; also of one whose header cannot be read."""
    names = (e.name for e in os.scandir(root) if not e.name.startswith(".")) if root.is_dir() else ()
    return sorted(name for name in names if os.path.lexists(f"{root}/{name}/logbook.yaml"))


def prefix_of(book: Book) -> str | None:
    """The prefix of a logbook; None where its header cannot be read, which concerns no other logbook."""
    try:
        return book.header.prefix
    except StoreError:
        return None


class Workspace(Struct, kw_only=True, eq=False, dict=True):
    """Folder, environment, options and clock of one invocation; `warnings` are told at its end."""

    cwd: Path
    environ: Mapping[str, str]
    root_option: str | None = None
    logbook_option: str | None = None
    now: Callable[[], datetime] = utc_now
    # `clock` and `sleep` for the pace of requests, where they are not this machine's.
    timing: Mapping[str, Any] = field(default_factory=dict)
    # What makes the runs of this invocation; None: its own process.
    executor: str | None = None
    # What is done with a logbook before the first use of it in this invocation; where that fails, it is a warning.
    arrive: Callable[[Workspace, Book], object] | None = None
    warnings: list[str] = field(default_factory=list)
    # The folders of the logbooks that were used, and by their topics the entries that a view was rendered of since
    # their plots were drawn.
    arrived: set[Path] = field(default_factory=set)
    due_plots: dict[str, set[str]] = field(default_factory=dict)

    @cached_property
    def config(self) -> Config:
        return load_config(self.cwd)

    @cached_property
    def root(self) -> Path:
        """The folder that holds the logbooks: --root, $LOGBOOK_ROOT, the configured one, the nearest
        `logbooks/` from here up to the top of the repository, else `logbooks/` at that top (or here)."""
        named = self.root_option or self.environ.get("LOGBOOK_ROOT")
        if named:
            return (self.cwd / Path(named).expanduser()).absolute()
        config = self.config
        if config.root is not None and config.folder is not None:
            return _inside((config.folder / config.root).absolute(), config.bounds or config.folder)
        place = repository_of(self.cwd)
        top = place.top if place is not None else None
        for folder in (self.cwd, *self.cwd.parents):
            if topics(folder / "logbooks"):
                return _inside(folder / "logbooks", top or folder)
            if folder == top:
                break
        return _inside((top or self.cwd) / "logbooks", top or self.cwd)

    def book(self, entry_id: str | None = None) -> Book:
        """The logbook that -L, an entry's prefix, $LOGBOOK or the configuration names, or the only one; also one whose
        header is damaged."""
        book = self.named(self.logbook_option, entry_id)
        if self.arrive is not None and book.folder not in self.arrived:
            self.arrived.add(book.folder)
            try:
                self.arrive(self, book)
            except StoreError as error:
                self.warnings.append(f"not collected: {error.message}")
        return book

    def named(self, option: str | None, entry_id: str | None = None) -> Book:
        """The same for another value of -L, without what `arrive` does."""
        there = self.books()
        if not there:
            raise NotFound(
                f"no logbook in {self.root}",
                cause="no logbook was started here, or this is the wrong folder",
                hint="start one with: logbook start TOPIC --goal 'What this thread should find out';"
                " or name the folder that holds some: logbook --root DIR ..., LOGBOOK_ROOT=DIR, or cd",
            )
        parsed = parse_id(typed_id(entry_id)) if entry_id else None
        by_prefix = next((b for b in there if parsed is not None and prefix_of(b) == parsed[0]), None)
        if option:
            named = _named(there, option)
            if by_prefix is not None and by_prefix.topic != named.topic:
                raise NotFound(
                    f"no entry {entry_id} in {named.topic}",
                    cause=f"the prefix of this ID belongs to {by_prefix.topic}",
                    hint=f"-L {by_prefix.topic}",
                )
            return named
        if by_prefix is not None:
            return by_prefix
        if name := self.environ.get("LOGBOOK") or self.config.logbook:
            return _named(there, name)
        if len(there) == 1:
            return there[0]
        raise UsageError(
            f"{len(there)} logbooks, none selected: {_list(there)}",
            cause="this root holds several logbooks",
            hint=f"name one: logbook -L {there[0].topic} ..., or set LOGBOOK={there[0].topic}",
        )

    @cached_property
    def places(self) -> UserPlaces:
        """This user's folders for the root."""
        return places_of(self.root, self.environ)

    def books(self) -> list[Book]:
        """All logbooks of the root."""
        return [self.book_of(topic) for topic in topics(self.root)]

    def book_of(self, topic: str) -> Book:
        """The logbook of this topic, which need not exist yet."""
        return Book(self.root, topic, redactor=lambda: self.redactor, places=self.places)

    @cached_property
    def redactor(self) -> Redactor:
        config = self.config
        known = secrets_in(self.environ, config.secrets)
        return Redactor(secrets=known, extra_names=config.secrets, extra_rules=config.secret_rules)

    def shown(self, path: Path) -> str:
        """A path as it is typed here."""
        return path.relative_to(self.cwd).as_posix() if path.is_relative_to(self.cwd) else str(path)

    def stamp(self) -> str:
        """This moment as records store it."""
        return stamp(self.now())

    def moment(self) -> str:
        """This moment to the microsecond, for the name of a backup."""
        return self.now().strftime("%Y%m%dT%H%M%S%f")

    def learn_secrets(self, environ: Mapping[str, str], argv: Sequence[str]) -> None:
        """From here on, also hide the secrets among these variables and words wherever they are printed."""
        more = (*secrets_in(environ, self.config.secrets), *self.redactor.secrets_in_argv(argv))
        self.redactor = self.redactor.knowing(more)

    def redacted_config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A config as records have it."""
        return redacted({"config": dict(config)}, self.redactor)["config"]  # type: ignore[no-any-return]


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


def naming(workspace: Workspace, book: Book | None) -> list[str]:
    """`-L TOPIC`, where a command that does not say so would not be about this logbook."""
    if book is None:
        return []
    try:
        found = workspace.named(None)
    except (UsageError, NotFound):
        return ["-L", book.topic]
    return [] if found.topic == book.topic else ["-L", book.topic]


def place_of(cwd: Path, workspace: Workspace) -> str:
    """The working folder relative to the top of its repository, else to the parent of the root, else absolute."""
    place = repository_of(cwd)
    for base in (place.top if place is not None else None, workspace.root.parent):
        if base is not None and cwd.is_relative_to(base):
            return cwd.relative_to(base).as_posix()
    return str(cwd)


def folder_of(place: str, workspace: Workspace) -> Path:
    """The folder that `place_of` names so, in the repository that the command is typed in."""
    repository = repository_of(workspace.cwd)
    return (repository.top if repository is not None else workspace.root.parent) / place


# -- how a new logbook begins: its folder and header, and the files for git that the root has -------


_GITIGNORE = """\
# Kept on the machine that ran the experiment; the records beside them are the evidence.
/*/runs/*/*/output.log
/*/runs/*/*/work
/*/runs/*/*/artifacts/
/*/runs/*/*/curves.large.points
/*/open/
/*/backups/
/*/.lock
/*/.index.sqlite*
/.ids/
.*.tmp
"""

_GITATTRIBUTES = """\
# Records are text with "\\n" everywhere; facts written by the tool are folded away in reviews.
*.md text eol=lf
*.yaml text eol=lf
*.json text eol=lf
*/runs/** linguist-generated
*/code/** linguist-generated
*.diff -text
*.points binary
"""


def create(book: Book, header: Header, *, ignore_view: bool = False) -> None:
    """Begin a logbook. Raises Taken when its topic or prefix exists below its root."""
    for topic in topics(book.root):
        other = Book(book.root, topic)
        if topic == book.topic:
            raise Taken(
                f"the logbook {topic} already exists",
                cause=f"{(path := other.header_path.relative_to(book.root.parent))} is there",
                hint=f"continue it with: logbook -L {topic} status; its goal and metrics are in {path}",
            )
        if prefix_of(other) == header.prefix:
            raise Taken(
                f"the prefix {header.prefix} is taken by {topic}",
                cause="IDs are unique in a root, so each logbook needs its own prefix",
                hint=f"choose another --prefix, or continue with: logbook -L {topic} status",
            )
    if os.path.lexists(book.view_path) or os.path.lexists(book.folder):
        raise Taken(
            f"{book.topic}.md or {book.topic}/ exists in {book.root.name}/ and is not a logbook",
            cause="a file with that name was put there by hand",
            hint="choose another topic, or move that file away",
        )
    book.files.make()
    write_git_files(book.files, book.topic, ignore_view=ignore_view)
    book.write_header(header)


# -- for git --------------------------------------------------------------------------------------


def write_git_files(files: Folder, topic: str, *, ignore_view: bool = False) -> None:
    """Write those that are missing, with the line of this topic's view. In others the line is added, and nothing else:
    what somebody took out stays out."""
    for name, text in ((".gitignore", _GITIGNORE), (".gitattributes", _GITATTRIBUTES)):
        if not files.has(name):
            files.write(name, text)
    # The view is rendered after a merge, which need not stop at it.
    _add(files, ".gitattributes", _GITATTRIBUTES, f"/{topic}.md merge=union")
    if ignore_view:
        ignore_view_in(files, topic)


def ignore_view_in(files: Folder, topic: str) -> None:
    """List the view of a topic in the `.gitignore`."""
    if files.has(".gitignore"):
        _add(files, ".gitignore", _GITIGNORE, f"/{topic}.md")


def _add(files: Folder, name: str, text: str, line: str) -> None:
    """Add a line behind those of ours, so that it does not overrule what somebody wrote behind them. A file without our
    first line is the project's own, and stays."""
    lines, ours = files.text(name).splitlines(), text.splitlines()
    if ours[0] not in lines or line in lines:
        return
    end = max(n for n, present in enumerate(lines, 1) if present in ours)
    of_views = re.compile(rf"/\S+\.md{re.escape(line.partition('.md')[2])}")
    while end < len(lines) and of_views.fullmatch(lines[end]):
        end += 1
    files.write(name, "\n".join([*lines[:end], line, *lines[end:], ""]))
