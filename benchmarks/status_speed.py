"""The processor time of `logbook status` on a committed logbook, each sample in a process of its own.

    python benchmarks/status_speed.py [--samples 3] [--topic moe_int8_cpu] [--command status]

User and system time of the child, in seconds, not the time by the clock: what else the machine does counts less. The
first run fills caches and bytecode and does not count. Bytecode is read, as in any installation, unless the environment
says PYTHONDONTWRITEBYTECODE.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
COMMANDS = {
    "status": ["-L", "{topic}", "status"],
    "status-json": ["-L", "{topic}", "status", "--json"],
    "help": ["--help"],
    "python": [],
}


def cpu_s(argv: list[str], environ: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=TREE, env=environ, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--topic", default="moe_int8_cpu")
    parser.add_argument("--command", choices=COMMANDS, default="status")
    given = parser.parse_args()
    words = [word.format(topic=given.topic) for word in COMMANDS[given.command]]
    argv = [sys.executable, "-m", "logbook_agent", *words] if words else [sys.executable, "-c", "pass"]
    with tempfile.TemporaryDirectory() as home:
        environ = {k: v for k, v in os.environ.items() if not k.startswith(("LOGBOOK", "XDG_"))} | {"HOME": home}
        samples = [cpu_s(argv, environ) for _ in range(given.samples + 1)][1:]
    config = {"command": given.command, "topic": given.topic}
    metrics = {"cpu_s": {"samples": samples, "unit": "s", "direction": "min"}}
    print("RESULT_JSON", json.dumps({"config": config, "metrics": metrics}))


if __name__ == "__main__":
    main()
