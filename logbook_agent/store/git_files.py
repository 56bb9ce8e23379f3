"""The `.gitignore` and `.gitattributes` of a root."""

from __future__ import annotations

import re

from logbook_agent.store.folder import Folder

_GITIGNORE = """\
# Kept on the machine that ran the experiment; the records beside them are the evidence.
/*/runs/*/*/output.log
/*/runs/*/*/work
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
