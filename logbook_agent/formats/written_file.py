"""The file that a benchmark tool writes, on the machine of the command: where it is, and what is read of it.

A file that was there before and was not written by this command is not read: its numbers are those of another run.
"""

from __future__ import annotations

import dataclasses
import glob
import importlib
import json
import os
import shlex
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from logbook_agent.formats.case_rows import NotThisFormat, Occasion, told_apart
from logbook_agent.formats.known_formats import FORMATS, PLACE, check, split, written_by
from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Grade, Problem, Row
from logbook_agent.running.results.json_rows import rows_from_json
from logbook_agent.running.worker.work import Work
from logbook_agent.store.opening import read_named

__all__ = ["WrittenFile", "check"]

MOST_BYTES = 128 * 2**20
# Clocks of file servers differ.
_SLACK_S = 60.0
# Programs that take a command to another machine.
_ELSEWHERE = frozenset(["docker", "podman", "kubectl", "ssh", "gcloud", "srun", "mpirun"])
_Stamp = tuple[int, int, int]


class WrittenFile:
    """The file of one command. Make it before the command starts, in whose folder the file's name is looked up.
    `folder`: where a file that logbook provides is put."""

    def __init__(self, work: Work, folder: Path) -> None:
        self._spec = work.read or ""
        self._name, named = split(self._spec)
        self._place = folder / "benchmarks.json"
        self._pattern = os.path.join(work.cwd, named) if named else str(self._place)  # noqa: PTH118 - it may be a pattern
        self._is_provided, self._before = not named, self._stamps()
        self._began = time.time()
        # Where the command itself leads, nobody knows.
        self._leads_away = bool({Path(word).name for text in work.argv for word in text.split()} & _ELSEWHERE)

    def placed(self, work: Work) -> Work:
        """The work with the file in place of `{file}`, in its command and variables."""
        if not self._is_provided:
            return work
        text = str(self._place)
        words = (word.replace(PLACE, shlex.quote(text) if work.shell else text) for word in work.argv)
        env = {name: value.replace(PLACE, text) for name, value in work.env.items()}
        return dataclasses.replace(work, argv=tuple(words), env=env)

    def rows(
        self, clean: Callable[[Any], Any], commit: str | None, host: str | None
    ) -> tuple[list[Row], list[Problem]]:
        """The rows of the file after the command has ended, and what is wrong with it. `commit`: that of the code;
        `host`: that of the command, if it is known."""
        problems: dict[str, Problem] = {}

        def problem(text: str, grade: Grade = "noted") -> None:
            if text not in problems:
                problems[text] = Problem(grade=grade, text=clean(f"--read {self._spec}: {text}"))

        path = self._newest(problem)
        text = _text_of(path, problem) if path is not None else None
        if path is None or text is None:
            return [], [*problems.values()]
        if path.stat().st_mtime < self._began - _SLACK_S:
            problem("it was last changed before this run began", "withheld")
        hosts = (host, *(_asv_names() if self._name == "asv" else ())) if host and not self._leads_away else ()
        occasion = Occasion(began=self._began, problem=problem, hosts=hosts, commit=commit, beside=self._beside(path))
        found = rows_from_json(text, problem, clean, lambda data: self._translated(data, occasion))
        return [row for row, _ in found], [*problems.values()]

    def _translated(self, data: Any, occasion: Occasion) -> list[dict[str, Any]]:
        """The rows of the data, in the form of RESULT_JSON."""
        module = importlib.import_module(f"logbook_agent.formats.{FORMATS[self._name].module}")
        try:
            rows = told_apart([*module.rows(data, occasion)])
        except NotThisFormat as error:
            other = written_by(data)
            hint = f"; it looks like a file of {other}: --read {other}" if other not in (None, self._name) else ""
            occasion.problem(f"not a file of {self._name}: {error}{hint}")
            return []
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            # A part of it has another shape than this tool gives it: nothing is taken from a file half understood.
            occasion.problem(f"not a file of {self._name}: {type(error).__name__}: {error}")
            return []
        if not rows:
            occasion.problem("it holds no benchmark of this run")
        return rows

    # -- which file -------------------------------------------------------------------------------------

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

    def _newest(self, problem: Callable[[str], None]) -> Path | None:
        """The file that the command wrote last; None, with the reason told, where it wrote none."""
        now = self._stamps()
        written = [path for path, at in now.items() if self._before.get(path) != at]
        if not written:
            option = FORMATS[self._name].option
            if now:
                problem("the command did not write it: what it holds is older than this run, and was not read")
            elif self._is_provided:
                problem(f"the command wrote no file at {PLACE}; {self._name} writes one with {option}")
            else:
                problem("no such file, seen from the folder of the command after it ended")
            return None
        newest = max(written, key=lambda path: now[path])
        if len(written) > 1:
            problem(f"the command wrote {len(written)} such files; only {Path(newest).name} was read")
        return Path(newest)

    def _beside(self, path: Path) -> Any:
        name = FORMATS[self._name].beside
        place = Path(os.path.normpath(path.parent / name))
        if not name or not place.is_file():
            return None
        text = _text_of(place, lambda _: None)
        try:
            return json.loads(text) if text else None
        except (ValueError, RecursionError):
            return None


def _asv_names() -> list[str]:
    """The names that asv knows this machine by, which its user may choose."""
    try:
        return [*json.loads(_text_of(Path("~/.asv-machine.json").expanduser(), lambda _: None) or "{}")]
    except (ValueError, TypeError, RuntimeError):
        return []


def _text_of(path: Path, problem: Callable[[str], None]) -> str | None:
    try:
        data = read_named(path, limit=MOST_BYTES)
    except StoreError as error:
        problem(error.message)
        return None
    if not data.strip():
        problem("the file is empty")
        return None
    return data.decode("utf-8-sig", "replace")
