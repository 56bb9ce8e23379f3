"""Whether code stays as it is while commands run, in the user's own tree and in checkouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from logbook_agent.model.errors import ToolError
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.git import CodeFacts, CodeLook, changed_files
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.script import command_words
from logbook_agent.text.phrases import listed

_SHOWN = 3
OUTSIDE = "let benchmarks write outside of the checkout, or to files that git does not track"


class CodeChanged(ToolError):
    """Raised for a run in which, or before which, a file of its code changed: it must not count."""


def looks_at(workspace: Workspace, root: Path, commands: Iterable[Command]) -> list[CodeLook]:
    """Looks at the code of commands. A launcher that syncs no files runs code that nobody knows here."""
    return [
        CodeLook(
            one.cwd,
            root,
            command_words(one.argv),
            {**workspace.environ, **one.env},
            workspace.config.code.reading(one.read),
        )
        for one in commands
        if one.runs_files
    ]


class CodeGuard:
    """The code of commands as it was when this was made. `trees` are the names of checkouts by their folders: nobody
    edits there, so a run may add files to its own one, as builds do, and changes no other file of any."""

    def __init__(self, looks: Iterable[CodeLook] = (), trees: Mapping[Path, str] = MappingProxyType({})) -> None:
        self._first = {(look.cwd, look.words): look.facts() for look in looks}
        self._trees = trees
        # As they were after the last run in their folder.
        self._last = dict(self._first)

    def facts(self, command: Command) -> CodeFacts | None:
        """What is known of the code of a command; None where it runs files that nobody knows here."""
        return self._first.get((command.cwd, command_words(command.argv)))

    def check(self, command: Command, *, is_setup: bool = False) -> None:
        """Raises CodeChanged where the code is not as it was any more, after a run of a command, or its setup."""
        changed = self._changes(command)
        if not changed:
            return
        what, cause = "the code changed", "all runs of a comparison must use the same code"
        hint = "with --frozen, the runs are made in a copy of the code, which you can edit meanwhile"
        hint = OUTSIDE if self._trees else hint
        if is_setup:
            what = "the setup changed the code"
            cause = "the code of a comparison is recorded before its setup, and all of its runs must use it"
            hint = "commit what it makes" if self._trees else "type the command again: the code may stay as it is now"
            hint += "; files that it always changes belong to outputs, in the table [code] of logbook.toml"
        raise CodeChanged(f"{what}: {changed}", cause=cause, hint=hint)

    def _changes(self, command: Command) -> str:
        """The files of code that are not as they were, in words: `lib.sh`, `lib.sh of base`."""
        changed: dict[str, None] = {}
        for (folder, argv), before in self._first.items():
            now, last = before.again(), self._last[folder, argv]
            code, others = changed_files(before, now)
            if self._trees:
                code += others
            if folder != command.cwd:
                code += [path for path in now.files.keys() | last.files if now.files.get(path) != last.files.get(path)]
            else:
                self._last[folder, argv] = now
            name = f" of {self._trees[folder]}" if folder in self._trees else ""
            changed |= {f"{path}{name}": None for path in sorted(set(code))}
        return listed([*changed], _SHOWN)
