"""Processor time of small cases of bench-core, from start to row, over that of `import jax; jax.devices()`.

    python benchmarks/bench_start.py [--rounds 10] [--save FILE]

The commands alternate. Each runs once before, so that bytecode and compiled programs are there, as on any second day.
Target: 1.6 for `small`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from cli_speed import seconds

BENCH = [sys.executable, "-m", "bench_core", "hillclimb"]
SMALL = ["--tokens", "64", "--hidden", "64", "--mlp-dim", "64"]
COMMANDS = {
    "import jax": [sys.executable, "-c", "import jax; jax.devices()"],
    "small": [*BENCH, *SMALL],
    "small, forward_backward": [*BENCH, *SMALL, "--bench-pass", "forward_backward"],
    "without options": BENCH,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--save", type=Path, help="write all samples as JSON to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environ |= {"JAX_PLATFORMS": "cpu", "XDG_CACHE_HOME": place, "PYTHONPYCACHEPREFIX": f"{place}/bytecode"}
        environ.setdefault("PYTHONPATH", str(Path.cwd()))
        samples: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for number in range(options.rounds + 1):
            for name, argv in COMMANDS.items():
                _, processor = seconds(argv, Path(place), environ)
                samples[name] += [processor] if number else []
    median = {name: statistics.median(values) for name, values in samples.items()}
    for name, own in median.items():
        print(f"{name}: {own:.3f} s, {own / median['import jax']:.2f}")
    if options.save:
        options.save.write_text(json.dumps({"unit": "s", "samples": samples}, indent=1) + "\n")


if __name__ == "__main__":
    main()
