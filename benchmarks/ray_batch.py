"""What 200 runs of `true` on Ray take against 200 bare tasks of Ray that start `true`.

    python benchmarks/ray_batch.py [--rounds 3] [--save FILE]

Design: the two nodes of the tests, both on this machine, four processors of Ray in all. In turn a Job that makes the
bare tasks, as many at a time as fit, and a batch of the logbook, four at a time: recorded, submitted, made, followed
and taken in by this process, as in a sweep. A bare Job tells the time of its tasks, without the start of Job and worker
processes; what is left of its duration is that start, which a batch has, too. All samples are kept, each with the
processor time that it took, here and on the nodes.
Target: a batch takes at most 1.5 times the bare tasks and that start together, in the same round.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import psutil

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from logbook_agent.cli import main as logbook  # noqa: E402
from logbook_agent.cli.output import LineDisplay  # noqa: E402
from logbook_agent.cluster.ray_log import Jobs  # noqa: E402
from logbook_agent.running.executors.dispatch import Dispatch  # noqa: E402
from logbook_agent.running.executors.table import executor_named  # noqa: E402
from logbook_agent.running.launch.signals import StopRequests  # noqa: E402
from logbook_agent.running.order import RunPlan  # noqa: E402
from logbook_agent.running.prepare import prepare  # noqa: E402
from logbook_agent.store.workspace import Workspace  # noqa: E402
from tests.contract.engines import ray_engine  # noqa: E402
from tests.contract.engines.ray_place import place_on  # noqa: E402

RUNS, AT_ONCE = 200, 4
# What others do on the machine changes these little.
USED = ("processor of the nodes, bare", "processor of the client", "processor of the nodes, batch")
PAUSE_S = 0.2
BARE = f"""
import subprocess, time, ray
ray.init(log_to_driver=False)
task = ray.remote(num_cpus=1, max_retries=0)(lambda: subprocess.run(["true"]).returncode)
ray.get([task.remote() for _ in range({RUNS})])
began = time.perf_counter()
assert set(ray.get([task.remote() for _ in range({RUNS})])) == {{0}}
print("TASKS", time.perf_counter() - began)
"""

Samples = dict[str, list[float]]


def bare(jobs: Jobs) -> tuple[float, float]:
    """Seconds of the tasks alone, and of the start of their Job: both rounds of tasks are taken off."""
    began, job = time.perf_counter(), f"bare-{uuid.uuid4().hex}"
    jobs.submit(job, shlex.join(["python", "-c", BARE]))
    while (found := jobs.job(job)) is None or found["status"] in ("PENDING", "RUNNING"):
        time.sleep(PAUSE_S)
    whole = time.perf_counter() - began
    text = b"".join(jobs.log(found["driver_node_id"], job))
    tasks = float(text.split(b"TASKS ")[1].split()[0])
    return tasks, whole - 2 * tasks


def batch() -> float:
    """Seconds until all runs are recorded, made and taken in, as a sweep makes them."""
    workspace = Workspace(cwd=Path.cwd(), environ=dict(os.environ))
    began = time.perf_counter()
    plan = RunPlan(command=prepare(workspace, ("true",)), entry_id="RAY-000", config={})
    wanted = [plan] * RUNS
    with StopRequests() as stops:
        executor = executor_named(workspace, "ray")
        dispatch = Dispatch(workspace, workspace.book(), executor, LineDisplay(), wanted, "ray", AT_ONCE)
        made = [run for _, run in dispatch.carry_out(stops)]
    took = time.perf_counter() - began
    assert len(made) == RUNS
    assert all(run.exit is not None and run.exit.code == 0 for run in made), made[0]
    return took


def used_s() -> tuple[float, float]:
    """Seconds of processor time: of this process, and of all on the nodes, with those that have ended."""
    own = time.process_time()
    theirs = 0.0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            theirs += sum(process.cpu_times()[:4])
    return own, theirs


def measure(rounds: int) -> Samples:
    if why := ray_engine.why_not():
        sys.exit(f"no Ray here: {why}")
    names = ("bare tasks", "start of a job", "batch", *USED)
    samples: Samples = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder, ray_engine.started(os.environ) as engine:
        os.chdir(folder)
        os.environ |= {"XDG_CONFIG_HOME": f"{folder}/config", "LOGBOOK_ROOT": f"{folder}/logbooks"}
        assert logbook(["start", "ray", "--prefix", "RAY"]) == 0
        assert logbook(["note", "--plan", "Trivial runs", "--command", "true"]) == 0
        place_on(engine, cast(Any, None), Path(folder))  # nothing is typed there: it writes the settings
        jobs = Jobs(engine.address)
        for _ in range(rounds):
            at_first = used_s()
            tasks, start = bare(jobs)
            before = used_s()
            took = batch()
            after = used_s()
            used = (before[1] - at_first[1], after[0] - before[0], after[1] - before[1])
            for name, value in zip(names, (tasks, start, took, *used), strict=True):
                samples[name].append(value)
            print({name: round(values[-1], 2) for name, values in samples.items()}, flush=True)
    return samples


def main(args: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Runs of a batch against bare tasks of Ray.")
    parser.add_argument("--rounds", type=int, default=3)
    # Resolved now: the measurement works in a folder of its own.
    parser.add_argument("--save", type=lambda text: Path(text).resolve(), metavar="FILE")
    options = parser.parse_args(args)
    samples = measure(options.rounds)
    for name, values in samples.items():
        print(f"| {name}, s | {statistics.median(values):.2f} | {min(values):.2f} | {max(values):.2f} |")
    ratios = [
        batch / (tasks + start)
        for tasks, start, batch in zip(
            *(samples[name] for name in ("bare tasks", "start of a job", "batch")), strict=True
        )
    ]
    print(
        f"| batch to bare tasks and a start | {statistics.median(ratios):.2f} | {min(ratios):.2f} | {max(ratios):.2f} |"
    )
    if options.save:
        options.save.write_text(json.dumps(samples, indent=1) + "\n")


if __name__ == "__main__":
    main()
