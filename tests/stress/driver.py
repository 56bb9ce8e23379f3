"""Drives the store to its limits in processes of its own, and says what it found, as JSON.

    python -m tests.stress.driver writers DIR --processes 16 --entries 25 --worktrees 3
    python -m tests.stress.driver kills DIR --count 300 --seed 1
    python -m tests.stress.driver faults DIR

Every act is `logbook_agent.cli.main` in a fork of this process, which has everything loaded: so hundreds fit
into a minute. The acts are killed, or their system calls made to fail, at the moments that an audit hook sees:
every open, rename, mkdir, unlink and process start of the real code, in turn, plus random instants between.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Loaded before the first fork.
import jinja2  # noqa: F401
import yaml  # noqa: F401

import logbook_agent.cli.absorb
import logbook_agent.cli.doctor
import logbook_agent.cli.entries
import logbook_agent.cli.reading
import logbook_agent.cli.render
import logbook_agent.cli.run  # noqa: F401
from logbook_agent.cli import main
from logbook_agent.markdown.view import parse
from logbook_agent.model.ids import id_number
from logbook_agent.store.book import Book

PREFIX = "S"
WATCHED = ("open", "os.rename", "os.mkdir", "os.remove", "os.chmod", "os.truncate", "subprocess.Popen", "os.listdir")
# What a child of this process is told to do at the n-th event.
Act = Callable[[str], None]


def fork(args: list[str], cwd: Path, *, prepare: Callable[[], None] = lambda: None, delay: float | None = None) -> int:
    """Run a command line in a fork; its wait status. `delay` kills it after that many seconds."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.chdir(cwd)
            log = os.open(cwd / "acts.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            os.dup2(log, 1)
            os.dup2(log, 2)
            prepare()
            code = main(args)
            sys.stdout.flush()
        except BaseException:  # noqa: BLE001  what escapes from main is what this looks for
            import traceback

            traceback.print_exc()
            code = 99
        finally:
            os._exit(code)
    if delay is not None:
        time.sleep(delay)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def at_event(number: int, act: Act, *, count: Path | None = None) -> Callable[[], None]:
    """In the fork: do `act` at the n-th watched event; with `count`, write how many there were."""

    def install() -> None:
        seen = 0
        busy = False

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal seen, busy
            if busy or event not in WATCHED or not _concerns(event, arguments):
                return
            busy = True
            try:
                seen += 1
                if count is not None:
                    count.write_text(str(seen))
                if seen == number:
                    act(event)
            finally:
                busy = False

        sys.addaudithook(hook)

    return install


def _concerns(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an event is about the store, and changes it (a read that fails is another matter)."""
    if event == "subprocess.Popen":
        return True
    path = str(arguments[0]) if arguments else ""
    if event == "open":
        mode, flags = arguments[1], arguments[2]
        writes = (isinstance(mode, str) and any(c in mode for c in "wax+")) or (
            isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        )
        if not writes:
            return False
    return "logbooks" in path or "logbook-agent" in path


def kill_self(event: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# -- what must hold ------------------------------------------------------------------------------------


def check(folder: Path, finished: dict[str, str]) -> list[str]:
    """What does not hold in the store; `finished` are digests of records that must not change any more."""
    wrong = []
    book = Book(folder / "logbooks", "stress")
    contents = book.contents()
    wrong += [f"damaged: {e.message}" for e in contents.damaged]
    for path, digest in finished.items():
        file = folder / path
        if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            wrong.append(f"changed or lost: {path}")
    reserved = {p.name for p in _reservations(folder).iterdir()} if _reservations(folder).exists() else set()
    known = {r.id for r in contents.records} | {v.id for v in book.voids()}
    wrong += [f"reserved and not found: {i}" for i in sorted(reserved - known)]
    numbers = sorted(n for i in reserved | known if (n := id_number(i, PREFIX)) is not None)
    if numbers != list(range(len(numbers))):
        wrong.append(f"numbers are not gapless: {numbers[:20]}")
    for record in contents.records:
        wrong += [f"{record.id} is {record.state}" for s in record.runs if s.state == "running"]
    return wrong


def check_view(folder: Path) -> list[str]:
    """After one more command the view must hold every entry, unedited but for S-000, which is edited by hand."""
    book = Book(folder / "logbooks", "stress")
    text = book.read_view() or ""
    blocks = parse(text)
    missing = [i for i in book.entry_ids() if i not in blocks]
    return [f"not in the view: {i}" for i in missing] + [
        f"looks edited: {b.name}" for b in blocks.values() if b.edited(text) and b.name != "S-000"
    ]


def _reservations(folder: Path) -> Path:
    return folder / "logbooks" / ".ids" / PREFIX


def digests(folder: Path) -> dict[str, str]:
    """Digests of the entries and of the runs that have ended."""
    root = folder / "logbooks" / "stress"
    found = {}
    for path in [*root.glob("entries/*.yaml"), *root.glob("runs/*/*/run.json")]:
        data = path.read_bytes()
        if path.name != "run.json" or json.loads(data).get("ended"):
            found[str(path.relative_to(folder))] = hashlib.sha256(data).hexdigest()
    return found


def begin(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    assert fork(["start", "stress", "--prefix", PREFIX, "--metric", "tflops:max"], folder) == 0
    for _ in range(3):
        assert fork(RUN, folder) == 0


RUN = ["run", "--label", "A", "--", "sh", "-c", "echo RESULT topk=2 tflops=1.5; echo done"]
ACTS: dict[str, list[str]] = {
    "run": RUN,
    "note": ["note", "--title", "a note", "--kind", "decision"],
    "plan": ["plan", "--title", "a plan", "--command", "A: true"],
    "edit": ["edit", "S-000", "--interpretation", "go on {}"],
    "add a run": ["run", "--id", "S-000", "--", "true"],
    "render": ["render"],
    "absorb": ["absorb"],
    "migrate": ["migrate"],
    "doctor": ["doctor", "--fix"],
    "list": ["list"],
    "status": ["status"],
}
# What these change by their nature: S-000's own entry file.
TOUCH_FIRST = ("edit", "add a run", "absorb")


# -- kills ---------------------------------------------------------------------------------------------


def kills(folder: Path, count: int, seed: int, acts: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """Kill acts at every event in turn and at random instants; after each kill look at the store."""
    chance = random.Random(seed)
    begin(folder)
    acts = acts or ACTS
    counter = folder / "events"
    wrong: list[str] = []
    done: dict[str, int] = dict.fromkeys(acts, 0)
    killed = 0
    number = 0
    while killed < count:
        number += 1
        for name, words in acts.items():
            args = [w.format(killed) for w in words] if name == "edit" else words
            finished = digests(folder)
            if name in TOUCH_FIRST:
                finished.pop("logbooks/stress/entries/S-000.yaml", None)
            edit = hand_edit(folder, killed) if name == "absorb" else None
            ready = _nothing
            if name == "migrate":
                _age(folder)
                ready = _know_format_0
            if chance.random() < 0.6:
                at = at_event(1 + (number * 7 + killed) % 30, kill_self, count=counter)
                status = fork(args, folder, prepare=_both(ready, at))
            else:
                status = fork(args, folder, prepare=ready, delay=chance.uniform(0, 0.08))
            if os.WIFSIGNALED(status):
                killed += 1
                done[name] += 1
            elif os.waitstatus_to_exitcode(status) == 99:
                wrong.append(f"{name}: an exception escaped, see acts.log")
            if name == "migrate" and fork(args, folder, prepare=ready) != 0:
                wrong.append(f"after migrate (kill {killed}): it cannot be finished")
            _settle(folder)
            wrong += [f"after {name} (kill {killed}): {text}" for text in check(folder, finished)]
            if edit is not None and not _is_kept(folder, edit):
                wrong.append(f"after {name} (kill {killed}): the hand edit {edit!r} is lost")
            if killed % 10 == 0:
                fork(["absorb"], folder)
                if fork(["note", "--title", "next"], folder) != 0:
                    wrong.append(f"after {name} (kill {killed}): the next command fails")
                wrong += [f"after {name} (kill {killed}): {text}" for text in check_view(folder)]
            if len(wrong) > 20 or killed >= count:
                return {"killed": killed, "by_act": done, "wrong": wrong}
    return {"killed": killed, "by_act": done, "wrong": wrong}


def hand_edit(folder: Path, number: int) -> str:
    """Write words of one's own into the block of S-000, as a person would; those words."""
    view = folder / "logbooks" / "stress.md"
    words = f"by hand {number}"
    text = view.read_text()
    block = parse(text)["S-000"]
    inside = block.text(text).split("\n")
    at = next((i for i, line in enumerate(inside) if line.startswith("- Next action:")), None)
    if at is None:
        inside.append(f"- Next action: {words}")
    else:
        inside[at] = f"- Next action: {words}"
    view.write_text(text[: block.text_start] + "\n".join(inside) + text[block.text_end :])
    return words


def _nothing() -> None:
    pass


def _both(first: Callable[[], None], then: Callable[[], None]) -> Callable[[], None]:
    def do() -> None:
        first()
        then()

    return do


def _age(folder: Path) -> None:
    """Make the records those of a format 0 that never was: the same but for its number."""
    root = folder / "logbooks" / "stress"
    for path in [root / "logbook.yaml", *root.glob("entries/*.yaml")]:
        path.write_text(path.read_text().replace("format: 1\n", "format: 0\n", 1))
    for path in root.glob("runs/*/*/run.json"):
        path.write_text(path.read_text().replace('"format": 1,', '"format": 0,', 1))


def _know_format_0() -> None:
    from logbook_agent.store import migrations

    migrations.migrate.__kwdefaults__["migrations"] = {0: lambda data, kind: data}


def _is_kept(folder: Path, words: str) -> bool:
    root = folder / "logbooks"
    return words in (root / "stress.md").read_text() or words in (root / "stress/entries/S-000.yaml").read_text()


def _settle(folder: Path) -> None:
    """Let the killed tool's own child end, so that its run is interrupted and not orphaned."""
    book = Book(folder / "logbooks", "stress")
    until = time.monotonic() + 5
    while time.monotonic() < until:
        states = [s.state for r in book.contents().records for s in r.runs]
        if not {"running", "orphaned"} & set(states):
            return
        time.sleep(0.01)


# -- faults --------------------------------------------------------------------------------------------

ERRORS = ("ENOSPC", "EIO", "EROFS", "EMFILE")


def faults(folder: Path, most: int) -> dict[str, Any]:
    """Make every write, rename, mkdir and fsync of every act fail in turn, with each error."""
    begin(folder)
    wrong: list[str] = []
    tried = 0
    counter = folder / "events"
    for name, words in ACTS.items():
        for error in ERRORS:
            for number in range(1, most + 1):
                finished = digests(folder)
                if name in TOUCH_FIRST:
                    finished.pop("logbooks/stress/entries/S-000.yaml", None)
                counter.write_text("0")
                args = [w.format(tried) for w in words] if name == "edit" else words
                status = fork(args, folder, prepare=_failing(number, error, counter))
                if int(counter.read_text()) < number:
                    break
                tried += 1
                code = os.waitstatus_to_exitcode(status)
                where = f"{name}, {error} at {number}"
                if code == 99 or code < 0:
                    wrong.append(f"{where}: exception or signal ({code}), see acts.log")
                left = [p.name for p in (folder / "logbooks").rglob(".*.tmp")]
                wrong += [f"{where}: left {name}" for name in left]
                wrong += [f"{where}: {text}" for text in check(folder, finished) if "gapless" not in text]
                if len(wrong) > 20:
                    return {"tried": tried, "wrong": wrong}
        if fork(["note", "--title", "next"], folder) != 0:
            wrong.append(f"after {name}: the next command fails")
        wrong += [f"after {name}: {text}" for text in check_view(folder)]
    return {"tried": tried, "wrong": wrong}


def _failing(number: int, error: str, counter: Path) -> Callable[[], None]:
    """In the fork: the n-th open, rename, mkdir, fsync or write of the store fails."""
    import errno

    def fail(event: str) -> None:
        raise OSError(getattr(errno, error), os.strerror(getattr(errno, error)), event)

    def install() -> None:
        seen = 0

        def step(event: str) -> None:
            nonlocal seen
            seen += 1
            with _quiet():
                counter.write_text(str(seen))
            if seen == number:
                fail(event)

        quiet = False

        class _quiet:  # noqa: N801
            def __enter__(self) -> None:
                nonlocal quiet
                quiet = True

            def __exit__(self, *_: object) -> None:
                nonlocal quiet
                quiet = False

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if not quiet and event in WATCHED and event != "os.listdir" and _concerns(event, arguments):
                step(event)

        real = os.fsync

        def fsync(descriptor: int) -> None:
            step("fsync")
            real(descriptor)

        os.fsync = fsync
        sys.addaudithook(hook)

    return install


# -- writers -------------------------------------------------------------------------------------------


def writers(folder: Path, processes: int, entries: int, worktrees: int) -> dict[str, Any]:
    """Many processes add entries at once, in several worktrees of one clone."""
    folder.mkdir(parents=True, exist_ok=True)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    main_tree = folder / "main"
    subprocess.run([*git, "init", "-q", "-b", "main", str(main_tree)], check=True)
    assert fork(["start", "stress", "--prefix", PREFIX, "--metric", "tflops:max"], main_tree) == 0
    subprocess.run([*git, "add", "logbooks"], cwd=main_tree, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "start"], cwd=main_tree, check=True)
    trees = [main_tree]
    for i in range(1, worktrees):
        tree = folder / f"tree-{i}"
        subprocess.run([*git, "worktree", "add", "-q", "-b", f"b{i}", str(tree)], cwd=main_tree, check=True)
        trees.append(tree)
    began = time.monotonic()
    children = [_writer(trees[i % len(trees)], i, entries) for i in range(processes)]
    failed = [pid for pid in children if os.waitpid(pid, 0)[1] != 0]
    took = time.monotonic() - began
    return {
        "seconds": took,
        "wrong": [f"{len(failed)} writers failed"] * bool(failed) + _whole(trees, processes * entries),
    }


def _writer(tree: Path, number: int, entries: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 0
    try:
        os.chdir(tree)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        log = os.open(tree.parent / "acts.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(log, 2)
        for i in range(entries):
            title = f"writer {number} entry {i}"
            words = ["note", "--title", title] if i % 2 else ["run", "--title", title, "--", "echo", "METRIC tflops=1"]
            code = code or main(words)
    finally:
        os._exit(code)


def _whole(trees: list[Path], wanted: int) -> list[str]:
    """Every ID once over all worktrees, none skipped, every entry, run and block there."""
    wrong: list[str] = []
    ids: list[str] = []
    titles: set[str] = set()
    for tree in trees:
        book = Book(tree / "logbooks", "stress")
        contents = book.contents()
        wrong += [f"damaged: {e.message}" for e in contents.damaged]
        ids += [r.id for r in contents.records]
        titles |= {r.entry.title for r in contents.records}
        odd = [r.id for r in contents.records if " 0" in r.entry.title[-2:] and not r.runs]
        wrong += [f"no run: {i}" for i in odd]
        text = book.read_view() or ""
        blocks = parse(text)
        wrong += [f"{tree.name}: not in the view: {r.id}" for r in contents.records if r.id not in blocks]
        wrong += [f"{tree.name}: looks edited: {b.name}" for b in blocks.values() if b.edited(text)]
    if len(ids) != len(set(ids)):
        wrong.append("an ID was given out twice")
    numbers = sorted(n for i in ids if (n := id_number(i, PREFIX)) is not None)
    if numbers != list(range(wanted)):
        wrong.append(f"IDs are not 0 to {wanted - 1}: {len(numbers)} of them")
    if len(titles) != wanted:
        wrong.append(f"{wanted - len(titles)} entries lost")
    return wrong


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("kills", "faults", "writers"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--entries", type=int, default=25)
    parser.add_argument("--worktrees", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    options = parsed()
    place = options.folder.resolve()
    if options.what == "kills":
        answer = kills(place, options.count, options.seed)
    elif options.what == "faults":
        answer = faults(place, options.most)
    else:
        answer = writers(place, options.processes, options.entries, options.worktrees)
    print(json.dumps(answer, indent=1))
    sys.exit(1 if answer["wrong"] else 0)
