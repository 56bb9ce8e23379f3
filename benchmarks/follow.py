"""What following runs elsewhere costs the machine that they are measured on, and what trivial runs take there against
the engine's own: a real sshd, and a Slurm of two nodes, both on this machine.

    python benchmarks/follow.py [--rounds 3] [--save FILE]

Design: `following` has eight runs that sleep and print the time, as the cases of one sweep (`sweep`) and as eight
commands that each show their run's output (`runs`). The share of a core is the processor time within some seconds in
which nothing starts or ends: of what serves the client on the machine behind ssh (its daemons and all that they have
started but the workers), of the workers there, and of the clients with the programs that they start, which on a login
node of Slurm is all that following takes there. `seen` is how old a line is when the client prints it, `ended` how old
the last line is when the record with the end is written. `trivial` has 30 commands over ssh and 60 jobs of Slurm by the
engine's own commands, then as many cases of a sweep, alternating.
Targets: 2% of a core for eight runs, output within 2 s, an end within 3 s, sweeps within ten times the bare commands.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psutil

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from logbook_agent.store import records  # noqa: E402
from logbook_agent.store.folder import Folder  # noqa: E402
from tests.contract.engines import slurm_engine, slurm_place, ssh_place  # noqa: E402

LOGBOOK = (sys.executable, "-m", "logbook_agent")
FOLLOWED, SLEEP_S, SETTLE_S, WINDOW_S = 8, 30, 4.0, 15.0
TRIVIAL = {"ssh": 30, "slurm": 60}
AT_ONCE = 8
PRINTS = (
    f"i=0; while [ $i -lt {SLEEP_S} ]; do date +%s.%N; sleep 1; i=$((i+1)); done; echo RESULT tflops=$(date +%s.%N)"
)
RECIPE = """\
name: {name}
question: What does it cost?
command: [sh, bench.sh, "{{x}}"]
axes: {{x: [{cases}]}}
metrics: [tflops]
confirm: 0
"""

Samples = dict[str, list[float]]


@dataclass
class Engine:
    """An executor with what its machine is charged for, and the same command by the engine's own means."""

    name: str
    executor: str
    bare: dict[str, Callable[[int], None]]
    daemons: Callable[[], Sequence[psutil.Process]] = tuple
    spools: Path | None = None


def used_s(processes: Sequence[psutil.Process]) -> float:
    """Seconds of processor time of these and of all that they have started, with those that have ended."""
    whole = 0.0
    for process in {one.pid: one for top in processes for one in _tree(top)}.values():
        with contextlib.suppress(psutil.Error):
            whole += sum(process.cpu_times()[:4])
    return whole


def _tree(top: psutil.Process) -> list[psutil.Process]:
    try:
        return [top, *top.children(recursive=True)]
    except psutil.Error:
        return []


def workers(engine: Engine) -> list[psutil.Process]:
    """The workers on the machine behind ssh that live, with their commands."""
    found = []
    for lock in engine.spools.glob("*/worker.lock") if engine.spools is not None else ():
        with contextlib.suppress(psutil.Error, ValueError, KeyError):
            found.append(psutil.Process(json.loads(lock.read_text())["pid"]))
    return found


def window(engine: Engine, clients: Sequence[psutil.Process]) -> dict[str, float]:
    """Shares of a core in the next seconds, in percent."""
    time.sleep(SETTLE_S)

    def now() -> dict[str, float]:
        at_work = workers(engine)
        # The program that answers there has started them.
        numbers = {process.pid for worker in at_work for process in _tree(worker)}
        serving = [p for top in engine.daemons() for p in _tree(top) if p.pid not in numbers]
        with_ended = sum(used_s([p]) for p in at_work)
        own = 0.0
        for process in {p.pid: p for p in serving}.values():
            with contextlib.suppress(psutil.Error):
                own += sum(process.cpu_times()[:4])
        return {"machine": own, "workers": with_ended, "clients": used_s(clients)}

    before, began = now(), time.monotonic()
    time.sleep(WINDOW_S)
    after, took_s = now(), time.monotonic() - began
    return {name: 100 * (after[name] - before[name]) / took_s for name in after}


def begin(folder: Path, name: str, bench: str, cases: int) -> None:
    (folder / "recipes").mkdir(exist_ok=True)
    (folder / "bench.sh").write_text(bench + "\n")
    (folder / f"recipes/{name}.yaml").write_text(
        RECIPE.format(name=name, cases=", ".join(map(str, range(1, cases + 1))))
    )


def ends(folder: Path, since: float) -> list[float]:
    """How old each end was when its record was written."""
    found = []
    for record in (folder / "logbooks/moe/runs").glob("*/*/run.json"):
        run = records.read_run(Folder(folder / "logbooks"), record)
        if run.rows and record.stat().st_mtime > since:
            found.append(record.stat().st_mtime - run.rows[0].metrics["tflops"].samples[0])
    return found


def until_going(folder: Path) -> None:
    """Until all runs have printed something."""
    deadline = time.monotonic() + 120
    while True:
        going = [*folder.rglob("work/began.json")]
        if len(going) >= FOLLOWED:
            return
        assert time.monotonic() < deadline, going
        time.sleep(0.1)


def followed_sweep(engine: Engine, folder: Path) -> dict[str, float]:
    begin(folder, "follow", PRINTS, FOLLOWED)
    since = time.time()
    words = [*LOGBOOK, "sweep", "follow", "--new", "--on", engine.executor, "--parallel", str(FOLLOWED)]
    client = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    until_going(folder)
    shares = window(engine, [psutil.Process(client.pid)])
    assert client.wait(300) == 0
    return {**shares, "ended": max(ends(folder, since))}


def followed_runs(engine: Engine, folder: Path) -> dict[str, float]:
    since = time.time()
    words = [*LOGBOOK, "run", "--on", engine.executor, "--", "sh", "bench.sh"]
    begin(folder, "follow", PRINTS, FOLLOWED)
    clients = [
        subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(FOLLOWED)
    ]
    until_going(folder)
    ages: list[float] = []
    # One of them is read as it comes; the others fit the pipe.
    first = clients[0].stdout
    assert first is not None
    os.set_blocking(first.fileno(), False)
    import threading

    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            data = first.read() or b""
            stamps = [line for line in data.split() if line[:1].isdigit()]
            ages.extend(time.time() - float(stamp) for stamp in stamps)
            time.sleep(0.02)

    first.read()
    reader = threading.Thread(target=read)
    reader.start()
    shares = window(engine, [psutil.Process(client.pid) for client in clients])
    done.set()
    reader.join()
    for client in clients:
        os.set_blocking(client.stdout.fileno(), True)  # type: ignore[union-attr]
        client.communicate(timeout=300)
        assert client.returncode == 0
    return {**shares, "seen": max(ages), "ended": max(ends(folder, since))}


def trivial(engine: Engine, folder: Path, number: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, bare in engine.bare.items():
        began = time.perf_counter()
        bare(number)
        found[name] = time.perf_counter() - began
    begin(folder, "trivial", "echo RESULT tflops=$1", number)
    words = [*LOGBOOK, "sweep", "trivial", "--new", "--on", engine.executor, "--parallel", str(AT_ONCE)]
    before, far, began = resource.getrusage(resource.RUSAGE_CHILDREN), used_s(engine.daemons()), time.perf_counter()
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=900)
    found["sweep"] = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr.decode()
    found["processor of the client"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if engine.name == "ssh":
        found["processor of its daemons"] = used_s(engine.daemons()) - far
    found |= {f"ratio to {name}": found["sweep"] / found[name] for name in engine.bare}
    return found


@contextlib.contextmanager
def behind_ssh(folder: Path, scratch: Path) -> Iterator[Engine]:
    if why := ssh_place.why_not():
        sys.exit(f"no ssh here: {why}")
    place = ssh_place.ssh_place(
        cast(Any, None), folder, scratch / "ssh", "sync = false", "devices = []", "equivalent = true"
    )
    far = scratch / "ssh"
    shared = ["-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o", f"ControlPath={ssh_place.control(far)}/bare"]

    def bare(number: int) -> None:
        for at in range(number):
            words = ["ssh", "-F", f"{far}/ssh_config", *shared, place.name, f"echo RESULT tflops={at}"]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    bare(1)
    try:
        yield Engine(place.name, place.name, {"bare": bare}, place.sessions, place.far / "spools")
    finally:
        subprocess.run(["ssh", "-F", f"{far}/ssh_config", *shared, "-O", "exit", place.name], check=False)
        place.end()


@contextlib.contextmanager
def with_slurm(folder: Path, scratch: Path) -> Iterator[Engine]:
    if why := slurm_engine.why_not():
        sys.exit(f"no Slurm here: {why}")
    with slurm_engine.started_in(scratch / "slurm") as slurm:
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{slurm.bin}{os.pathsep}{path}"
        place = slurm_place.slurm_place(cast(Any, None), folder, scratch / "shared")
        file = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
        file.write_text(f"{file.read_text()}equivalent = true\n")

        def over(*jobs: str) -> None:
            left = f"--jobs={','.join(jobs)}"
            while slurm.ask("squeue", "--noheader", "--states=PENDING,RUNNING,COMPLETING", left):
                time.sleep(0.05)

        def bare(number: int) -> None:
            over(*[slurm.submit(f"echo RESULT tflops={at}") for at in range(number)])

        def array(number: int) -> None:
            over(slurm.submit("echo RESULT tflops=$SLURM_ARRAY_TASK_ID", f"--array=0-{number - 1}%{AT_ONCE}"))

        yield Engine("slurm", place.name, {"bare": bare, "array": array})
        os.environ["PATH"] = path


ENGINES = {"ssh": behind_ssh, "slurm": with_slurm}


def measure(rounds: int, engines: Sequence[str], parts: Sequence[str]) -> dict[str, Samples]:
    samples: dict[str, Samples] = {}

    def note(name: str, found: dict[str, float]) -> None:
        for key, value in found.items():
            samples.setdefault(name, {}).setdefault(key, []).append(value)
        print(name, {key: round(value, 2) for key, value in found.items()}, flush=True)

    for engine_name in engines:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            folder = Path(scratch) / "work"
            folder.mkdir()
            places = {f"XDG_{name}_HOME": f"{scratch}/{name.lower()}" for name in ("CONFIG", "STATE", "CACHE")}
            os.environ |= {**places, "LOGBOOK_ROOT": f"{folder}/logbooks"}
            subprocess.run(
                [*LOGBOOK, "start", "moe", "--prefix", "MOE", "--metric", "tflops:max"], cwd=folder, check=True
            )
            with ENGINES[engine_name](folder, Path(scratch)) as engine:
                engine.name = engine_name
                for _ in range(rounds):
                    if "trivial" in parts:
                        note(f"trivial, {engine_name}", trivial(engine, folder, TRIVIAL[engine_name]))
                    if "sweep" in parts:
                        note(f"sweep, {engine_name}", followed_sweep(engine, folder))
                    if "runs" in parts:
                        note(f"runs, {engine_name}", followed_runs(engine, folder))
    return samples


def main(args: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The cost of following runs elsewhere, and of trivial ones.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--parts", nargs="+", default=["trivial", "sweep", "runs"])
    # Resolved now: the measurement works in a folder of its own.
    parser.add_argument("--save", type=lambda text: Path(text).resolve(), metavar="FILE")
    options: Any = parser.parse_args(args)
    samples = measure(options.rounds, options.engines, options.parts)
    for name, found in samples.items():
        for key, values in found.items():
            print(f"| {name} | {key} | {statistics.median(values):.2f} | {min(values):.2f} | {max(values):.2f} |")
    if options.save:
        options.save.write_text(json.dumps(samples, indent=1) + "\n")


if __name__ == "__main__":
    main()
