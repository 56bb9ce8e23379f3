"""Runs the commands of a document in this process, and says in what they fail to keep their promises."""

from __future__ import annotations

import functools
import io
import json
import os
import re
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import jinja2

from logbook_agent import cli
from logbook_agent.cli import options
from tools.fuzz.arena import WRITABLE, Arena, base_of, laid_out
from tools.fuzz.documents import Base
from tools.fuzz.hub import REPOSITORY, Hub
from tools.fuzz.mutations import CANARY, SECRET
from tools.fuzz.parsers import Readers
from tools.fuzz.values import VIEW, Document, Words
from tools.fuzz.watch import armed

LONGEST_S = 2.0
IDS = frozenset(f"MOE-00{n}" for n in range(5))
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ID = re.compile(r"MOE-\d{3}")
_CODES = {0, 1, 2, 3, 4}
_ERRORS = {2, 3, 4, 125, 126, 127}


class TooSlow(BaseException):
    """A command has used more processor time than any document may cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`crash`: what came out of the command line that is no answer, with where it came from."""

    code: int
    out: bytes
    err: bytes
    cpu_s: float
    crash: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`problems` name promises that were broken; none is what everybody hopes for."""

    problems: tuple[str, ...] = ()
    commands: int = 0
    cpu_s: float = 0.0


@dataclass(slots=True)
class Harness:
    """One folder below `top`, one environment and one host for any number of documents."""

    top: Path
    hub: Hub = field(default_factory=Hub)
    base: Base = field(default_factory=dict)
    arena: Arena = field(init=False)
    _readers: Readers = field(init=False)

    def __post_init__(self) -> None:
        laid_out(self.top)
        prepare_environment(self.top, self.hub.host)
        self._readers = Readers(self.top)
        self.hub.open_issue()
        (self.top / "hub" / "logbook.toml").write_text(self.hub.settings())
        for folder, words in _PREPARATIONS:
            if words[0] == "list":
                time.sleep(1.1)  # the index keeps nothing that is younger
            answer = self.run(words, self.top / folder)
            if answer.code != 0 or answer.crash:
                raise RuntimeError(f"{words} fails in a sound folder: {answer}")
        self.base = base_of(self.top, self.hub.dump())
        self.arena = Arena(self.top)

    def try_document(self, document: Document) -> Outcome:
        """All its commands, one after the other, in a folder that is then as before."""
        if not document.commands:
            return self._read(document)
        if document.path is None and isinstance(document.content, bytes):
            self.hub.load(document.content)
        here = self.top / ("hub" if document.kind == "github" else "work")
        problems: list[str] = []
        cpu_s = 0.0
        try:
            self.arena.place(document)
            before = self.arena.changes()
            for words in document.commands:
                with armed(self.top) as stray:
                    answer = self.run(words, here)
                cpu_s += answer.cpu_s
                found = [*judged(words, answer), *told(document, words, answer), *stray]
                problems += [f"{' '.join(words)}: {problem}" for problem in found]
            problems += _misplaced(document, before, self.arena.changes())
        finally:
            self.arena.restore()
        return Outcome(problems=tuple(problems), commands=len(document.commands), cpu_s=cpu_s)

    def _read(self, document: Document) -> Outcome:
        """Through the readers alone."""
        began = time.process_time()
        try:
            self.arena.place(document)
            with limited():
                problem = self._readers.try_document(document)
        except BaseException as error:  # noqa: BLE001
            problem = _trace(error)
        finally:
            cpu_s = time.process_time() - began
            if document.kind in ("other", "special"):
                self.arena.restore()  # the index was looked at, and written
            else:
                self.arena.restore_document()
        return Outcome(problems=(problem,) if problem else (), cpu_s=cpu_s)

    def run(self, words: Words, here: Path) -> Answer:
        """`logbook WORDS` in a folder."""
        os.chdir(here)
        words = tuple(word.replace("{top}", os.fspath(self.top)) for word in words)
        out, err = io.BytesIO(), io.BytesIO()
        kept = sys.stdin, sys.stdout, sys.stderr
        sys.stdin = io.StringIO()
        sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(err, encoding="utf-8", errors="backslashreplace", write_through=True)
        began, code, crash = time.process_time(), 0, None
        try:
            with limited():
                code = cli.main(words)
        except BaseException as error:  # noqa: BLE001
            crash = _trace(error)
        finally:
            cpu_s = time.process_time() - began
            streams = sys.stdout, sys.stderr
            sys.stdin, sys.stdout, sys.stderr = kept
        for stream in streams:
            stream.detach()
        return Answer(code=code, out=out.getvalue(), err=err.getvalue(), cpu_s=cpu_s, crash=crash)


_PREPARATIONS: tuple[tuple[str, Words], ...] = (
    ("work", ("start", "other", "--prefix", "OTHER")),
    ("work", ("note", "-L", "other", "--title", "elsewhere")),
    ("work", ("render", "-L", "moe")),
    ("work", ("list", "-L", "moe")),
    ("hub", ("link", f"{REPOSITORY}#1")),
    ("hub", ("sync",)),
)


def prepare_environment(top: Path, host: str) -> None:
    """Nothing of this machine's user; a secret that no document may bring to light."""
    path = os.pathsep.join((os.fspath(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"))
    os.environ.clear()
    os.environ.update(
        HOME=f"{top}/home",
        XDG_CONFIG_HOME=f"{top}/config",
        TMPDIR=f"{top}/tmp",  # noqa: S108
        PATH=path,
        TZ="UTC",
        LC_ALL="C.UTF-8",
        COLUMNS="100",
        NO_COLOR="1",
        LOGBOOK="moe",
        FUZZ_API_KEY=SECRET,
        GH_HOST=host,
        GH_ENTERPRISE_TOKEN="t" * 20,
        NO_PROXY="127.0.0.1",
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_SYSTEM=os.devnull,
    )
    tempfile.tempdir = None
    moment = datetime(2026, 2, 10, 10, 43, tzinfo=UTC)
    passed = [0.0]

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    jinja2.Environment.compile = functools.cache(jinja2.Environment.compile)
    options.replaced.update(now=lambda: moment, timing={"clock": lambda: passed[0], "sleep": sleep})


@contextmanager
def limited() -> Iterator[None]:
    """Ends what uses too much processor time, where it stands."""

    def end(_: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _trace(error: BaseException) -> str:
    """The error and the last places in our own code."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/logbook_agent/" in f.filename]
    places = " < ".join(f"{f.filename.rpartition('/logbook_agent/')[2]}:{f.lineno} {f.name}" for f in frames[:-6:-1])
    return f"{type(error).__name__}: {str(error)[:200]!r} at {places}"


def judged(words: Words, answer: Answer) -> Iterator[str]:
    """What is wrong with an answer, whatever the document."""
    if answer.crash is not None:
        yield answer.crash
        return
    if answer.code not in _CODES and words[0] != "run":
        yield f"exit code {answer.code}"
    if answer.cpu_s > LONGEST_S:
        yield f"{answer.cpu_s:.1f} s of processor time"
    # What a command of the user's prints on the terminal is not ours.
    for name in (SECRET, CANARY) if words[0] != "run" else ():
        if name.encode() in answer.out + answer.err:
            yield f"shows {'a secret' if name == SECRET else 'a file outside'}"
    err = answer.err.decode("utf-8", "replace")
    if "Traceback" in err:
        yield "a traceback on stderr"
    if "--json" in words:
        yield from _bad_json(words, answer)
        return
    if match := _CONTROL.search(err):
        yield f"stderr holds {match[0]!r}"
    if (match := _CONTROL.search(answer.out.decode("utf-8", "replace"))) and "--csv" not in words and words[0] != "run":
        yield f"stdout holds {match[0]!r}"
    if (answer.code in _ERRORS and words[0] != "run") or err.startswith("error: "):
        parts = [re.search(rf"(?m)^{part}: +\S", err) for part in ("error", "  cause", "  next")]
        if None in parts:
            yield f"an error without its three parts: {err[:300]!r}"


def _bad_json(words: Words, answer: Answer) -> Iterator[str]:
    try:
        data = json.loads(answer.out, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        yield f"stdout is not JSON ({type(error).__name__}): {answer.out[:200]!r}"
        return
    if data["schema"] == "logbook/error/1":
        if not all(
            isinstance(data["error"][part], str) and data["error"][part]
            for part in ("code", "message", "cause", "hint")
        ):
            yield f"an error without its three parts: {data['error']}"
    elif answer.code in _ERRORS and words[0] != "run":
        yield f"exit code {answer.code} with an answer"


def _refuse(name: str) -> Any:
    raise ValueError(name)


def told(document: Document, words: Words, answer: Answer) -> Iterator[str]:
    """Whether a list shows every sound entry, and names the one that is not."""
    if (
        "list" not in words
        or "--json" not in words
        or answer.crash
        or document.kind not in ("entry", "run", "header", "other")
    ):
        return
    data = json.loads(answer.out)
    if "other" in words:
        if answer.code != 0 or [e["id"] for e in data["data"]] != ["OTHER-000"]:
            yield f"the other logbook is not listed: {str(data)[:300]}"
        return
    if document.kind == "header":
        return
    if answer.code != 0:
        yield f"one file ends the list: {str(data)[:300]}"
        return
    there = {e["id"] for e in data["data"]}
    inside = _ID.search(document.path or "")
    name = document.name or (inside[0] if inside and inside[0] in IDS else None)
    if missing := IDS - there - {name}:
        yield f"not listed: {sorted(missing)}"
    if name and name not in there and not any(name in warning for warning in data["warnings"]):
        yield f"{name} is neither listed nor reported: {data['warnings']}"


def _misplaced(document: Document, before: dict[str, bytes | None], after: dict[str, bytes | None]) -> Iterator[str]:
    """What was written where nothing may be, or holds what nothing may hold."""
    linked = any(words[0] == "link" for words in document.commands)
    for path, content in after.items():
        if path in before and before[path] == content:
            continue
        allowed = (
            path.startswith(WRITABLE)
            or path in ("work/logbooks", "hub/logbooks")
            or (linked and path.startswith("config/"))
        )
        if not allowed:
            yield f"changed: {path}"
        # What people wrote into the view is kept before it goes.
        if (
            content is None
            or content == document.content
            or (document.path == VIEW and (path == VIEW or "/.views/" in path))
        ):
            continue
        if CANARY.encode() in content:
            yield f"a file outside is copied to {path}"
        if SECRET.encode() in content and not (path == document.path and document.kind in ("settings", "user")):
            yield f"a secret is written to {path}"
