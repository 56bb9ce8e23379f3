"""The `.gitignore` and `.gitattributes` of a root."""

from __future__ import annotations

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


def write_git_files(files: Folder, topic: str, *, ignore_view: bool = False, durable: bool = True) -> None:
    """Write both, or append the lines for this topic, and those that the files of an earlier version lack."""
    for name, text in _texts(topic, ignore_view=ignore_view).items():
        if not files.has(name):
            files.write(name, text, durable=durable)
    complete_git_files(files, topic, ignore_view=ignore_view, durable=durable)


def complete_git_files(files: Folder, topic: str, *, ignore_view: bool = False, durable: bool = True) -> None:
    """Append the lines that are missing in those that are there."""
    for name, text in _texts(topic, ignore_view=ignore_view).items():
        if files.has(name):
            _complete(files, name, text, durable=durable)


def _texts(topic: str, *, ignore_view: bool) -> dict[str, str]:
    # The view is rendered after a merge, which need not stop at it.
    return {
        ".gitignore": _GITIGNORE + f"/{topic}.md\n" * ignore_view,
        ".gitattributes": f"{_GITATTRIBUTES}/{topic}.md merge=union\n",
    }


def _complete(files: Folder, name: str, text: str, *, durable: bool) -> None:
    """Append the lines that one of our files lacks. One without our first line is the project's own, and stays."""
    present = files.text(name)
    first, *lines = text.splitlines()
    missing = [line for line in lines if line not in present.splitlines()]
    if first in present and missing:
        files.write(name, "\n".join([present.rstrip("\n"), *missing, ""]), durable=durable)
