"""The whole MoE block on CPU: backend `tiled` against `ragged_dot`, torch and a dense limit.

    python benchmarks/moe_cpu.py [--cells 8:2] [--dtypes float32] [--save FILE]
    python benchmarks/moe_cpu.py --table benchmarks/moe_cpu.json        # its tables, nothing is measured

A call is the function that `bench-core hillclimb` times: forward, or forward_backward (mean of squares, gradients to x
and all weights). Peers: implementations fused_w13 and baseline on `tiled`, fused_w13 on `ragged_dot`, two torch
forms, and the block's matmuls as dense ones of the same FLOPs. `tiled again` is the first peer once more: its ratio
shows the noise. Before timing, the outputs of all peers are compared.

Design: one process, two threads for each peer, which alternate within a round in an order that is reversed every
other round; a ratio is taken within each round. Every sample is kept. Processor time suffers less than wall time
when something else runs. `ragged_dot` costs `experts` times the FLOPs and has fewer rounds: as many as --ragged-s
seconds allow, at most three, without warm-up, and at least one in every cell of float32 with random routing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import moe_cpu_torch
from moe_cpu_cells import SIZES, TOKENS, Program, check, programs, tolerance
from moe_cpu_peers import AGAIN, BLOCKS, OURS, Peer, cpu_peer, dense_peer
from moe_cpu_table import head, line, result_line, tables

from bench_core.shapes import DType

THREADS = moe_cpu_torch.THREADS
RAGGED = "ragged_dot"
CLOCKS = ("wall", "processor")
BUSY = 0.5
"""Load average from which a warning is printed."""
COMPILE_S = 2.0
"""Of one block, for the estimate."""
SETTLE_S = 0.01
"""Between two peers: threads of the one before that still spin go to sleep."""


def gemm_rate() -> float:
    """FLOPs per second of a float32 GEMM here, for the estimate."""
    a = jnp.ones((2048, 512), jnp.float32)
    multiply = jax.jit(lambda a: a @ a.T).lower(a).compile()
    jax.block_until_ready(multiply(a))
    began = time.perf_counter()
    for _ in range(4):
        jax.block_until_ready(multiply(a))
    return 4 * 2 * 2048 * 2048 * 512 / (time.perf_counter() - began)


def rounds_of(program: Program, options: argparse.Namespace) -> int:
    return options.rounds if program.topk == 2 else min(options.rounds, options.long_rounds)


def ragged_rounds(program: Program, sizes: str, options: argparse.Namespace, rate: float) -> int:
    fit = int(options.ragged_s / (program.flops * program.experts / rate))
    least = 1 if program.dtype is DType.FLOAT32 and sizes == "random" and options.ragged_s > 0 else 0
    return min(max(fit, least), 3, rounds_of(program, options))


def estimate_s(chosen: list[Program], options: argparse.Namespace, rate: float, *, torch: bool) -> float:
    """Compile, one round that checks, the rounds, and ragged_dot."""
    # Blocks but ragged_dot, the dense limit, the first block again, torch.
    peers = len(BLOCKS) + 1 + (len(moe_cpu_torch.NAMES) if torch else 0)
    total = 0.0
    for program in chosen:
        call_s = 1.3 * program.flops / rate
        total += COMPILE_S * len(BLOCKS)
        for word in options.sizes.split(","):
            total += (rounds_of(program, options) + 1) * peers * call_s
            total += ragged_rounds(program, word, options, rate) * program.experts * call_s
    return total


def peers_of(
    program: Program, sizes: list[str], torch: Any, *, ragged: bool, alone: bool
) -> tuple[dict[str, Peer], dict[str, str]]:
    """The peers of a program by name, and why others are missing. `alone`: the first one and the dense limit."""
    inputs = program.inputs()
    routings = {word: program.routing(word) for word in sizes}
    missing: dict[str, str] = {}
    wanted = [OURS] if alone else [name for name in BLOCKS if ragged or name != RAGGED]
    peers = {name: cpu_peer(name, program, inputs, routings) for name in wanted}
    peers |= {"dense": dense_peer(program)} | ({} if alone else {AGAIN: peers[OURS]})
    for name in moe_cpu_torch.NAMES if torch is not None else ():
        try:
            peers[name] = moe_cpu_torch.torch_peer(torch, name, program, inputs, routings)
        except RuntimeError as error:
            missing[f"{name} {program.dtype}"] = " ".join(str(error).split())
    return peers, missing


def measure(program: Program, sizes: str, peers: dict[str, Peer], rounds: int, ragged: int) -> dict[str, Any]:
    """Samples in seconds by clock and peer, after a call of each whose outputs are compared.

    `ragged_dot`, whose calls are long, has no such call: the outputs of its first timed one are compared.
    """
    allowed = tolerance(program)
    peers["dense"].run(sizes)
    reference = peers[OURS].outputs(sizes)
    found = {}
    for name, peer in peers.items():
        if peer.arrays is not None and name not in (OURS, AGAIN, RAGGED):
            found[name] = check(name, peer.outputs(sizes), reference, allowed)
    samples: dict[str, dict[str, list[float]]] = {clock: {name: [] for name in peers} for clock in CLOCKS}
    for number in range(rounds):
        order = [name for name in peers if name != RAGGED or number < ragged]
        for name in order if number % 2 else reversed(order):
            time.sleep(SETTLE_S)
            outputs, *seconds = peers[name].timed(sizes)
            for clock, value in zip(CLOCKS, seconds, strict=True):
                samples[clock][name].append(value)
            if name == RAGGED and name not in found:
                found[name] = check(name, peers[name].arrays(outputs), reference, allowed)
            # Before the next call, which else would not find this memory free.
            del outputs
    return {
        "cell": {**asdict(program), "sizes": sizes},
        "seconds": samples,
        "compiled": {name: peer.compiled for name, peer in peers.items() if peer.compiled},
        "least_bytes": program.least_bytes(),
        "difference": found,
        "allowed_difference": allowed,
        "load": os.getloadavg()[0],
    }


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="8:2,16:2,64:2,8:8,16:8,64:8", help="experts:topk, comma-separated")
    parser.add_argument("--dtypes", default="float32,bfloat16", help="comma-separated")
    parser.add_argument("--passes", default="forward,forward_backward", help="comma-separated")
    parser.add_argument("--sizes", default=",".join(SIZES), help="comma-separated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--long-rounds", type=int, default=3, help="at most so many at topk 8")
    parser.add_argument("--ragged-s", type=float, default=2, help="seconds of ragged_dot per cell; 0: leave it out")
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--results", action="store_true", help="print a line for a logbook of each cell")
    parser.add_argument("--alone", action="store_true", help="ours and the dense limit alone, with such lines")
    parser.add_argument("--save", type=Path, help="write all samples as JSON to this file")
    parser.add_argument("--table", type=Path, help="print the tables of such a file, and measure nothing")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    if options.table:
        print(tables(json.loads(options.table.read_text())))
        return
    if hasattr(os, "sched_setaffinity"):
        # JAX takes a thread for each processor that it may use when its first array is made, which is later.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    torch, reason = (None, None) if options.alone else moe_cpu_torch.load()
    missing = {} if reason is None else {"torch": reason}
    facts = {
        "python": platform.python_version(),
        "jax": jax.__version__,
        "torch": "none" if torch is None else torch.__version__,
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads": THREADS,
    }
    sizes = options.sizes.split(",")
    cells = programs(options.cells, options.dtypes.split(","), options.passes.split(","))
    chosen = [replace(program, tokens=options.tokens) for program in cells]
    options.ragged_s = 0 if options.alone else options.ragged_s
    rate = gemm_rate()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    for name, why in missing.items():
        print(f"{name} is missing: {why}")
    minutes = estimate_s(chosen, options, rate, torch=torch is not None) / 60
    print(f"{len(chosen) * len(sizes)} cells, about {minutes:.0f} minutes")
    if os.getloadavg()[0] > BUSY:
        print(
            f"load average {os.getloadavg()[0]:.1f}: others use this machine; torch, whose threads spin, loses the most"
        )
    print(f"\n{head()}", flush=True)
    results: list[dict[str, Any]] = []
    for program in chosen:
        ragged = {word: ragged_rounds(program, word, options, rate) for word in sizes}
        peers, absent = peers_of(program, sizes, torch, ragged=any(ragged.values()), alone=options.alone)
        missing |= absent
        for word in sizes:
            results.append(measure(program, word, peers, rounds_of(program, options), ragged[word]))
            print(line(results[-1]), flush=True)
            if options.alone or options.results:
                print(result_line(results[-1]), flush=True)
        for name, why in absent.items():
            print(f"{name} is missing: {why}", file=sys.stderr)
        if options.save:
            document = {"format": 2, "unit": "s", "facts": facts, "missing": missing, "results": results}
            options.save.write_text(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
