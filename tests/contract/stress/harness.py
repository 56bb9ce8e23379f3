"""Acts of the real command line in forks of this process, stopped or made to fail at chosen events; what must hold.

Every act is the command line in a fork that has everything loaded: so hundreds fit into a minute. An audit
hook sees every open, rename, mkdir, unlink and process start of the real code."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Loaded before the first fork.
import jinja2  # noqa: F401
import yaml  # noqa: F401

from tests.contract.views import blocks, is_generated
from tests.seams import logbook as main

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


def answer(folder: Path, *words: str) -> dict[str, Any]:
    """What a command says with --json."""
    with tempfile.TemporaryFile() as out:
        status = fork([*words, "--json"], folder, prepare=lambda: os.dup2(out.fileno(), 1) and None)
        assert os.waitstatus_to_exitcode(status) in (0, 1, 2), (words, status)
        out.seek(0)
        said: dict[str, Any] = json.load(out)
        return said


def number_of(entry_id: str) -> int:
    """The number in an ID."""
    return int(entry_id.rpartition("-")[2])


def damaged(said: dict[str, Any]) -> list[str]:
    """The warnings of `list` about records that cannot be read."""
    return [f"damaged: {text}" for text in said["warnings"]]


def at_event(number: int, act: Act, *, count: Path | None = None) -> Callable[[], None]:
    """In the fork: do `act` at the n-th watched event; with `count`, write how many there were."""

    def install() -> None:
        seen = 0
        busy = False

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal seen, busy
            if busy or event not in WATCHED or not concerns(event, arguments):
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


def concerns(event: str, arguments: tuple[Any, ...]) -> bool:
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
    listed = answer(folder, "list")
    wrong = damaged(listed)
    for path, digest in finished.items():
        file = folder / path
        if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            wrong.append(f"changed or lost: {path}")
    reserved = {p.name for p in _reservations(folder).iterdir()} if _reservations(folder).exists() else set()
    known = {line["id"] for line in listed["data"]}
    if reserved - known:
        found = answer(folder, "doctor")["data"]["findings"]
        known |= {name for one in found if one["check"] == "void" for name in one["items"]}
    wrong += [f"reserved and not found: {i}" for i in sorted(reserved - known)]
    numbers = sorted(number_of(name) for name in reserved | known if name.startswith(f"{PREFIX}-"))
    if numbers != list(range(len(numbers))):
        wrong.append(f"numbers are not gapless: {numbers[:20]}")
    return wrong + [f"{line['id']} is running" for line in listed["data"] if line["state"] == "running"]


def check_view(folder: Path) -> list[str]:
    """After one more command the view must hold every entry, and nothing else."""
    text = (folder / "logbooks/stress.md").read_text()
    entries = {path.stem.partition(".")[0] for path in (folder / "logbooks/stress/entries").glob("*.yaml")}
    return [f"not in the view: {name}" for name in sorted(entries - blocks(text).keys())] + (
        [] if is_generated(text) else ["the view looks edited"]
    )


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
    load(folder)


def load(folder: Path) -> None:
    """Load what commands need, so that no fork has to."""
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for words in (["list"], ["doctor"], ["render"], ["status"]):
            main(words)


RUN = ["run", "--label", "A", "--", "sh", "-c", "echo RESULT topk=2 tflops=1.5; echo done"]
ACTS: dict[str, list[str]] = {
    "run": RUN,
    "note": ["note", "--title", "a note", "--kind", "decision"],
    "plan": ["note", "--plan", "--title", "a plan", "--command", "A: true"],
    "edit": ["edit", "S-000", "--interpretation", "go on {}"],
    "add a run": ["run", "--id", "S-000", "--", "true"],
    "render": ["render"],
    "changed view": ["render"],
    "doctor": ["doctor", "--fix"],
    "list": ["list"],
    "status": ["status"],
}
# What these change by their nature: S-000's own entry file.
TOUCH_FIRST = ("edit", "add a run")
