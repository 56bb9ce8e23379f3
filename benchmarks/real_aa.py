"""Real A/A comparisons on a machine that others use: how often `logbook ab` finds a difference that is not there.

    python benchmarks/real_aa.py [--comparisons 60] [--save FILE]

Each comparison runs one command of about 0.1 s of processor time by `logbook ab` in a logbook of its own. Both sides
are the same but for a word that the command ignores. Meanwhile burners come and go: each spins for 0.2 to 2 s and then
sleeps as long, one for every core. Target: at most 5 differences in 60.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WORK = "import sys, time; t = time.perf_counter(); sum(i * i for i in range(1_000_000)); "
WORK += "print(f'RESULT side={sys.argv[1]} time_s={time.perf_counter() - t}')"


def burn(seed: int) -> None:
    """Spin and sleep by turns, for ever."""
    rng = random.Random(seed)
    while True:
        until = time.monotonic() + rng.uniform(0.2, 2)
        while time.monotonic() < until:
            pass
        time.sleep(rng.uniform(0.2, 2))


def logbook(folder: Path, name: str, *words: str) -> dict[str, Any]:
    """The data that a command answers."""
    command = [sys.executable, "-m", "logbook_agent", name, "--json", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)["data"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=60)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    burners = [multiprocessing.Process(target=burn, args=(seed,), daemon=True) for seed in range(os.cpu_count() or 1)]
    for burner in burners:
        burner.start()
    began, found = time.perf_counter(), []
    for number in range(options.comparisons):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            logbook(folder, "start", "aa", "--prefix", "AA", "--metric", "time_s:min:s")
            data = logbook(folder, "ab", "--axis", "side=a,b", "--", sys.executable, "-c", WORK, "{axis}")
        [finding] = data["answer"]["findings"]
        found.append({key: finding[key] for key in ("outcome", "change", "interval", "pairs")})
        print(f"{number + 1}: {finding['sentence']}", flush=True)
    claims = sum(one["outcome"] in ("better", "worse") for one in found)
    wall_s = time.perf_counter() - began
    print(f"{claims} of {len(found)} comparisons find a difference; {wall_s:.0f} s, load {os.getloadavg()[0]:.1f}")
    if options.save is not None:
        document = {"comparisons": found, "claims": claims, "wall_s": wall_s, "load_1m": os.getloadavg()[0]}
        options.save.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
