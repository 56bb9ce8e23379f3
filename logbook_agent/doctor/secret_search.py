"""`doctor --secrets`: the files of a logbook that hold a secret, now or in git's history: the places and
kinds, never the values. It changes nothing.

Earlier versions knew fewer kinds of secrets, and people and other programs write files, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.running.provenance.git_calls import GitError, GitProcesses, read_git
from logbook_agent.store.book import Book
from logbook_agent.store.parse import parse_json, parse_yaml
from logbook_agent.store.reading import RUN_BYTES, open_file
from logbook_agent.store.repository import Repository, repository_of
from logbook_agent.store.trouble import Trouble
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed
from logbook_agent.text.redaction import rules
from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.redaction.redactor import Redactor

_MARK = re.compile(r"\[redacted:[a-z0-9-]+\]|\$[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a secret stands: a line (from 1) of a text, or a key of a record; `kind` is what it is."""

    kind: str
    line: int | None = None
    key: str | None = None


def in_text(data: bytes, redactor: Redactor) -> list[Place]:
    """The lines of a text that hold a secret, with each kind once a line."""
    found = []
    line, at = 1, 0
    for start in redactor.gate.flagged_lines(data):
        line += data.count(b"\n", at, start)
        at = start
        end = data.find(b"\n", start)
        text = data[start : end if end >= 0 else len(data)].decode("utf-8", "surrogateescape")
        found += [Place(kind=kind, line=line) for kind in dict.fromkeys(_kinds(text, redactor))]
    return found


def _kinds(text: str, redactor: Redactor) -> Iterator[str]:
    if rules.KEY_BEGINS.search(text) is not None:
        yield "private-key"
    shown = redactor.known(text)
    yield from (
        f"${secret.name}" for secret in redactor.secrets if shown.count(secret.shown) > text.count(secret.shown)
    )
    yield from (kind for _, kind in redactor.secrets_in_text(shown))


def in_record(plain: Any, redactor: Redactor) -> list[Place]:
    """The keys of plain data whose values hold a secret: they are known by their neighbours, too."""
    clean = redacted(plain, redactor)
    return [] if clean is plain else list(_differences(plain, clean))


def _differences(before: Any, after: Any, key: str = "") -> Iterator[Place]:
    if isinstance(before, dict) and isinstance(after, dict) and list(before) == list(after):
        for name, value in before.items():
            yield from _differences(value, after[name], f"{key}.{name}" if key else str(name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, value in enumerate(before):
            yield from _differences(value, after[place], f"{key}[{place}]")
    elif before != after:
        # A name may be a secret itself: of a mapping with such a one only the place of the mapping is shown.
        marks = [mark for mark in _MARK.findall(str(after)) if mark not in str(before)]
        yield Place(kind=marks[0].removeprefix("[redacted:").rstrip("]") if marks else "secret", key=key or None)


_PIECE_BYTES = 8 * 2**20
_HISTORY_S = 600.0
_SHOWN = 5
_WITH_COMMIT = 100
_REVOKE = "revoke the secret where it was issued"


def find_secrets(workspace: Workspace, book: Book) -> list[Trouble]:
    """A finding for each file that holds a secret, and for each version of one in git's history."""
    return [*_in_files(book, workspace.redactor), *_in_history(workspace, book)]


def _in_files(book: Book, redactor: Redactor) -> Iterator[Trouble]:
    for path in _files(book):
        try:
            places = _places(path, book.root, redactor)
        except StoreError as error:
            yield Trouble("warning", "secrets", path, f"not checked: {error.message}", error.hint)
            continue
        if places:
            mend = f"{_REVOKE}, then remove it from the file; what git tracks stays in its history"
            yield _finding("holds", places, mend, path)


def _files(book: Book) -> Iterator[Path]:
    if os.path.lexists(book.view_path):
        yield book.view_path
    for folder, folders, names in os.walk(book.folder):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names) if name != ".lock")


def _places(path: Path, root: Path, redactor: Redactor) -> list[Place]:
    """Where secrets stand in a file, which is read in pieces of whole lines unless it is a record."""
    with open_file(path, within=root) as file:
        if _is_record(path.name) and os.fstat(file.fileno()).st_size <= RUN_BYTES:
            return _in_content(path.name, file.read(), redactor)
        found: list[Place] = []
        lines, rest = 0, b""
        while piece := file.read(_PIECE_BYTES):
            block, _, tail = (rest + piece).rpartition(b"\n")
            rest = tail if block else rest + piece
            if block or len(rest) > _PIECE_BYTES:
                block, rest = (block + b"\n", rest) if block else (rest, b"")
                found += _moved(in_text(block, redactor), lines)
                lines += block.count(b"\n")
        return found + _moved(in_text(rest, redactor), lines)


def _moved(places: Iterable[Place], lines: int) -> list[Place]:
    return [Place(kind=place.kind, line=(place.line or 0) + lines) for place in places]


def _is_record(name: str) -> bool:
    return name == "run.json" or name.endswith(".yaml")


def _in_content(name: str, data: bytes, redactor: Redactor) -> list[Place]:
    """Where secrets stand in the content of a file; one that is no record after all is read as text."""
    if _is_record(name):
        try:
            return in_record(_parsed(name, data), redactor)
        except (LogbookError, ValueError):
            pass
    return in_text(data, redactor)


def _parsed(name: str, data: bytes) -> Any:
    text = data.decode()
    return parse_json(text, name) if name.endswith(".json") else parse_yaml(text, name)


def _in_history(workspace: Workspace, book: Book) -> Iterator[Trouble]:
    place = repository_of(book.root)
    if place is None:
        return
    root = PurePosixPath(place.place_of(book.root))
    specs = [str(root / book.topic), str(root / book.view_path.name)]
    environ = workspace.environ
    for number, (sha, path, places) in enumerate(_blobs(place, specs, environ, workspace.redactor)):
        # Asking for the commit of each of very many would take longer than finding them.
        commit = _first_commit(place, sha, environ) if number < _WITH_COMMIT else ""
        mend = f"{_REVOKE}: it stays in the history, which is not rewritten here"
        yield _finding(f"{path} in git's history{commit} holds", places, mend)


def _blobs(
    place: Repository, specs: list[str], environ: Mapping[str, str], redactor: Redactor
) -> Iterator[tuple[str, str, list[Place]]]:
    """Every version of the files that git ever had and that holds a secret: its digest, its path, the places."""
    listed = read_git(
        place.top, ["rev-list", "--all", "--objects", "--", *(f":(top,literal){s}" for s in specs)], environ
    )
    if listed.code != 0:
        raise StoreError("git could not list its history", cause=listed.words, hint="git fsck")
    paths = dict(line.split(" ", 1) for line in listed.lines() if " " in line)
    wanted = {sha: path for sha, path in paths.items() if any(path == s or path.startswith(f"{s}/") for s in specs)}
    git = GitProcesses(environ, {}, _HISTORY_S)
    try:
        reader = git.start(place.top, ["cat-file", "--batch"], stdin=True)
        assert reader.stdin is not None  # noqa: S101 - it was asked for
        assert reader.stdout is not None  # noqa: S101 - it always is
        for sha, path in wanted.items():
            reader.stdin.write(f"{sha}\n".encode())
            reader.stdin.flush()
            _, kind, size = reader.stdout.readline().split()
            data = reader.stdout.read(int(size) + 1)[:-1]
            places = _in_content(PurePosixPath(path).name, data, redactor) if kind == b"blob" else []
            if places:
                yield sha, path, places
        reader.stdin.close()
        git.finish()
    except (GitError, OSError, ValueError) as error:
        raise StoreError("git's history could not be read to its end", cause=str(error), hint="git fsck") from error
    finally:
        git.close()


def _first_commit(place: Repository, sha: str, environ: Mapping[str, str]) -> str:
    words = ["log", "--all", "--format=%h", f"--find-object={sha}"]
    answer = read_git(place.top, words, environ)
    return f" (commit {answer.lines()[-1]})" if answer.code == 0 and answer.lines() else ""


def _finding(holds: str, places: list[Place], mend: str, path: Path | None = None) -> Trouble:
    said = [f"{p.kind} ({f'line {p.line}' if p.line is not None else p.key or 'in a name'})" for p in places]
    kinds = tuple(dict.fromkeys(p.kind for p in places))
    return Trouble("error", "secrets", path, f"{holds} {listed(said, _SHOWN)}", mend, items=kinds)
