"""Many documents in processes that may hang, grow or die: each such end is found and named."""

from __future__ import annotations

import base64
import faulthandler
import gc
import json
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.fuzz.arena import REPOSITORY
from tools.fuzz.documents import document
from tools.fuzz.values import Content, Document, Link, Pipe

BATCH = 10_000
MEMORY_BYTES = 4 * 2**30
# Without a sign of life for so long, a process hangs in something that no signal of ours interrupts.
STALLED_S = 60.0
SAVED_OF_A_KIND = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Documents `first` to `last` - 1 of a seed; `until_s` is how long it may take."""

    seed: int
    first: int
    last: int
    commands_every: int
    folder: Path
    until_s: float


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a campaign did; `next` is where to go on."""

    next: int
    documents: int = 0
    commands: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    slowest_s: float = 0.0
    slowest: int | None = None
    failed: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    files: list[Path] = field(default_factory=list)

    def add(self, found: dict[str, Any]) -> None:
        self.documents += 1
        self.commands += found["commands"]
        self.cpu_s += found["cpu_s"]
        self.kinds[found["kind"]] += 1
        if found["cpu_s"] > self.slowest_s:
            self.slowest_s, self.slowest = found["cpu_s"], found["number"]
        self.failed += bool(found["problems"])

    @property
    def line(self) -> str:
        rate = self.documents / self.wall_s if self.wall_s else 0.0
        return (
            f"fuzz: {self.documents} documents, {self.commands} commands, {self.failed} failed; {self.wall_s:.1f} s, "
            f"{self.cpu_s:.1f} s of processor time, {rate:.0f} documents/s; slowest {self.slowest_s:.2f} s "
            f"(number {self.slowest}); next {self.next}"
        )


def campaign(plan: Plan) -> Tally:
    """Batch after batch, until the plan is done or its time is up."""
    tally, began = Tally(next=plan.first), time.monotonic()
    while tally.next < plan.last and time.monotonic() - began < plan.until_s:
        last = min(tally.next + BATCH, plan.last)
        for found in _batch(plan, tally.next, last, began + plan.until_s):
            tally.next = found["number"] + 1
            tally.add(found)
            if found["problems"]:
                _keep(plan, tally, found)
        tally.wall_s = time.monotonic() - began
        if sys.stderr.isatty() or last < plan.last:
            print(tally.line, file=sys.stderr, flush=True)
    tally.wall_s = time.monotonic() - began
    return tally


def _batch(plan: Plan, first: int, last: int, until: float) -> Iterator[dict[str, Any]]:
    """What a process of its own says of these documents; of the one at which it ended, why it did."""
    words = [str(part) for part in (plan.seed, first, last, plan.commands_every)]
    number = first
    # Here, and not in the process, which may not live to remove it.
    with tempfile.TemporaryFile() as trouble, _folder() as top:
        process = subprocess.Popen(
            [sys.executable, "-m", "tools.fuzz", "--worker", *words, "--top", top],
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=trouble,
        )
        assert process.stdout is not None
        try:
            while number < last and time.monotonic() < until:
                ready, _, _ = select.select([process.stdout], [], [], STALLED_S)
                line = process.stdout.readline() if ready else b""
                if not line:
                    process.kill()
                    process.wait()
                    trouble.seek(0)
                    said = trouble.read().decode("utf-8", "replace")[-3_000:]
                    ended = (
                        f"the process ended ({process.returncode}): {said}"
                        if ready
                        else f"no answer for {STALLED_S:g} s: {said}"
                    )
                    yield {"number": number, "kind": "unknown", "commands": 0, "cpu_s": 0.0, "problems": [ended]}
                    return
                found = json.loads(line)
                number = found["number"] + 1
                yield found
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def _keep(plan: Plan, tally: Tally, found: dict[str, Any]) -> None:
    """Save the document, unless enough are there that fail in the same way."""
    for problem in found["problems"]:
        tally.problems[signature(found["kind"], problem)] += 1
    if all(tally.problems[signature(found["kind"], problem)] > SAVED_OF_A_KIND for problem in found["problems"]):
        return
    plan.folder.mkdir(parents=True, exist_ok=True)
    path = plan.folder / f"{found['kind']}-{plan.seed}-{found['number']}.json"
    about = {"seed": plan.seed, "commands_every": plan.commands_every, **found}
    path.write_text(json.dumps(about, indent=1) + "\n")
    tally.files.append(path)


def signature(kind: str, problem: str) -> str:
    """Problems that are likely to be one: what differs from one document to the next is left out."""
    about, separator, places = problem.rpartition(" at ")
    if separator and ".py:" in places:
        return f"{kind}: {about.split(': ')[-2 if ': ' in about else -1].split()[-1]} at {places.split(' < ')[0]}"
    return f"{kind}: " + "".join(c for c in problem.split(": ", 1)[-1][:50] if not c.isdigit())


# -- the process of a batch --------------------------------------------------------------------------


def work(top: Path, seed: int, first: int, last: int, commands_every: int) -> None:
    """Try the documents of a batch, and say a line of JSON about each."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    from tools.fuzz.harness import Harness

    harness = Harness(top.resolve())
    # Looking for garbage among all modules again and again takes longer than the documents.
    gc.collect()
    gc.freeze()
    for number in range(first, last):
        faulthandler.dump_traceback_later(STALLED_S / 2, exit=True)
        made = document(harness.base, seed, number, commands_every)
        outcome = harness.try_document(made)
        about = {
            "number": number,
            "kind": made.kind,
            "commands": outcome.commands,
            "cpu_s": round(outcome.cpu_s, 4),
        }
        kept = as_plain(made) if outcome.problems else {}
        answers.write(json.dumps({**about, "problems": outcome.problems, **kept}) + "\n")
    faulthandler.cancel_dump_traceback_later()
    answers.flush()
    os.chdir("/")


def _folder() -> tempfile.TemporaryDirectory[str]:
    """In memory where that is possible: what is tried is not the disk."""
    shared = "/dev/shm"  # noqa: S108
    return tempfile.TemporaryDirectory(
        prefix="fuzz-", dir=shared if os.access(shared, os.W_OK) else None, ignore_cleanup_errors=True
    )


def replay(path: Path) -> tuple[str, ...]:
    """The problems that a document that was kept still has."""
    from tools.fuzz.harness import Harness

    with _folder() as top:
        problems = Harness(Path(os.path.realpath(top))).try_document(from_plain(json.loads(path.read_text()))).problems
        os.chdir("/")
    return problems


def as_plain(made: Document) -> dict[str, Any]:
    return {"path": made.path, "content": _plain_content(made.content), "words": made.commands, "name": made.name}


def _plain_content(content: Content) -> dict[str, str]:
    if isinstance(content, Link):
        return {"link": content.to}
    if isinstance(content, Pipe):
        return {"pipe": ""}
    return {"base64": base64.b64encode(content).decode()}


def from_plain(plain: dict[str, Any]) -> Document:
    """The document that was kept. Raises KeyError for one whose process ended: its number tells which it is."""
    [(form, text)] = plain["content"].items()
    content = Link(to=text) if form == "link" else Pipe() if form == "pipe" else base64.b64decode(text)
    words = tuple(tuple(command) for command in plain["words"])
    return Document(kind=plain["kind"], path=plain["path"], content=content, commands=words, name=plain["name"])
