"""What runs on a Ray cluster: one Job on the head that spreads a batch of works over the nodes, and a task for each of
them that starts its worker there.

The client sends this file as it stands; Ray's Python runs it, with Ray and the standard library. What becomes of each
work is a line of the Job's log. A worker's spool lies on its node, and is linked into Ray's folder of
logs, where Ray's own interface reads it.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import types
from collections import deque
from pathlib import Path
from typing import Any

import ray
from ray.experimental import internal_kv
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

_POLL_S = 0.5
# A task that has no node by then is told to wait.
_WAITS_S = 5.0

Event = dict[str, Any]
_STOPPED: Event = {"event": "over", "stage": "never-started", "said": "stopped before it started"}


def stop_key(plan: dict[str, Any], key: str) -> bytes:
    """The key under which a client asks for the end of this work."""
    return f"gcs://{plan['stop']}{key}.zip".encode()


# -- on the node of a work ------------------------------------------------------------------------------


def case(plan: dict[str, Any], given: dict[str, Any], files: dict[str, Any]) -> Any:
    """Make one work, and yield what becomes of it: that it has a node, then how it ended."""
    far = types.ModuleType("far")
    exec(compile(plan["far"], "far.py", "exec"), far.__dict__)  # noqa: S102 - the file of its client
    folder, work = Path(plan["folder"]).expanduser(), given["work"]
    spool = folder / "spools" / given["key"]
    python = plan["python"] or sys.executable
    for place, content in files.items():
        provide(folder / place, content, python if place == plan["code"] else None)
    if not far.made(spool, work):
        yield {"event": "over", "stage": "never-started", "said": f"{spool} already exists"}
        return
    (spool / "work.json").write_text(json.dumps(work))
    link(spool)
    yield {"event": "placed", "node": ray.get_runtime_context().get_node_id(), "said": None}
    words = [python, "-P", str(folder / plan["code"]), "task", str(spool), str(os.getpid())]
    worker = start(words, spool / "worker.err")
    try:
        attend(stop_key(plan, given["key"]), worker)
    finally:
        # Whatever ends this task ends its worker.
        worker.terminate()
        worker.wait()
    left, stage = far.left_by(spool), far.stage_of(spool)
    over = {"event": "over", "stage": stage if stage in ("ended", "never-started") else "lost"}
    # More than fits is read from this node.
    sizes = {name: path.stat().st_size for name, path in left.items()}
    yield {**over, "sizes": sizes, "files": far.inline(left)}


def start(words: list[str], errors: Path) -> subprocess.Popen[bytes]:
    """Start a worker, which has the variables of this process: also those of the devices that it got."""
    errors.touch(0o600)
    with errors.open("ab") as file:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            cwd="/",
            start_new_session=True,
        )


def attend(stop: bytes, worker: subprocess.Popen[bytes]) -> None:
    """Wait for the end of the worker; TERM is sent each time somebody asks for its end."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(_POLL_S)
            return
        if internal_kv._internal_kv_exists(stop):
            internal_kv._internal_kv_del(stop)
            worker.terminate()


def provide(folder: Path, content: Any, python: str | None) -> None:
    """Have the files of an archive in a folder of this node: code compiled for this Python, a tree (None) read-only."""
    if folder.is_dir():
        return
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            unpack(folder, content, python)


def unpack(folder: Path, content: Any, python: str | None) -> None:
    """Unpack an archive into a folder; the caller holds its lock."""
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    with tarfile.open(fileobj=io.BytesIO(ray.get(content)), mode="r:gz") as tar:
        tar.extractall(new, filter="tar")
    if python is not None:
        # Else every worker compiles them where bytecode is not kept.
        subprocess.run([python, "-m", "compileall", "-q", str(new)], stdout=subprocess.DEVNULL, check=False)
    new.rename(folder)
    if python is None:
        subprocess.run(["chmod", "-R", "a-w", str(folder)], check=True)


def link(spool: Path) -> None:
    """Have Ray's interface for logs read the spool, as long as this node lives."""
    logs = Path(ray._private.worker._global_node.get_logs_dir_path()) / "logbook"
    logs.mkdir(exist_ok=True)
    place = logs / spool.name
    with contextlib.suppress(FileExistsError):
        place.symlink_to(spool)


# -- on the head ------------------------------------------------------------------------------------------


class Coordinator:
    """Spreads the works of a plan: at most so many at once, those of one pin in turn and on one node."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = {name: value for name, value in plan.items() if name not in ("cases", "packages")}
        self._files = {place: ray.put(needed(name)) for place, name in plan["packages"].items()}
        self._task = ray.remote(max_retries=0, **plan["options"])(case)
        self._waiting = deque(plan["cases"])
        self._active: dict[Any, dict[str, Any]] = {}
        self._pins: dict[str, str | None] = {}
        # Works whose pin is busy wait in a line of their own.
        self._later: dict[str, deque[dict[str, Any]]] = {}
        self._said = 0
        self._looked_at = 0.0

    def run(self) -> None:
        # Before this line nothing was started.
        self._say({"key": None}, {"event": "begins"})
        while self._waiting or self._active:
            self._start()
            ready, _ = ray.wait(list(self._active), num_returns=1, timeout=_POLL_S) if self._active else ([], [])
            for generator in ready:
                self._take(generator)
            if time.monotonic() - self._looked_at > _POLL_S:
                self._looked_at = time.monotonic()
                self._tell_waiting()
                self._drop_stopped()

    def _start(self) -> None:
        """Start what may start now."""
        while self._waiting and len(self._active) < self._plan["at_most"]:
            given = self._waiting.popleft()
            pin, options = given["pin"], {}
            if pin is not None:
                if pin in self._later:
                    self._later[pin].append(given)
                    continue
                self._later[pin] = deque()
                if node := self._pins.get(pin):
                    options = {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False)}
            generator = self._task.options(**options).remote(self._plan, given, self._files)
            self._active[generator] = {**given, "at": time.monotonic(), "is_placed": False}

    def _take(self, generator: Any) -> None:
        """Tell the next thing that a task has to say; a task that broke off leaves a lost work."""
        given = self._active[generator]
        try:
            event: Event = ray.get(next(generator))
        except StopIteration:
            self._over(generator)
            return
        except ray.exceptions.RayTaskError as error:
            stage = "lost" if given["is_placed"] else "never-started"
            event = {"event": "over", "stage": stage, "said": f"{type(error.cause).__name__}: {error.cause}"}
        except ray.exceptions.TaskCancelledError:
            event = {**_STOPPED, "stage": "lost"} if given["is_placed"] else _STOPPED
        except ray.exceptions.RayError as error:
            event = {"event": "over", "stage": "lost", "said": f"{type(error).__name__}: its node or process ended"}
        if event["event"] == "placed":
            given["is_placed"] = True
            if given["pin"] is not None:
                self._pins[given["pin"]] = event["node"]
        self._say(given, event)
        if event["event"] == "over":
            self._over(generator)

    def _over(self, generator: Any) -> None:
        given = self._active.pop(generator)
        # The next of its pin comes first; the others of its line follow that one.
        self._waiting.extendleft(reversed(self._later.pop(given["pin"], ())))

    def _tell_waiting(self) -> None:
        """Say once of a work that Ray has no place for it."""
        for given in self._active.values():
            if not given["is_placed"] and not given.get("is_told") and time.monotonic() - given["at"] > _WAITS_S:
                given["is_told"] = True
                self._say(given, {"event": "waits", "said": f"waiting for {json.dumps(self._plan['options'])}"})

    def _drop_stopped(self) -> None:
        """Give up works that are to be stopped before they begin."""
        asked = set(internal_kv._internal_kv_list(f"gcs://{self._plan['stop']}".encode()))
        for line in (self._waiting, *self._later.values()) if asked else ():
            for given in [given for given in line if stop_key(self._plan, given["key"]) in asked]:
                line.remove(given)
                self._say(given, _STOPPED)
        for generator, given in self._active.items() if asked else ():
            # One that has a node asks by itself.
            if not given["is_placed"] and stop_key(self._plan, given["key"]) in asked:
                ray.cancel(generator)

    def _say(self, given: dict[str, Any], event: Event) -> None:
        self._said += 1
        print(self._plan["prefix"] + json.dumps({"n": self._said, "key": given["key"], **event}), flush=True)


def needed(name: str) -> bytes:
    """A package that a client has put on the cluster. Exits where it is not there any more."""
    found: bytes | None = internal_kv._internal_kv_get(f"gcs://{name}".encode())
    if found is None:
        sys.exit(f"the package {name} is not on the cluster")
    return found


def main() -> None:
    """Make the works of the plan that the last argument names."""
    name = sys.argv[-1]
    plan: dict[str, Any] = json.loads(needed(name))
    internal_kv._internal_kv_del(f"gcs://{name}".encode())
    Coordinator(plan).run()


if __name__ == "__main__":
    main()
