"""How a new logbook begins: its folder and header, and the files for git that the root has."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from logbook_agent.model.errors import Taken
from logbook_agent.model.header import Header
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.places import NO_PLACES, UserPlaces
from logbook_agent.store.workspace import books, prefix_of
from logbook_agent.text.redaction.redactor import Redactor, by_shape

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


def create(
    root: Path,
    header: Header,
    *,
    ignore_view: bool = False,
    durable: bool = True,
    redactor: Callable[[], Redactor] = by_shape,
    places: UserPlaces = NO_PLACES,
) -> Book:
    """A new logbook under `root`; `places`: as of `Book`. Raises Taken when its topic or prefix exists there."""
    for book in books(root):
        if book.topic == header.topic:
            raise Taken(
                f"the logbook {header.topic} already exists",
                cause=f"{(path := book.header_path.relative_to(root.parent))} is there",
                hint=f"continue it with: logbook -L {header.topic} status; its goal and metrics are in {path}",
            )
        if prefix_of(book) == header.prefix:
            raise Taken(
                f"the prefix {header.prefix} is taken by {book.topic}",
                cause="IDs are unique in a root, so each logbook needs its own prefix",
                hint=f"choose another --prefix, or continue with: logbook -L {book.topic} status",
            )
    book = Book(root, header.topic, durable=durable, redactor=redactor, places=places)
    if os.path.lexists(book.view_path) or os.path.lexists(book.folder):
        raise Taken(
            f"{header.topic}.md or {header.topic}/ exists in {root.name}/ and is not a logbook",
            cause="a file with that name was put there by hand",
            hint="choose another topic, or move that file away",
        )
    book.files.make()
    write_git_files(book.files, header.topic, ignore_view=ignore_view, durable=durable)
    book.write_header(header)
    return book


# -- for git --------------------------------------------------------------------------------------


def write_git_files(files: Folder, topic: str, *, ignore_view: bool = False, durable: bool = True) -> None:
    """Write those that are missing, with the line of this topic's view. In others the line is added, and nothing else:
    what somebody took out stays out."""
    for name, text in ((".gitignore", _GITIGNORE), (".gitattributes", _GITATTRIBUTES)):
        if not files.has(name):
            files.write(name, text, durable=durable)
    # The view is rendered after a merge, which need not stop at it.
    _add(files, ".gitattributes", _GITATTRIBUTES, f"/{topic}.md merge=union", durable=durable)
    if ignore_view:
        ignore_view_in(files, topic, durable=durable)


def ignore_view_in(files: Folder, topic: str, *, durable: bool = True) -> None:
    """List the view of a topic in the `.gitignore`."""
    if files.has(".gitignore"):
        _add(files, ".gitignore", _GITIGNORE, f"/{topic}.md", durable=durable)


def _add(files: Folder, name: str, text: str, line: str, *, durable: bool) -> None:
    """Add a line behind those of ours, so that it does not overrule what somebody wrote behind them. A file without our
    first line is the project's own, and stays."""
    lines, ours = files.text(name).splitlines(), text.splitlines()
    if ours[0] not in lines or line in lines:
        return
    end = max(n for n, present in enumerate(lines, 1) if present in ours)
    of_views = re.compile(rf"/\S+\.md{re.escape(line.partition('.md')[2])}")
    while end < len(lines) and of_views.fullmatch(lines[end]):
        end += 1
    files.write(name, "\n".join([*lines[:end], line, *lines[end:], ""]), durable=durable)
