"""A real Ray for tests: a head and a second node on this machine, in a network namespace of their own.

`scripts/cluster_ray python -m tests.contract.engines.ray_cluster` starts both, prints one line of JSON when they are
ready, and ends them with all that they started when its standard input ends. Commands on standard input, each
answered by a line: `kill node`, `kill head`, `start node`, `start head`, and `mend` for what was killed.
With `-- COMMAND`, both last as
long as that command, which runs beside them. Never `ray stop`, which ends processes by their names.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil

from tests.contract.engines import namespace

HEAD, NODE, DASHBOARD = "127.0.0.1", "127.0.0.2", 8265
_PORT = 6379
# Both nodes are one machine to their agents, of which the first takes the usual port.
_AGENT = 52366
_START_S = 300.0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
# What each part offers beside its processors, so that a test can say where a run is to go.
_PARTS = {"head": "left", "node": "right"}
_CPUS = 2


class Cluster:
    """The two parts by name, each with the process that holds it: `ray start --block`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: dict[str, subprocess.Popen[bytes]] = {}
        # A node that was killed counts as alive for a while yet.
        self._earlier: set[str] = set()

    def start(self, name: str) -> None:
        """Start a part and wait until the dashboard counts it. Raises RuntimeError."""
        words = [str(Path(sys.executable).with_name("ray")), "start", "--block", f"--num-cpus={_CPUS}"]
        words += [f"--resources={json.dumps({_PARTS[name]: 100})}", "--object-store-memory=100000000"]
        if name == "head":
            words += ["--head", f"--node-ip-address={HEAD}", f"--port={_PORT}", f"--temp-dir={self._folder}/ray"]
            words += [f"--dashboard-host={HEAD}", f"--dashboard-port={DASHBOARD}", "--disable-usage-stats"]
        else:
            words += [f"--address={HEAD}:{_PORT}", f"--node-ip-address={NODE}"]
            words += [f"--dashboard-agent-listen-port={_AGENT}"]
        # Ray takes what stands there, and a node of anybody on this machine, for a head that still runs.
        if name == "head":
            (self._folder / "ray/ray_current_cluster").unlink(missing_ok=True)
        deadline, log = time.monotonic() + _START_S, self._folder / f"{name}.log"
        while not (found := self._up(name)):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the {name} of Ray did not start: {log.read_text(errors='replace')[-2000:]}")
            # It may refuse to start while it sees processes of one that was killed just now.
            if name not in self._parts or self._parts[name].poll() is not None:
                with log.open("ab") as output:
                    self._parts[name] = subprocess.Popen(
                        words,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=output,
                        cwd=self._folder,
                        start_new_session=True,
                        preexec_fn=end_with_parent,
                    )
            time.sleep(0.2)
        self._earlier |= found

    def mend(self) -> None:
        """Start the parts that were killed; beside a node that is left, Ray starts no second head."""
        if "head" not in self._parts:
            if "node" in self._parts:
                self.kill("node")
            self.start("head")
        if "node" not in self._parts:
            self.start("node")

    def _up(self, name: str) -> set[str]:
        """The nodes that the dashboard calls alive, that offer what this part does, and that were not there before."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            address = f"http://{HEAD}:{DASHBOARD}/api/v0/nodes?detail=1"
            with urllib.request.urlopen(address, timeout=5) as answer:
                rows = json.load(answer)["data"]["result"]["result"]
            up = {row["node_id"] for row in rows if row["state"] == "ALIVE" and _PARTS[name] in row["resources_total"]}
            return up - self._earlier
        return set()

    def kill(self, name: str) -> None:
        """End a part at once, as a machine ends that is switched off: its processes of Ray, and nothing beside them.
        What its workers started is left to notice it."""
        held, victims = self._parts.pop(name), []
        # A node whose head is gone ends by itself after a while.
        with contextlib.suppress(psutil.NoSuchProcess):
            victims = [psutil.Process(held.pid)]
            for child in victims[0].children():
                victims += [child, *(child.children() if "raylet" in child.name() else ())]
        for victim in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.send_signal(signal.SIGKILL)
        psutil.wait_procs(victims, timeout=10)
        held.wait(10)


def end_with_parent() -> None:
    """Have the kernel send TERM to this process when its parent is killed: Ray then ends what it holds."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def end_descendants() -> None:
    """KILL all that this process or its children started, until there is none: whoever loses its parent becomes a child
    of this process."""
    deadline = time.monotonic() + 20
    while (left := psutil.Process().children(recursive=True)) and time.monotonic() < deadline:
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.02)


def main(words: list[str]) -> int:
    home = os.environ.get("HOME", "/")
    try:
        namespace.enter()
    except OSError as error:
        print(json.dumps({"refused": str(error)}), flush=True)
        return 2
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # A stop is an end like that of the input.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(tempfile.mkdtemp(prefix="lb-ray-"))
    # Nothing is left in the home of whoever runs the tests.
    os.environ["HOME"] = str(folder)
    cluster = Cluster(folder)
    try:
        cluster.start("head")
        cluster.start("node")
        if words[:1] == ["--"]:
            return subprocess.run(words[1:], check=False, env={**os.environ, "HOME": home}).returncode
        ready = {"address": f"http://{HEAD}:{DASHBOARD}", "folder": str(folder), "pid": os.getpid()}
        print(json.dumps(ready), flush=True)
        for line in sys.stdin:
            verb, *names = line.split()
            {"kill": cluster.kill, "start": cluster.start, "mend": cluster.mend}[verb](*names)
            print(json.dumps({"done": line.strip()}), flush=True)
    finally:
        end_descendants()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
