"""A batch system of one machine, whose jobs are processes: `batch_system.py FOLDER VERB WORDS`.

It keeps a file for each element of an array, with its name and its state. While there is a file `hold`, nothing
begins. What is asked of an element lies beside it, as a state that it is to end in.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

QUEUE = Path(sys.argv[1])
KILL_S = 5.0
# Of the variables of who submits, a job has no others.
PASSED = ("HOME", "LOGBOOK_", "PATH")


def submit(name: str, size: str, at_most: str, folder: str, *words: str) -> None:
    """Take an array in, and print its number."""
    number = next(n for n in range(1, 1000) if not list(QUEUE.glob(f"{n}_*")))
    for element in range(int(size)):
        write(f"{number}_{element}", f"{name}.{element}", "WAITING")
    run = [sys.executable, "-IS", __file__, str(QUEUE), "serve", str(number), at_most, folder, *words]
    environ = {key: value for key, value in os.environ.items() if key.startswith(PASSED)}
    null = subprocess.DEVNULL
    subprocess.Popen(run, env=environ, stdin=null, stdout=null, stderr=null, start_new_session=True, cwd=folder)
    print(number)


def serve(number: str, at_most: str, folder: str, *words: str) -> None:
    """Run the elements of an array, until all are over."""
    waiting = sorted(path.name for path in QUEUE.glob(f"{number}_*"))
    going: dict[str, subprocess.Popen[bytes]] = {}
    due: dict[str, float] = {}
    while waiting or going:
        for job in [*waiting, *going]:
            name, _ = read(job)
            asked = QUEUE / f"asked.{job}"
            output = Path(folder, name, "worker.err")
            if job in waiting and asked.exists():
                waiting.remove(job)
                write(job, name, asked.read_text())
            elif job in waiting and len(going) < int(at_most) and not (QUEUE / "hold").exists():
                waiting.remove(job)
                write(job, name, "RUNNING")
                with output.open("ab") as file:
                    run = [*words[:-1], f"{words[-1]}.{name.rpartition('.')[2]}"]
                    going[job] = subprocess.Popen(run, stdout=file, stderr=file, start_new_session=True)
            elif job in going and going[job].poll() is not None:
                state = "DONE" if going.pop(job).returncode == 0 else "FAILED"
                write(job, name, asked.read_text() if asked.exists() else state)
            elif job in going and asked.exists():
                if job not in due:
                    due[job] = time.monotonic() + (KILL_S if asked.read_text() != "NODE_FAIL" else 0)
                    with output.open("a") as file:
                        file.write(f"*** JOB {job} ON here CANCELLED AT {time.ctime()}{WHY[asked.read_text()]} ***\n")
                is_due = time.monotonic() >= due[job]
                os.killpg(going[job].pid, signal.SIGKILL if is_due else signal.SIGTERM)
        time.sleep(0.02)


WHY = {"CANCELLED": "", "PREEMPTED": " DUE TO PREEMPTION", "NODE_FAIL": " DUE TO NODE FAILURE"}


def jobs() -> None:
    """Print `NUMBER NAME STATE` for each element that it knows."""
    for path in QUEUE.glob("*_*"):
        if "." not in path.name:
            print(path.name, *read(path.name))


def end(state: str, *numbers: str) -> None:
    """Have elements end in this state, with TERM and KILL; at once where their node fails."""
    for number in numbers:
        if read(number)[1] in ("WAITING", "RUNNING"):
            (QUEUE / f"asked.{number}").write_text(state)


def forget(number: str) -> None:
    (QUEUE / number).unlink()


def read(job: str) -> tuple[str, str]:
    name, state = (QUEUE / job).read_text().split()
    return name, state


def write(job: str, name: str, state: str) -> None:
    part = QUEUE / f"part.{job}"
    part.write_text(f"{name} {state}")
    part.replace(QUEUE / job)


if __name__ == "__main__":
    {one.__name__: one for one in (submit, serve, jobs, end, forget)}[sys.argv[2]](*sys.argv[3:])
