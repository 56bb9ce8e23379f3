"""The `.gitignore` and `.gitattributes` of a root."""

from __future__ import annotations

import os
from pathlib import Path

from logbook_agent.store.folder import Folder

_GITIGNORE = """\
# Kept on the machine that ran the experiment; the records beside them are the evidence.
/*/runs/*/*/output.log
/*/runs/*/sweep.log
/*/runs/*/*/artifacts/
/*/runs/*/*/curves.part
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


def write_git_files(root: Path, topic: str, *, ignore_view: bool = False, durable: bool = True) -> None:
    """Write both, or append the lines for this topic, and those that the files of an earlier version lack."""
    for name, text in _texts(topic, ignore_view=ignore_view).items():
        if not os.path.lexists(root / name):
            Folder(root).write(name, text, durable=durable)
    complete_git_files(root, topic, ignore_view=ignore_view, durable=durable)


def complete_git_files(root: Path, topic: str, *, ignore_view: bool = False, durable: bool = True) -> None:
    """Append the lines that are missing in those that are there."""
    for name, text in _texts(topic, ignore_view=ignore_view).items():
        if os.path.lexists(root / name):
            _complete(root / name, text, root, durable=durable)


def _texts(topic: str, *, ignore_view: bool) -> dict[str, str]:
    # The view is rendered after a merge, which need not stop at it.
    return {
        ".gitignore": _GITIGNORE + f"/{topic}.md\n" * ignore_view,
        ".gitattributes": f"{_GITATTRIBUTES}/{topic}.md merge=union\n",
    }


def _complete(path: Path, text: str, root: Path, *, durable: bool) -> None:
    """Append the lines that one of our files lacks. One without our first line is the project's own, and stays."""
    present = Folder(root).text(path)
    first, *lines = text.splitlines()
    missing = [line for line in lines if line not in present.splitlines()]
    if first in present and missing:
        Folder(root).write(path, "\n".join([present.rstrip("\n"), *missing, ""]), durable=durable)
