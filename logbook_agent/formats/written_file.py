"""The file that a benchmark tool wrote, read when its run is taken in."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from logbook_agent.formats.case_rows import NotThisFormat, Occasion, told_apart
from logbook_agent.formats.known_formats import FORMATS, PLACE, check, split, written_by
from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Row, Run
from logbook_agent.model.worker_report import Grade, Problem, WrittenFacts
from logbook_agent.running.results.json_rows import rows_from_json
from logbook_agent.running.worker.work import Awaited
from logbook_agent.running.worker.written import BESIDE, FILE, MOST_BYTES, NAMES
from logbook_agent.store.folder import Folder

__all__ = ["awaited", "check", "rows_of"]

# Programs that take a command to another machine.
_ELSEWHERE = frozenset(["docker", "podman", "kubectl", "ssh", "gcloud", "srun", "mpirun"])


def awaited(spec: str) -> Awaited:
    """The file that `--read` names, as its worker looks for it."""
    name, file = split(spec)
    return Awaited(file=file, beside=FORMATS[name].beside, names=FORMATS[name].names)


def rows_of(
    run: Run, facts: WrittenFacts, files: Folder, clean: Callable[[Any], Any]
) -> tuple[list[Row], list[Problem]]:
    """The rows of the file, whose copy lies in `files`, and what is wrong with it."""
    spec = run.read or ""
    name = split(spec)[0]
    problems: dict[str, Problem] = {}

    def problem(text: str, grade: Grade = "noted") -> None:
        if text not in problems:
            problems[text] = Problem(grade=grade, text=clean(f"--read {spec}: {text}"))

    text = _text_of(spec, facts, files, problem)
    if text is None:
        return [], [*problems.values()]
    if facts.is_old:
        problem("it was last changed before this run began", "withheld")
    # Where the command itself leads, nobody knows.
    leads_away = bool({Path(word).name for text in run.argv for word in text.split()} & _ELSEWHERE)
    host = None if leads_away else run.own_host.name
    names = _plain(files, NAMES)
    hosts = (host, *(names if isinstance(names, dict) else ())) if host else ()
    commit = run.code.commit if run.code is not None else None
    beside = _plain(files, BESIDE)
    occasion = Occasion(began=facts.began, problem=problem, hosts=hosts, commit=commit, beside=beside)
    found = rows_from_json(text, problem, clean, lambda data: _translated(name, data, occasion))
    return [row for row, _ in found], [*problems.values()]


def _text_of(spec: str, facts: WrittenFacts, files: Folder, problem: Callable[[str], None]) -> str | None:
    """The text of the file that the command wrote last; None, with the reason told, where it wrote none."""
    name, file = split(spec)
    if not facts.written:
        if facts.found:
            problem("the command did not write it: what it holds is older than this run, and was not read")
        elif file:
            problem("no such file, seen from the folder of the command after it ended")
        else:
            option = FORMATS[name].option
            problem(f"the command wrote no file at {PLACE}; {name} writes one with {option}")
        return None
    if facts.written > 1:
        problem(f"the command wrote {facts.written} such files; only {facts.name} was read")
    try:
        data = files.read(FILE, limit=MOST_BYTES) if facts.error is None else b""
    except StoreError as error:
        problem(error.message)
        return None
    if not data.strip():
        problem(facts.error or "the file is empty")
        return None
    return data.decode("utf-8-sig", "replace")


def _plain(files: Folder, name: str) -> Any:
    """The data of a file that explains it; None where there is none."""
    try:
        return json.loads(files.read(name, limit=MOST_BYTES)) if files.has(name) else None
    except (StoreError, ValueError, RecursionError):
        return None


def _translated(name: str, data: Any, occasion: Occasion) -> list[dict[str, Any]]:
    """The rows of the data, in the form of RESULT_JSON."""
    module = importlib.import_module(f"logbook_agent.formats.{FORMATS[name].module}")
    try:
        rows = told_apart([*module.rows(data, occasion)])
    except NotThisFormat as error:
        other = written_by(data)
        hint = f"; it looks like a file of {other}: --read {other}" if other not in (None, name) else ""
        occasion.problem(f"not a file of {name}: {error}{hint}")
        return []
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        # A part of it has another shape than this tool gives it: nothing is taken from a file half understood.
        occasion.problem(f"not a file of {name}: {type(error).__name__}: {error}")
        return []
    if not rows:
        occasion.problem("it holds no benchmark of this run")
    return rows
