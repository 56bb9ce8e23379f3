"""The driver of a Job on a Ray cluster: it spreads runs over the nodes, a task for each run or pair. It needs Ray and
the standard library.

The log of the Job is the only way back to the client. Each line is an event: pieces of the files that a run leaves,
and its state. A client that wants runs to end leaves their numbers as files in a folder.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

# Ray gives every task the runtime environment of its Job, and so every command its PYTHONPATH: this one is for the
# driver alone.
_CONFIG = "RAY_JOB_CONFIG_JSON_ENV_VAR"
os.environ[_CONFIG] = json.dumps({**json.loads(os.environ.get(_CONFIG, "{}")), "runtime_env": {}})

import ray  # noqa: E402
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: E402

import logbook_agent  # noqa: E402 - of it, the package of the Job has what far.py needs
from logbook_agent.cluster import far  # noqa: E402
from logbook_agent.store.spool_stage import stage_of, start_worker  # noqa: E402

_POLL_S = 0.5
# A task that has no node by then is reported to wait.
_WAITS_S = 5.0
# So much of the files of a run stands in a line, encoded: Ray passes on up to 100 KiB without its store of objects.
far.PIECE_BYTES = far.MOST_BYTES = far.SMALL_BYTES
# A sign of life is passed on after this part of a run's age, but no sooner and no later than so.
_BEAT_PART, _BEAT_S, _MOST_BEAT_S = 0.05, 2.0, 30.0

Event = dict[str, Any]
Plan = dict[str, Any]
_STOPPED: Event = {"head": {"stage": "never-started", "said": "stopped before it started"}}


# -- on the node of a run -------------------------------------------------------------------------------


def unit(plan: Plan, works: list[dict[str, Any]], packages: list[tuple[str, Any]]) -> Iterator[Event]:
    """Make these runs, one after another, and yield what becomes of them. Ray runs it as a task."""
    for name, content in packages:
        if not (path := far.path_of(name)).exists():
            if name != plan["code"]:
                far.store(path, ray.get(content))
                continue
            far.unpack(path, ray.get(content))
            # Else every worker compiles it where Python keeps no bytecode.
            subprocess.run([python_of(plan), "-m", "compileall", "-q", str(path)], check=False)
    yield {"node": ray.get_runtime_context().get_node_id()}
    for given in works:
        for told in run(plan, far.path_of(plan["spools"]) / given["key"], given["work"]):
            yield {"key": given["key"], **told}


def python_of(plan: Plan) -> str:
    return plan["python"] or sys.executable


def run(plan: Plan, spool: Path, work: dict[str, Any]) -> Iterator[Event]:
    """Make one run: its states, its output as it comes, and in the end all that it left."""
    if not far.made(spool, work):
        yield _STOPPED
        return
    # With the variables of this process, also those of the devices that Ray assigned to it.
    words = [python_of(plan), "-P", str(far.path_of(plan["code"])), "task", str(os.getpid())]
    worker = start_worker(words, spool, os.environ)
    folder, sizes = str(spool), dict[str, int]()
    began, seen = time.monotonic(), None
    try:
        while worker.poll() is None:
            wait_s = min(_MOST_BEAT_S, max(_BEAT_S, (time.monotonic() - began) * _BEAT_PART))
            head, pieces = far.look({folder: (False, seen, sizes, True)}, wait_s)
            state = head["runs"][folder]
            if state["stage"] in far.OVER:
                time.sleep(far.SOON_S)  # its worker is about to begin, or to end
                continue
            seen = state["seen"]
            yield event(sizes, pieces, state)
    finally:
        # Whatever ends this task ends its worker.
        worker.terminate()
        worker.wait()
    if stage_of(spool) == "orphaned":
        far.stop(folder)
    state, is_whole = far.state_of(spool, close=False), False
    state["stage"] = state["stage"] if state["stage"] in far.OVER else "lost"
    while not is_whole:
        head, pieces = far.fetch(folder, sizes)
        is_whole = head["is_whole"]
        yield event(sizes, pieces, state if is_whole else None)
    far.drop(folder)


def event(sizes: dict[str, int], pieces: list[tuple[str, Any]], state: Event | None) -> Event:
    """Pieces of the files of a run, which are as long so far as `sizes` says, and its state."""
    sizes |= {name: at + len(data) for _, (name, at, data) in pieces}
    files = [(name, at, base64.b64encode(zlib.compress(data, 1)).decode()) for _, (name, at, data) in pieces]
    return {"files": files} if state is None else {"files": files, "head": state}


def end(plan: Plan, key: str) -> None:
    """End a run of this node; one that has not begun never begins. Ray runs it as a task."""
    place = far.path_of(plan["spools"]) / key
    far.state_of(place, close=True)
    far.stop(str(place))


# -- on the head ------------------------------------------------------------------------------------------


class Unit(Struct, eq=False):
    """A task: its runs by their keys, those that began and those that are over, and its node."""

    works: dict[str, dict[str, Any]]
    at: float = 0.0
    node: str | None = None
    is_told: bool = False
    begun: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)


class Driver:
    """Makes the units of a plan, at most so many at once."""

    def __init__(self, plan: Plan) -> None:
        self._plan = {name: value for name, value in plan.items() if name not in ("units", "packages")}
        self._packages = [(name, ray.put(needed(name))) for name in plan["packages"]]
        self._unit = ray.remote(max_retries=0, **plan["options"])(unit)
        self._end = ray.remote(max_retries=0, num_cpus=0)(end)
        self._waiting = deque(Unit({work["key"]: work for work in works}) for works in plan["units"])
        self._active: dict[Any, Unit] = {}
        self._stops = far.path_of(plan["stops"])
        self._stopped: set[str] = set()
        self._lines = itertools.count(1)
        self._looked_at = 0.0

    def run(self) -> None:
        # Before this line nothing was started.
        self._say({"key": None})
        while self._waiting or self._active:
            while self._waiting and len(self._active) < self._plan["at_most"]:
                if (one := self._waiting.popleft()).works:
                    one.at = time.monotonic()
                    self._active[self._unit.remote(self._plan, list(one.works.values()), self._packages)] = one
            ready, _ = ray.wait(list(self._active), timeout=_POLL_S) if self._active else ([], [])
            for generator in ready:
                self._take(generator, self._active[generator])
            if time.monotonic() - self._looked_at > _POLL_S:
                self._looked_at = time.monotonic()
                self._tell_waiting()
                self._stop()
        shutil.rmtree(self._stops, ignore_errors=True)

    def _take(self, generator: Any, one: Unit) -> None:
        """Pass on the next event of a task. A run whose node or process is gone may go on for a while: its client
        waits until it cannot."""
        try:
            event: Event = ray.get(next(generator))
        except StopIteration:
            del self._active[generator]
        except ray.exceptions.RayError as error:
            del self._active[generator]
            self._broken_off(one, error)
        else:
            if "node" in event:
                one.node = event["node"]
                for key in one.works.keys() & self._stopped:
                    self._end_there(one.node, key)
                return
            one.begun.add(event["key"])
            if event.get("head", {}).get("stage") in ("ended", "lost", "never-started"):
                one.over.add(event["key"])
            self._say(event)

    def _broken_off(self, one: Unit, error: Exception) -> None:
        """Report the runs of a task that broke off. Where its node or process is gone, a run may go on for a while."""
        cause, before = getattr(error, "cause", None), "never-started"
        if isinstance(error, ray.exceptions.TaskCancelledError):
            said = "stopped before it started"
        elif cause is not None:
            said = f"{type(cause).__name__}: {cause}"
        else:
            said, before = f"{type(error).__name__}: its node or process ended", "elsewhere"
        for key in one.works.keys() - one.over:
            self._say({"key": key, "head": {"stage": "elsewhere" if key in one.begun else before, "said": said}})

    def _tell_waiting(self) -> None:
        """Report once that Ray has no place for a task."""
        for one in self._active.values():
            if one.node is None and not one.is_told and time.monotonic() - one.at > _WAITS_S:
                one.is_told, said = True, f"waiting for {json.dumps(self._plan['options'])}"
                for key in one.works:
                    self._say({"key": key, "head": {"stage": "sent", "said": said}})

    def _stop(self) -> None:
        """End the runs that somebody asked to end."""
        for path in self._stops.glob("*"):
            path.unlink()
            key = f"{self._plan['job']}.{path.name}"
            self._stopped.add(key)
            for one in self._waiting:
                if one.works.pop(key, None):
                    self._say({"key": key, **_STOPPED})
            for generator, one in self._active.items():
                if key in one.works.keys() - one.over and one.node is not None:
                    self._end_there(one.node, key)
                elif key in one.works and one.works.keys() <= self._stopped:
                    ray.cancel(generator)

    def _end_there(self, node: str, key: str) -> None:
        self._end.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(self._plan, key)

    def _say(self, event: Event) -> None:
        print(self._plan["prefix"] + json.dumps({"n": next(self._lines), **event}), flush=True)


def needed(name: str) -> bytes:
    """This archive, or that of this folder, which lies in a package of the Job."""
    found = (Path(folder) / f"{Path(name).name.removesuffix('.tar.gz')}.tar.gz" for folder in sys.path)
    return next(path for path in found if path.is_file()).read_bytes()


def main() -> None:
    """Make the runs of the plan beside this file."""
    plan: Plan = json.loads(Path(__file__).with_name("plan.json").read_bytes())
    ray.init(log_to_driver=False, logging_level="ERROR")
    # Nodes do not have these modules.
    ray.cloudpickle.register_pickle_by_value(logbook_agent)
    Driver(plan).run()


if __name__ == "__main__":
    main()
