"""What the MoE shapes of the published logbooks take on TPUs that are not there: compiled, never run.

    python benchmarks/moe_aot.py --save moe_aot.json

Each case is one `bench-core hillclimb --aot` of its own, two at a time. Nothing of the table is a timing.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench_core.aot.targets import TARGETS

# tokens, hidden, mlp_dim, experts: the shape families of the null-routing logbook.
SHAPES = {
    "S": (32768, 2048, 1408, 60),
    "M": (32768, 2048, 2048, 64),
    "L": (65536, 3072, 3072, 128),
}
BACKENDS = ("ragged_dot", "gmm")
PASSES = ("forward", "forward_backward")
GIB = 2**30

HEAD = """| shape | TPU | backend | pass | compiles | GiB | of | arguments | outputs | temporaries | inflation | note |
| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"""


def compiled(shape: str, target: str, backend: str, bench_pass: str, topk: int) -> dict:
    """The row of one case, from the command that anybody would type."""
    sizes = zip(("--tokens", "--hidden", "--mlp-dim", "--experts"), map(str, SHAPES[shape]), strict=True)
    words = [*itertools.chain(*sizes), "--topk", str(topk), "--backend", backend, "--bench-pass", bench_pass]
    command = [sys.executable, "-m", "bench_core", "hillclimb", "--aot", target, *words]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        environment = os.environ | {"LOGBOOK_RESULT_FILE": str(path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if not path.exists():
            raise SystemExit(f"{' '.join(command)} left no row:\n{done.stderr}")
        (row,) = json.loads(path.read_text())["rows"]
    return {"shape": shape, "argv": command[1:], **row}


def line(row: dict) -> str:
    config, seen, failed = row["config"], row["observations"], row.get("failed")
    head = [row["shape"], config["aot"], config["backend"], config["bench_pass"]]
    if failed:
        needed, limit = seen.get("needed_bytes"), seen.get("limit_bytes")
        sizes = ["", ""] if None in (needed, limit) else [f"{needed / GIB:.2f}", f"{limit / GIB:.2f}"]
        helps = row["labels"].get("helps")
        note = f"with {helps}" if helps else failed["message"].splitlines()[0][:80] if "" in sizes else ""
        return "| " + " | ".join([*head, f"no: {failed['reason']}", *sizes, "", "", "", "", note]) + " |"
    inflation = row["metrics"].get("flops_inflation")
    classes = ("argument_bytes", "output_bytes", "temporary_bytes")
    cells = [
        "yes",
        f"{row['metrics']['hbm_bytes']['samples'][0] / GIB:.2f}",
        f"{seen['hbm_capacity_bytes'] / GIB:.0f}",
        *(f"{seen[name] / GIB:.2f}" for name in classes),
        f"{inflation['samples'][0]:.2f}" if inflation else "unknown",
        row["labels"].get("inflated_by", row["labels"].get("flops_inflation_unknown", "")),
    ]
    return "| " + " | ".join([*head, *cells]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES), help="comma-separated")
    # The cases use one device: a larger slice would give the same program.
    one_host = ",".join(name for name, target in TARGETS.items() if target.chips == 4)
    parser.add_argument("--targets", default=one_host, help="comma-separated")
    parser.add_argument("--backends", default=",".join(BACKENDS), help="comma-separated")
    parser.add_argument("--topk", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--save", type=Path, help="write all rows as JSON to this file")
    options = parser.parse_args()
    cases = itertools.product(
        *(words.split(",") for words in (options.shapes, options.targets, options.backends)), PASSES
    )
    print(f"topk {options.topk}, bfloat16, compiled only\n\n{HEAD}", flush=True)
    rows = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda case: compiled(*case, options.topk), cases):
            rows.append(row)
            print(line(row), flush=True)
            if options.save:
                options.save.write_text(json.dumps({"rows": rows}) + "\n")


if __name__ == "__main__":
    main()
