"""What it takes to expand a recipe of 10,000 cases, the most there may be, measured in processes of their own.

    python benchmarks/recipe_scale.py [--rounds 15] [--save FILE]

Design: a recipe of the benchmark's own shape, 20 config keys and a command of 38 words, with three axes of 50 x 20 x 10
values. `listed`: no controls, in order. `controlled`: half as many values on one axis, a control beside each case, and
interleaved order, which makes 10,000 cases of which 5,000 are controls. Each round is a new process that expands and
goes through every run with its command and variables; the two kinds take turns. Times are processor time from parsing
to the last run (the machine may be shared; wall time stands beside), memory is the peak of the whole process. The
digest of the plan, which only a sweep that is carried out needs, is timed apart. All samples are kept.
Target: at most 0.3 s and 100 MB in every round.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from logbook_agent.campaign.recipes.expand import expand
from logbook_agent.campaign.recipes.reading import parse_recipe

CASES = 10_000
TARGET_S, TARGET_BYTES = 0.3, 100 * 10**6
KINDS = ("listed", "controlled")


def recipe(kind: str) -> dict[str, Any]:
    """The plain data of a recipe with 10,000 cases."""
    fixed: dict[str, Any] = {f"size_{i}": 2**i for i in range(10)}
    fixed |= {
        "quant_mode": "int8",
        "backend": "ragged_dot",
        "impl": "fused_w13",
        "queue_mode": "full",
        "shared_fused": True,
    }
    fixed |= {"iters": 3, "warmup": 1}
    last = 10 if kind == "listed" else 5
    axes = {
        "topk": {"from": 1, "to": 50, "step": 1},
        "null_route_frac": {"from": 0.01, "to": 0.2, "step": 0.01},
        "tokens": {"from": 64, "to": 64 * last, "step": 64},
    }
    controls = [] if kind == "listed" else [{"quant_mode": "none"}]
    return {
        "name": "scale",
        "question": "How long does it take?",
        "command": ["bench-core", "hillclimb", {"flags": [*fixed, *axes]}],
        "fixed": fixed,
        "axes": axes,
        "controls": controls,
        "order": "as-listed" if kind == "listed" else "interleaved",
        "env": {"LIBTPU_INIT_ARGS": "--xla_tpu_scoped_vmem_limit_kib=50000"},
    }


def once(kind: str) -> dict[str, float]:
    """Expand once, in this process."""
    data = recipe(kind)
    wall, before = time.perf_counter(), time.process_time()
    plan = expand(parse_recipe(data))
    listed_s = time.process_time() - before
    words = sum(len(run.argv) for run in plan)
    expanded_s, wall_s = time.process_time() - before, time.perf_counter() - wall
    digest = plan.digest
    digest_s = time.process_time() - before - expanded_s
    assert len(plan) == CASES
    assert words > 35 * CASES
    assert digest
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    found = {"listed_s": listed_s, "expanded_s": expanded_s, "wall_s": wall_s, "digest_s": digest_s}
    return {**found, "peak_bytes": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--once", choices=KINDS, help="one round in this process, as JSON")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once(options.once)))
        return
    samples: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    for _ in range(options.rounds):
        for kind in KINDS:
            done = subprocess.run(
                [sys.executable, __file__, "--once", kind], capture_output=True, text=True, check=True, timeout=120
            )
            samples[kind].append(json.loads(done.stdout))
    held = True
    for kind, rounds in samples.items():
        seconds = [r["expanded_s"] for r in rounds]
        peaks = [r["peak_bytes"] for r in rounds]
        good = max(seconds) <= TARGET_S and max(peaks) <= TARGET_BYTES
        held = held and good
        print(
            f"{kind}: {statistics.median(seconds):.2f} s (worst {max(seconds):.2f}), "
            f"wall {statistics.median(r['wall_s'] for r in rounds):.2f} s, "
            f"digest {statistics.median(r['digest_s'] for r in rounds):.2f} s more, "
            f"peak {max(peaks) / 1e6:.0f} MB: {'within' if good else 'OVER'} {TARGET_S:g} s and 100 MB"
        )
    if options.save:
        machine = {"system": platform.platform(), "python": platform.python_version()}
        options.save.write_text(json.dumps({"machine": machine, "samples": samples}, indent=1) + "\n")
    raise SystemExit(0 if held else 1)


if __name__ == "__main__":
    main()
