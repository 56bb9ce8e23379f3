"""What the MoE shapes of the published logbooks take on TPUs that are not there: compiled, never run.

    python benchmarks/moe_aot.py --save moe_aot.json --inflation-table benchmarks/moe_aot_inflation.json
    python benchmarks/moe_aot.py --forms --save benchmarks/moe_aot_forms.json
    python benchmarks/moe_aot.py --forms --save benchmarks/moe_aot_forms.json --show

Each case is one `bench-core hillclimb --aot` of its own, two at a time. Nothing of the tables is a timing.
`--inflation-table` writes the table from which a case on a TPU that names no backend is given one. `--forms` compiles
every form of expert and data parallelism instead, for slices of several devices. `--show` prints the table of the saved
rows, and compiles nothing; `--resume` compiles those that are missing, or that other versions compiled.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

from bench_core.aot.targets import TARGETS
from bench_core.shapes import TIMED_SHAPES

FLAGS = ("tokens", "hidden", "mlp_dim", "experts")
# The shape families of the null-routing logbook.
SHAPES = {
    name: (own.tokens, own.hidden, own.mlp_dim, own.experts) for name, own in TIMED_SHAPES.items() if name != "CPU"
}
BACKENDS = ("ragged_dot", "gmm")
PASSES = ("forward", "forward_backward")
GIB = 2**30
SOFTWARE = ("jax", "jaxlib", "libtpu")

# The two shapes of the logbooks on expert parallelism; the first has a shared expert.
SPREAD_SHAPES = {"S, shared 5632": (*SHAPES["S"], 5632), "M": (*SHAPES["M"], 0)}
# data x expert devices: as many expert devices as share the experts out, and at the most 16.
MESHES = {
    ("v5p-8", 60): (1, 4),
    ("v5e-8", 60): (2, 4),
    ("v6e-8", 60): (2, 4),
    ("v5p-128", 60): (16, 4),
    ("v5p-8", 64): (1, 4),
    ("v5e-8", 64): (1, 8),
    ("v6e-8", 64): (1, 8),
    ("v5p-128", 64): (4, 16),
}
# One expert per device and dispatch left out: libtpu 0.0.42.1 has an internal error for one backend.
LONE = ["--queue-mode", "prequeue", "--parallel-mode", "ep", "--ep-impl", "psum", "--dp-size", "1", "--ep-size", "8"]
FORMS = ("psum", "ring", "all_to_all", "ragged_all_to_all", "dp")

HEAD = """| shape | TPU | dtype | backend | pass | compiles | GiB | of | arguments | outputs | temporary | inflation | |
| --- | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"""
FORMS_HEAD = """| shape | TPU | data x expert | form | backend | compiles | GiB | of | temporary | inflation | |
| --- | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |"""


def single_cases(options: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """The name of a shape and the words of each case on one device."""
    chosen = (words.split(",") for words in (options.shapes, options.targets, options.dtypes, options.backends))
    return [
        (shape, [*sizes(SHAPES[shape]), "--aot", target, "--dtype", dtype, "--backend", backend, "--bench-pass", step])
        for shape, target, dtype, backend, step in itertools.product(*chosen, PASSES)
    ]


def form_cases(options: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """The same of each form on several devices; no backend is named."""
    cases = []
    for (name, shape), target, form in itertools.product(SPREAD_SHAPES.items(), options.targets.split(","), FORMS):
        *experts, shared = shape
        dp, ep = MESHES[target, shape[3]]
        words = [*sizes(tuple(experts)), "--aot", target, "--bench-pass", "forward_backward"]
        words += ["--shared-expert-dim", str(shared)] if shared else []
        mesh = ["--ep-impl", form, "--dp-size", str(dp), "--ep-size", str(ep)]
        words += ["--parallel-mode", "dp"] if form == "dp" else ["--parallel-mode", "ep", *mesh]
        cases.append((name, words))
    if "v6e-8" in options.targets.split(","):
        lone = [*sizes((1024, 256, 256, 8)), "--aot", "v6e-8", *LONE]
        name = "1024 x 256/256 x 8, forward, prequeue"
        cases += [(name, [*lone, "--backend", backend]) for backend in BACKENDS]
    return cases


def sizes(shape: tuple[int, ...]) -> list[str]:
    flags = (f"--{flag.replace('_', '-')}" for flag in FLAGS)
    return list(itertools.chain(*zip(flags, map(str, shape), strict=True)))


def compiled(shape: str, words: list[str]) -> dict:
    """The row of one case, from the command that anybody would type."""
    command = [sys.executable, "-m", "bench_core", "hillclimb", *words]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        environment = os.environ | {"LOGBOOK_RESULT_FILE": str(path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if not path.exists():
            # The compiler may end the process: that too is an answer.
            said = " ".join(done.stderr.split())[-2000:]
            failed = {"reason": "died", "message": f"exit code {done.returncode}: {said}"}
            config = {"aot": words[words.index("--aot") + 1]}
            return {"shape": shape, "argv": words, "config": config, "software": installed(), "failed": failed}
        (row,) = json.loads(path.read_text())["rows"]
    row.pop("host", None)
    return {"shape": shape, "argv": words, **row}


def installed() -> dict[str, str]:
    return {package: metadata.version(package) for package in SOFTWARE}


def earlier(path: Path | None) -> dict[tuple[str, ...], dict]:
    """Rows of a saved file that the installed versions compiled, by their words."""
    if path is None or not path.exists():
        return {}
    rows = json.loads(path.read_text())["rows"]
    own = installed()
    return {tuple(row["argv"]): row for row in rows if {p: row["software"].get(p) for p in SOFTWARE} == own}


def numbers(row: dict, names: Iterable[str]) -> list[str]:
    """GiB of a compiled case: in all, of the device, and of the classes of buffers that are named."""
    seen = row["observations"]
    total = row["metrics"]["hbm_bytes"]["samples"][0]
    return [
        f"{total / GIB:.2f}",
        f"{seen['hbm_capacity_bytes'] / GIB:.0f}",
        *(f"{seen[f'{name}_bytes'] / GIB:.2f}" for name in names),
        inflation_word(row),
    ]


def inflation_word(row: dict) -> str:
    found = inflation(row)
    return "unknown" if found is None else f"{found:.2f}"


def inflation(row: dict) -> float | None:
    metric = row.get("metrics", {}).get("flops_inflation")
    return None if metric is None else metric["samples"][0]


def refused(row: dict, classes: int) -> list[str]:
    """The cells of a case that does not compile: why, what it needs, and what helps."""
    seen, labels = row.get("observations", {}), row.get("labels", {})
    needed, limit = seen.get("needed_bytes"), seen.get("limit_bytes")
    cells = ["", ""] if None in (needed, limit) else [f"{needed / GIB:.2f}", f"{limit / GIB:.2f}"]
    said = row["failed"]["message"].splitlines()[0][:80]
    tried = "no flag that was tried helps" if "tried" in labels else ""
    note = f"with {labels['helps']}" if "helps" in labels else "; ".join(word for word in (said, tried) if word)
    return [f"no: {row['failed']['reason']}", *cells, *[""] * classes, "", note.replace("|", "\\|")]


def line(row: dict) -> str:
    config = row["config"]
    head = [row["shape"], config["aot"], config["dtype"], config["backend"], config["bench_pass"]]
    if "failed" in row:
        return "| " + " | ".join([*head, *refused(row, 3)]) + " |"
    note = row["labels"].get("flops_inflation_unknown", "")
    return "| " + " | ".join([*head, "yes", *numbers(row, ("argument", "output", "temporary")), note]) + " |"


def form_line(row: dict) -> str:
    config = row["config"]
    mesh = f"{config.get('dp_size', '')} x {config.get('ep_size', 1)}"
    head = [row["shape"], config["aot"], mesh, config.get("ep_impl", "dp"), config.get("backend", "")]
    if "failed" in row:
        return "| " + " | ".join([*head, *refused(row, 1)]) + " |"
    note = row["labels"].get("flops_inflation_unknown", "")
    return "| " + " | ".join([*head, "yes", *numbers(row, ("temporary",)), note]) + " |"


def write_inflation_table(path: Path, rows: Iterable[dict]) -> None:
    """The table that `bench_core.gmm.registry` was made of, a program a line."""
    software: Mapping[str, str] = installed()
    kept = [
        {
            "device_kind": TARGETS[row["config"]["aot"]].device_kind,
            "backend": row["config"]["backend"],
            "dtype": row["config"]["dtype"],
            "bench_pass": row["config"]["bench_pass"],
            "shape": dict(zip((*FLAGS, "topk"), [row["config"][key] for key in (*FLAGS, "topk")], strict=True)),
            "flops_inflation": None if inflation(row) is None else round(inflation(row), 4),
            "refused": row["failed"]["reason"] if "failed" in row else None,
        }
        for row in rows
    ]
    lines = ",\n    ".join(json.dumps(row) for row in kept)
    head = json.dumps({"made_by": "benchmarks/moe_aot.py", "software": software}, indent=2)[:-2]
    path.write_text(f'{head},\n  "rows": [\n    {lines}\n  ]\n}}\n')


def saved(path: Path | None, cases: list[tuple[str, list[str]]]) -> list[dict]:
    """The rows of a saved file that are among the cases, in their order."""
    if path is None:
        raise SystemExit("--show needs --save FILE")
    known = {tuple(row["argv"]): row for row in json.loads(path.read_text())["rows"]}
    return [known[tuple(words)] for _, words in cases if tuple(words) in known]


def run(
    cases: list[tuple[str, list[str]]], show: Callable[[dict], str], jobs: int, save: Path | None, *, resume: bool
) -> list[dict]:
    """Compile, print a line for each, and save after each. With `resume` saved rows are not compiled again."""
    known = earlier(save) if resume else {}
    rows: list[dict] = []
    with ThreadPoolExecutor(jobs) as pool:
        for row in pool.map(lambda case: known.get(tuple(case[1])) or compiled(*case), cases):
            rows.append(row)
            print(show(row), flush=True)
            if save:
                save.write_text('{"rows": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]}\n")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forms", action="store_true", help="every form on several devices")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="comma-separated; of one device")
    parser.add_argument("--targets", help="comma-separated")
    parser.add_argument("--backends", default=",".join(BACKENDS), help="comma-separated; of one device")
    parser.add_argument("--dtypes", default="bfloat16", help="comma-separated; of one device")
    parser.add_argument("--topk", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--save", type=Path, help="write all rows as JSON to this file")
    parser.add_argument("--resume", action="store_true", help="keep the rows of --save that these versions compiled")
    parser.add_argument("--show", action="store_true", help="print the table of --save's rows, and compile nothing")
    parser.add_argument("--inflation-table", type=Path, help="write the table for default backends to this file")
    options = parser.parse_args()
    if options.targets is None:
        # One device of a larger slice would give the same program.
        one_host = [name for name, target in TARGETS.items() if target.chips == 4]
        spread = dict.fromkeys(target for target, _ in MESHES)
        options.targets = ",".join(spread if options.forms else one_host)
    cases = form_cases(options) if options.forms else single_cases(options)
    cases = [(shape, [*words, "--topk", str(options.topk)]) for shape, words in cases]
    print(f"topk {options.topk}, compiled only\n\n{FORMS_HEAD if options.forms else HEAD}", flush=True)
    show = form_line if options.forms else line
    if options.show:
        rows = saved(options.save, cases)
        print("\n".join(show(row) for row in rows))
        print(f"\n{len(rows)} of {len(cases)} cases")
        return
    rows = run(cases, show, options.jobs, options.save, resume=options.resume)
    if options.inflation_table:
        write_inflation_table(options.inflation_table, rows)


if __name__ == "__main__":
    main()
