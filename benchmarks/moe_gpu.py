"""The grouped matmul and the whole MoE block on a GPU: backend `pallas_gpu` against its peers and a dense limit.

    python benchmarks/moe_gpu.py [--shapes S] [--topk 2] [--save FILE]
    python benchmarks/moe_gpu.py --scale tiny    # that it runs: any device, kernels interpreted on a CPU, no figures

Two levels. `product`: one grouped product of sorted operands, each of the six that a block needs. `block`: the function
that `bench-core hillclimb` times, forward or forward_backward (mean of squares, gradients to x and all weights).

Peers: XLA's ragged_dot, tokamax (both of its kernels), torch's grouped_mm (eager; its block has the steps of the
grouped_mm experts in transformers), and two dense limits of the same FLOPs, all rows times one matrix: `dense`, with
float32 results as every backend gives, and `dense bfloat16`, with results as torch's. `pallas_gpu again` is the first
peer once more: its ratio shows the noise. --blocks M,N,K,WARPS,STAGES adds the own kernels with other tiles. A peer
that is not there or cannot compute a case is named with the reason. Outputs are compared before anything is timed.

Design: one process; peers alternate within a round, in an order that is reversed every other round; a ratio is taken
within each round. A sample is a few calls one behind the other, waited for once. Every sample is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

# torch needs memory too. Read when JAX starts.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import moe_cpu_torch
from moe_aot import SHAPES
from moe_cpu_cells import SIZES, Program, check, tolerance
from moe_gpu_peers import (
    AGAIN,
    DENSE,
    DENSE_NARROW,
    OURS,
    PRODUCTS,
    RAGGED,
    TOKAMAX,
    TORCH,
    Missing,
    Peers,
    backends_of,
    block_peers,
    load_tokamax,
    product_flops,
    product_peers,
    reason,
)

from bench_core.gmm.pallas_gpu_tiles import Blocks
from bench_core.shapes import BenchPass, DType

TINY = {"tiny": (48, 32, 16, 4)}
SAMPLE_S = 0.005
"""A sample has as many calls as take so long."""
MOST_CALLS = 20


def programs(
    shapes: dict[str, tuple[int, int, int, int]], options: argparse.Namespace
) -> Iterator[tuple[str, Program]]:
    for shape, (tokens, hidden, mlp_dim, experts) in shapes.items():
        for topk in options.topk:
            for bench_pass in options.passes.split(","):
                yield (
                    shape,
                    Program(
                        experts=experts,
                        topk=topk,
                        bench_pass=BenchPass(bench_pass),
                        dtype=DType.BFLOAT16,
                        tokens=tokens,
                        hidden=hidden,
                        mlp_dim=mlp_dim,
                    ),
                )


def compared(peers: Peers, missing: Missing, sizes: str, allowed: float) -> dict[str, float]:
    """How far each peer's outputs lie from those of the own kernels; a peer that fails in its first call is missing."""
    reference = peers[OURS].outputs(sizes)
    found = {}
    for name in [name for name in peers if name not in (OURS, AGAIN)]:
        peer = peers[name]
        try:
            if peer.arrays is None:
                peer.run(sizes)
            else:
                found[name] = check(name, peer.outputs(sizes), reference, allowed)
        except RuntimeError as error:
            missing[name] = reason(error)
            del peers[name]
    return found


def measured(peers: Peers, missing: Missing, sizes: str, rounds: int) -> dict[str, Any]:
    """Seconds of one call by peer, one sample a round, and of how many calls a sample is.

    A peer that fails in one call, as it does where others have left too little memory, has no samples.
    """
    calls: dict[str, int] = {}
    samples: dict[str, list[float]] = {name: [] for name in peers}
    for number in range(-1, rounds):
        for name in list(samples) if number % 2 else reversed(list(samples)):
            try:
                seconds = peers[name].timed(sizes, calls.get(name, 1))[1]
            except RuntimeError as error:
                missing[name] = reason(error)
                del samples[name]
                continue
            if number < 0:
                calls[name] = max(1, min(MOST_CALLS, round(SAMPLE_S / seconds)))
            else:
                samples[name].append(seconds)
    return {"seconds": samples, "calls": calls}


def cell(peers: Peers, missing: Missing, sizes: str, program: Program, rounds: int) -> dict[str, Any]:
    allowed = tolerance(program)
    if OURS not in peers:
        return {"missing": missing}
    found = compared(peers, missing, sizes, allowed)
    return {
        **measured(peers, missing, sizes, rounds),
        "compiled": {name: peer.compiled for name, peer in peers.items() if peer.compiled},
        "difference": found,
        "allowed_difference": allowed,
        "missing": missing,
    }


def ratios(seconds: dict[str, list[float]], name: str) -> str:
    """How many times as long as the own kernels a peer took in the same round: median (lowest to highest)."""
    if name not in seconds:
        return ""
    each = [peer / own for peer, own in zip(seconds[name], seconds[OURS], strict=True)]
    return f"{statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f})"


COLUMNS = (DENSE, DENSE_NARROW, TORCH, *TOKAMAX, RAGGED, AGAIN)
HEAD = ["shape", "topk", "sizes", "what", "ms", "TF/s"]


def line(result: dict[str, Any]) -> str:
    words = [result["shape"], result["cell"]["topk"], result["sizes"], result["what"]]
    seconds = result.get("seconds", {})
    if not seconds.get(OURS):
        return "| " + " | ".join(map(str, [*words, "failed", *[""] * (len(COLUMNS) + 1)])) + " |"
    own = statistics.median(seconds[OURS])
    figures = [f"{1000 * own:.2f}", f"{result['flops'] / own / 1e12:.0f}"]
    return "| " + " | ".join(map(str, [*words, *figures, *(ratios(seconds, name) for name in COLUMNS)])) + " |"


def results(options: argparse.Namespace, torch: Any, tokamax: Any, device: str) -> Iterator[dict[str, Any]]:
    shapes = TINY if options.scale == "tiny" else {name: SHAPES[name] for name in options.shapes.split(",")}
    words = options.sizes.split(",")
    backends = backends_of(jax.default_backend(), tokamax, options.blocks)
    for shape, program in programs(shapes, options):
        routings = {word: program.routing(word) for word in words}
        common = {"shape": shape, "cell": asdict(program)}
        wanted = []
        if "product" in options.levels.split(","):
            # Gradients are products of their own.
            wanted += [p for p in PRODUCTS if ("grad" in p) == (program.bench_pass is BenchPass.FORWARD_BACKWARD)]
        for product in wanted:
            peers, missing = product_peers(program, product, routings, backends, torch, device)
            facts = common | {"what": product, "flops": product_flops(program, product)}
            for word in words:
                yield {**facts, "sizes": word, **cell(peers, missing, word, program, options.rounds)}
            _let_go(peers, torch)
        if "block" in options.levels.split(","):
            peers, missing = block_peers(program, routings, backends, torch, device)
            facts = common | {"what": f"block {program.bench_pass}", "flops": program.flops}
            for word in words:
                yield {**facts, "sizes": word, **cell(peers, missing, word, program, options.rounds)}
            _let_go(peers, torch)


def _let_go(peers: Peers, torch: Any) -> None:
    """Free the arrays of a cell, and what torch keeps of them for itself."""
    peers.clear()
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default=",".join(SHAPES), help="comma-separated")
    parser.add_argument("--topk", default="2,4,8", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--passes", default="forward,forward_backward", help="comma-separated")
    parser.add_argument("--sizes", default=SIZES[0], help=f"routings, comma-separated: {', '.join(SIZES)}")
    parser.add_argument("--levels", default="product,block", help="comma-separated")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--blocks",
        action="append",
        default=[],
        metavar="M,N,K,WARPS,STAGES",
        type=lambda text: Blocks(
            **dict(zip(("m", "n", "k", "warps", "stages"), map(int, text.split(",")), strict=True))
        ),
        help="the own kernels with these tiles too; may be repeated",
    )
    parser.add_argument("--scale", choices=["full", "tiny"], default="full")
    parser.add_argument("--save", type=Path, help="write all samples as JSON to this file")
    return parser.parse_args()


def facts_of(torch: Any, tokamax: Any) -> dict[str, Any]:
    return {
        "device": jax.devices()[0].device_kind,
        "python": platform.python_version(),
        "jax": jax.__version__,
        "torch": "none" if torch is None else torch.__version__,
        "tokamax": "none" if tokamax is None else getattr(tokamax, "__version__", "unknown"),
    }


def main() -> None:
    options = parsed()
    if options.scale == "full" and jax.default_backend() != "gpu":
        print(
            f"error: JAX has no GPU here; its devices are of the kind {jax.devices()[0].platform}\n"
            "  cause: the machine has none, or JAX has no plug-in for it (scripts/bench_gpu installs one)\n"
            "  next: run it on a machine with a GPU, or try it with --scale tiny",
            file=sys.stderr,
        )
        raise SystemExit(2)
    if options.scale == "tiny":
        options.topk = options.topk[:1]
        options.rounds = 2
    device = "cuda" if jax.default_backend() == "gpu" else "cpu"
    torch, no_torch = moe_cpu_torch.load()
    if torch is None:
        no_torch = "torch is not installed here: scripts/bench_gpu makes .venv-gpu, which has it"
    elif device == "cuda" and not torch.cuda.is_available():
        torch, no_torch = None, f"torch {torch.__version__} finds no GPU"
    tokamax, no_tokamax = load_tokamax()
    absent = {name: why for name, why in (("torch", no_torch), ("tokamax", no_tokamax)) if why is not None}
    facts = facts_of(torch, tokamax)
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    for name, why in absent.items():
        print(f"{name} is missing: {why}")
    if jax.default_backend() != "gpu":
        print("no GPU: kernels are interpreted, and no figure means anything")
    names = [*HEAD, *COLUMNS]
    print("\n| " + " | ".join(names) + " |\n|" + " --- |" * len(names), flush=True)
    kept: list[dict[str, Any]] = []
    for result in results(options, torch, tokamax, device):
        kept.append(result)
        print(line(result), flush=True)
        for name, why in result["missing"].items():
            print(f"{name} is missing from {result['shape']} {result['what']}: {why}", file=sys.stderr)
        if options.save:
            document = {"format": 1, "unit": "s", "facts": facts, "missing": absent, "results": kept}
            options.save.write_text(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
