"""The file that a benchmark tool writes, on the machine of the command: which one it is, and a copy of it.

A file that was there before and was not written by this command is not copied: its numbers are those of another run.
"""

from __future__ import annotations

import glob
import os
import shlex
import stat
import time
from pathlib import Path

from msgspec import structs

from logbook_agent.model.errors import StoreError
from logbook_agent.model.worker_report import WrittenFacts
from logbook_agent.running.worker.work import Awaited, Work
from logbook_agent.store.folder import Folder, read_named
from logbook_agent.store.run_files import READ

# In a command, the file that logbook provides. What the copies are called.
PLACE, FILE, BESIDE, NAMES = "{file}", "file", "beside", "names"
MOST_BYTES = 128 * 2**20
# Clocks of file servers differ.
_SLACK_S = 60.0
_Stamp = tuple[int, int, int]


class WrittenFile:
    """The file of one command. Make it before the command starts, in whose folder the file's name is looked up. A file
    that logbook provides, and the copy, lie below `files`."""

    def __init__(self, work: Work, awaited: Awaited, files: Folder) -> None:
        self._awaited, self._files = awaited, files.below(READ)
        self._files.make()
        self._place = Path(os.path.realpath(self._files.path)) / "provided"
        name = awaited.file
        self._pattern = os.path.join(work.cwd, name) if name else str(self._place)  # noqa: PTH118 - it may be a pattern
        self._before = self._stamps()
        self._began = time.time()

    def placed(self, work: Work) -> Work:
        """The work with the file in place of `{file}`, in its command and variables."""
        if self._awaited.file:
            return work
        text = str(self._place)
        words = (word.replace(PLACE, shlex.quote(text) if work.shell else text) for word in work.argv)
        env = {name: value.replace(PLACE, text) for name, value in work.env.items()}
        return structs.replace(work, argv=tuple(words), env=env)

    def copied(self) -> WrittenFacts:
        """What the command wrote, after the file that it wrote last was copied, with those that explain it."""
        now = self._stamps()
        written = [path for path, at in now.items() if self._before.get(path) != at]
        facts = WrittenFacts(began=self._began, found=len(now), written=len(written))
        if not written:
            return facts
        newest = Path(max(written, key=lambda path: now[path]))
        copies = {FILE: str(newest)}
        if self._awaited.beside:
            copies[BESIDE] = os.path.normpath(newest.parent / self._awaited.beside)
        if self._awaited.names:
            copies[NAMES] = os.path.expanduser(self._awaited.names)  # noqa: PTH111 - `~` may stand for no home
        errors = {}
        for name, path in copies.items():
            try:
                self._files.write(name, read_named(Path(path), limit=MOST_BYTES), durable=False)
            except StoreError as error:
                errors[name] = error.message
        is_old = now[str(newest)][0] / 1e9 < self._began - _SLACK_S
        return structs.replace(facts, name=newest.name, is_old=is_old, error=errors.get(FILE))

    def _stamps(self) -> dict[str, _Stamp]:
        """The files that there are now, each with what changes when it is written."""
        found = {}
        for path in glob.glob(self._pattern, recursive=True) if glob.has_magic(self._pattern) else [self._pattern]:  # noqa: PTH207
            try:
                at = os.stat(path)  # noqa: PTH116 - as the user named it
            except OSError:
                continue
            if stat.S_ISREG(at.st_mode):
                found[path] = (at.st_mtime_ns, at.st_size, at.st_ino)
        return found
