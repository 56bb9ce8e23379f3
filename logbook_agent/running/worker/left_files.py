"""Copies the files that a command left, in the process that made the run, after the command has ended.

Each copy is complete before it has its name, and its name is its digest: a worker that is killed leaves whole files or
none. Nothing that goes wrong here changes how the run ended: it is a problem of the run. The copies lack the values of
known secrets; what else is to be done to them is done when the run is taken in.
"""

from __future__ import annotations

import glob
import hashlib
import itertools
import os
import stat
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import BinaryIO

from logbook_agent.model.codec import utf8
from logbook_agent.model.errors import StoreError
from logbook_agent.model.worker_report import Artifact
from logbook_agent.running.results.reporting_lines import split_line
from logbook_agent.running.worker.work import Work, Workplace
from logbook_agent.store.folder import Folder, not_regular
from logbook_agent.store.processes import this_host
from logbook_agent.store.run_files import ARTIFACTS, LOG, MOST_KEPT_BYTES
from logbook_agent.text.phrases import visible
from logbook_agent.text.redaction.known_values import HoldsSecret

# The copies of a run have at most so many bytes together.
MOST_OF_A_RUN = 100_000_000
MOST_FILES, _MOST_PROBLEMS = 200, 20
# A pattern means at most so many files and folders.
_MOST_LOOKS = 100_000
_PIECE_BYTES = 1 << 20
_DIGEST_CHARS = 16
_MOST_CHARS = 500
# Of a line that may name a file; so many names are taken.
_LINE_BYTES, _MOST_NAMED = 1 << 16, 20_000


class NotAllowed(ValueError):
    """Why a file may not be kept."""


def named_files(files: Folder) -> list[str]:
    """The files that the command names in its log, as it names them."""
    found: list[str] = []
    try:
        with files.open(LOG) as log:
            for line in iter(lambda: log.readline(_LINE_BYTES), b""):
                said = split_line(line.decode("utf-8", "replace")) if b"ARTIFACT" in line else None
                if said is not None and said.kind == "ARTIFACT" and len(found) < _MOST_NAMED:
                    found.append(said.body)
    except (StoreError, OSError):
        return []
    return found


def collect(
    work: Work, workplace: Workplace, named: Sequence[str], stops: Callable[[], bool] = lambda: False
) -> tuple[tuple[Artifact, ...], tuple[str, ...]]:
    """The files below the working folder that the work asks to keep and the command has `named`, after they were copied
    or recorded, and why others are not. `stops`: whether the user asks to stop."""
    cwd, problems, places = Path(work.cwd), list[str](), dict[str, None]()
    for text in dict.fromkeys((*named, *work.keep)):
        try:
            found = _matched(work, text) if glob.has_magic(text) and text in work.keep else [_place(work, text)]
        except NotAllowed as error:
            problems.append(f"not kept: {_printable(text)}: {error}")
            continue
        if not found:
            problems.append(f"not kept: {_printable(text)} matches no file")
        places.update(dict.fromkeys(found))
    if len(places) > MOST_FILES:
        problems.append(f"not kept: {len(places) - MOST_FILES} more files: a run keeps at most {MOST_FILES}")
    artifacts, room = list[Artifact](), MOST_OF_A_RUN
    for place in list(places)[:MOST_FILES]:
        try:
            kept, notes = _kept(cwd, place, min(room, MOST_KEPT_BYTES), workplace, stops)
        except (NotAllowed, HoldsSecret, StoreError, OSError) as error:
            problems.append(f"not kept: {_printable(place)}{_why(error, cwd / place)}")
            continue
        artifacts.append(kept)
        problems += notes
        room -= kept.bytes if kept.kept is not None else 0
    if more := problems[_MOST_PROBLEMS:]:
        problems[_MOST_PROBLEMS:] = [f"and {len(more)} more files were not kept"]
    if problems and work.is_carried:
        problems.append("the launcher carried the command to another machine, and what it wrote there cannot be kept")
    return tuple(artifacts), tuple(problems)


def _printable(text: str) -> str:
    return visible(utf8(text), in_line=True)[:200]


def _why(error: Exception, path: Path) -> str:
    """What went wrong with a file, as it stands behind its name."""
    if isinstance(error, OSError):
        return f": {error.strerror or error}"
    said = error.message if isinstance(error, StoreError) else str(error)
    return said.removeprefix(str(path)) if said.startswith(f"{path} is ") else f": {said}"


# -- which files -----------------------------------------------------------------------------------


def _place(work: Work, text: str) -> str:
    """The path that a command or the user names, relative to the working folder. Raises NotAllowed."""
    # The folder may be reached through a link, and the command print where it leads.
    real = os.path.realpath(work.cwd)
    place = place_of(text, real if text.strip("'\" ").startswith(f"{real}/") else work.cwd)
    if Path(work.cwd, place).is_relative_to(work.root):
        raise NotAllowed("it is a file of a logbook")
    if not os.path.lexists(Path(work.cwd, place)):
        raise NotAllowed("it does not exist")
    return place


def place_of(text: str, folder: str) -> str:
    """The path of a file relative to `folder`, the absolute path of the working folder. Raises NotAllowed for one that
    is not below it, or whose name cannot be printed."""
    text = _unquoted(text.strip())
    if text.startswith("/"):
        top = folder.rstrip("/") + "/"
        if not text.startswith(top):
            raise NotAllowed("it is not below the working folder of the command")
        text = text.removeprefix(top)
    steps = [step for step in text.split("/") if step not in ("", ".")]
    if not steps:
        raise NotAllowed("it names no file")
    if ".." in steps:
        raise NotAllowed("it is not below the working folder of the command")
    check_name(text)
    return "/".join(steps)


def check_name(place: str) -> None:
    """Raises NotAllowed for a name that a record cannot hold or a terminal cannot print."""
    if utf8(place) != place:
        raise NotAllowed("its name is not UTF-8")
    if not place.isprintable():
        raise NotAllowed("its name has control characters")
    if len(place) > _MOST_CHARS:
        raise NotAllowed(f"its path has more than {_MOST_CHARS} characters")


def _unquoted(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if quoted else text


def _matched(work: Work, pattern: str) -> list[str]:
    """The files that a pattern matches, in the order of their names; links are named, and none is followed. A name with
    a dot in front is meant only by a step with one. Raises NotAllowed."""
    steps = [step for step in pattern.split("/") if step not in ("", ".")]
    if pattern.startswith("/") or ".." in steps:
        raise NotAllowed("it is not below the working folder of the command")
    # `**` alone means folders to `glob`.
    wanted, cwd = "/".join([*steps, "*"] if steps[-1] == "**" else steps), Path(work.cwd)
    hidden = {step for step in steps if step.startswith(".")}
    places: list[str] = []
    for path in itertools.islice(cwd.glob(wanted), _MOST_LOOKS):
        place = path.relative_to(cwd)
        dotted = [name for name in place.parts if name.startswith(".")]
        is_hidden = any(not any(fnmatch(name, step) for step in hidden) for name in dotted)
        is_linked = any((cwd / above).is_symlink() for above in place.parents)
        if not (is_hidden or is_linked or path.is_relative_to(work.root) or (path.is_dir() and not path.is_symlink())):
            places.append(str(place))
    return sorted(places)


# -- one file --------------------------------------------------------------------------------------


def _kept(
    cwd: Path, place: str, room: int, workplace: Workplace, stops: Callable[[], bool]
) -> tuple[Artifact, list[str]]:
    """The file after it was copied, or recorded where it is larger than `room`, and what was done to it. Raises
    NotAllowed, HoldsSecret, StoreError and OSError."""
    check_name(place)
    path = cwd / place
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        raise not_regular(path, mode)
    with Folder(cwd).open(path) as file:
        before = os.fstat(file.fileno())
        if before.st_size > room:
            return _recorded(cwd, place, file, stops), []
        data = file.read(room + 1)
        _check_unchanged(before, os.fstat(file.fileno()), len(data))
    safe = workplace.values.file(data)
    digest = hashlib.sha256(safe).hexdigest()
    kept = f"{ARTIFACTS}/{digest[:_DIGEST_CHARS]}"
    workplace.files.make(ARTIFACTS)
    workplace.files.write(kept, safe)
    notes = [f"secrets were taken out of the copy of {place}"] if safe != data else []
    return Artifact(name=place, sha256=digest, bytes=len(safe), kept=kept), notes


def _recorded(cwd: Path, place: str, file: BinaryIO, stops: Callable[[], bool]) -> Artifact:
    """A file that stays where it is: digest and size."""
    before, digest, size = os.fstat(file.fileno()), hashlib.sha256(), 0
    while piece := file.read(_PIECE_BYTES):
        digest.update(piece)
        size += len(piece)
        if size > before.st_size:
            break  # somebody may write to it without end
        if stops():
            raise NotAllowed("you asked to stop while its digest was computed")
    _check_unchanged(before, os.fstat(file.fileno()), size)
    where = f"{this_host()}:{utf8(str(cwd / place))}"
    return Artifact(name=place, sha256=digest.hexdigest(), bytes=size, place=where)


def _check_unchanged(before: os.stat_result, after: os.stat_result, size: int) -> None:
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or size != after.st_size:
        raise NotAllowed("it changed while it was copied")
