"""What 200 runs of `true` on Ray take against 200 bare tasks of Ray that start `true`.

    make bench-ray                  (or: python benchmarks/ray_batch.py --rounds 3 --save FILE)

Design: the two nodes of the tests, both on this machine, four processors of Ray in all. In turn a Job that makes the
bare tasks, as many at a time as fit, and a batch of the logbook, four at a time: recorded, submitted, made, followed
and taken in by this process. A bare Job tells the time of its tasks, without the start of Job and worker processes;
what is left of its duration is that start, which a batch has, too. All samples are kept.
Target: a batch takes at most 1.5 times the bare tasks, plus that start.
"""

from __future__ import annotations

import argparse
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

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from logbook_agent.cli import main as logbook  # noqa: E402
from logbook_agent.running.execution import RunPlan  # noqa: E402
from logbook_agent.running.executors.client import send_all  # noqa: E402
from logbook_agent.running.executors.contract import OVER  # noqa: E402
from logbook_agent.running.executors.intake import collect  # noqa: E402
from logbook_agent.running.executors.ray_jobs import Jobs  # noqa: E402
from logbook_agent.running.executors.table import executor_named  # noqa: E402
from logbook_agent.running.prepare import prepare  # noqa: E402
from logbook_agent.store.workspace import Workspace  # noqa: E402
from tests.cluster import ray_engine  # noqa: E402
from tests.cluster.ray_place import declare  # noqa: E402

RUNS, AT_ONCE = 200, 4
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
    text = jobs.log_bytes(found["driver_node_id"], f"job-driver-{job}.log") or b""
    tasks = float(text.split(b"TASKS ")[1].split()[0])
    return tasks, whole - 2 * tasks


def batch() -> tuple[float, float, float]:
    """Seconds until the runs are recorded and submitted, until the last is over, and until all are taken in."""
    workspace = Workspace(cwd=Path.cwd(), environ=dict(os.environ))
    book = workspace.book()
    began = time.perf_counter()
    plans = [RunPlan(command=prepare(workspace, ("true",)), entry_id="RAY-000", config={}) for _ in range(RUNS)]
    left = send_all(workspace, book, [(plan, None) for plan in plans], "ray", AT_ONCE)
    sent = time.perf_counter() - began
    executor = executor_named(workspace, "ray")
    while left := [run for run in left if executor.follow(book.spool(run.entry, run.run)).stage not in OVER]:
        time.sleep(PAUSE_S)
    over = time.perf_counter() - began
    ended = collect(workspace, book)
    assert len(ended) == RUNS
    assert all(run.exit is not None and run.exit.code == 0 for run in ended), ended[0]
    return sent, over, time.perf_counter() - began


def measure(rounds: int) -> Samples:
    if why := ray_engine.why_not():
        sys.exit(f"no Ray here: {why}")
    names = ("bare tasks", "start of a job", "batch submitted", "batch over", "batch taken in")
    samples: Samples = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder, ray_engine.started(os.environ) as engine:
        os.chdir(folder)
        os.environ |= {"XDG_CONFIG_HOME": f"{folder}/config", "LOGBOOK_ROOT": f"{folder}/logbooks"}
        assert logbook(["start", "ray", "--prefix", "RAY"]) == 0
        declare(engine)
        jobs = Jobs(engine.address)
        for _ in range(rounds):
            for name, value in zip(names, (*bare(jobs), *batch()), strict=True):
                samples[name].append(value)
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
    middle = {name: statistics.median(values) for name, values in samples.items()}
    for name in ("batch over", "batch taken in"):
        ratio = (middle[name] - middle["start of a job"]) / middle["bare tasks"]
        print(f"| {name}, without a start, to bare tasks | {ratio:.1f} |")
    if options.save:
        options.save.write_text(json.dumps(samples, indent=1) + "\n")


if __name__ == "__main__":
    main()
