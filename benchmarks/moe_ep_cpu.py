"""What a form of parallelism costs on CPU: two virtual devices against one, with the same threads.

    python benchmarks/moe_ep_cpu.py [--cells 8:2] [--passes forward] [--save FILE]
    python benchmarks/moe_ep_cpu.py --table benchmarks/moe_ep_cpu.json        # its table, nothing is measured

A call is the function that `bench-core hillclimb` times: forward, or forward_backward (mean of squares, gradients to x
and all weights), with impl fused_w13 on backend `tiled`, in float32. The peers are one device, each form over two
(experts apart; dp: tokens apart), and the first once more, whose ratio shows the noise. Two virtual devices have the
threads that one has, so a form can win nothing but what one device leaves idle; what it loses is its overhead:
packing for each device, waiting for the one with the most rows, and what is sent, here by copies.

Design: one process, two threads, all peers in every round, in an order that is reversed every other round; a ratio is
taken within each round. Every sample is kept. Processor time suffers less than wall time when something else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from bench_core.blocks.inputs import make_inputs
from bench_core.blocks.moe import store_weights
from bench_core.harness.backend import load_backend
from bench_core.harness.build import build_case, plan_case
from bench_core.harness.case import Case
from bench_core.harness.environment import make_cpu_devices
from bench_core.parallel.block import padded, padded_routing
from bench_core.parallel.spread import ALONE, EpImpl, Parallel, ParallelMode
from bench_core.routing.request import RoutingRequest
from bench_core.shapes import BenchPass, DType, MoeShape
from bench_core.timing.measure import Program, call, compile_program, poisoned

DEVICES, THREADS = 2, 2
ONE, AGAIN = "one device", "one again"
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
ALLOWED_DIFFERENCE = 1e-4
"""Of the largest element of each array, between a form and one device; against an oracle, `bench-core check`."""


def forms() -> dict[str, Parallel]:
    named = {
        impl.value: Parallel(mode=ParallelMode.EP, ep_impl=impl, dp_size=1, ep_size=DEVICES, devices=DEVICES)
        for impl in (EpImpl.PSUM, EpImpl.RING, EpImpl.ALL_TO_ALL)
    }
    return {ONE: ALONE, **named, "dp": Parallel(mode=ParallelMode.DP, dp_size=DEVICES, devices=DEVICES)}


def program_of(shape: MoeShape, bench_pass: BenchPass, parallel: Parallel) -> Program:
    case = Case(
        shape=shape,
        dtype=DType.FLOAT32,
        routing=RoutingRequest(),
        backend="tiled",
        impl="fused_w13",
        bench_pass=bench_pass,
        parallel=parallel,
    )
    inputs = make_inputs(case.seed, shape=shape, dtype=case.dtype, request=case.routing)
    spread = parallel.spread
    x, routing = padded(inputs.x, spread), padded_routing(inputs.routing, spread, shape.experts)
    plan = plan_case(case, shape, np.asarray(routing.experts))
    built = build_case(case, shape, load_backend(case, platform="cpu"), plan, jax.devices())
    stored = store_weights(inputs.weights, built.block.impl)
    return compile_program(built.function, (x, stored, routing), places=built.places(stored))


def difference(outputs: dict[str, jax.Array], reference: dict[str, jax.Array]) -> float:
    """The largest, as a fraction of the largest element of its array."""
    found = 0.0
    for name, array in outputs.items():
        own, other = np.asarray(array), np.asarray(reference[name])
        found = max(found, float(np.abs(own - other).max() / np.abs(other).max()))
    return found


def timed(program: Program) -> dict[str, float]:
    """Seconds by clock."""
    into = jax.block_until_ready(poisoned(program.outputs))
    began = {name: clock() for name, clock in CLOCKS.items()}
    jax.block_until_ready(program.executable(program.arguments, into))
    return {name: clock() - began[name] for name, clock in CLOCKS.items()}


def measure(shape: MoeShape, bench_pass: BenchPass, rounds: int) -> dict[str, Any]:
    peers = {name: program_of(shape, bench_pass, parallel) for name, parallel in forms().items()}
    reference = call(peers[ONE]).outputs
    differences = {name: difference(call(program).outputs, reference) for name, program in peers.items()}
    for name, found in differences.items():
        assert found <= ALLOWED_DIFFERENCE, f"{name} differs from one device by {found:.2g}"
    peers[AGAIN] = peers[ONE]
    seconds: dict[str, dict[str, list[float]]] = {clock: {name: [] for name in peers} for clock in CLOCKS}
    for number in range(rounds):
        for name in peers if number % 2 else reversed(peers):
            for clock, value in timed(peers[name]).items():
                seconds[clock][name].append(value)
    return {
        "experts": shape.experts,
        "topk": shape.topk,
        "pass": bench_pass.value,
        "seconds": seconds,
        "difference": differences,
        "load": os.getloadavg()[0],
    }


def speeds(result: dict[str, Any], clock: str, name: str) -> str:
    """Of a form against one device, by round: median (lowest to highest). 1 is as fast."""
    samples = result["seconds"][clock]
    ratios = sorted(one / own for one, own in zip(samples[ONE], samples[name], strict=True))
    return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def table(results: list[dict[str, Any]], clock: str) -> str:
    names = [name for name in results[0]["seconds"][clock] if name != ONE]
    head = ["experts", "topk", "pass", "ms", *names, "rounds", "load"]
    lines = [head, ["---"] * len(head)]
    for result in results:
        samples = result["seconds"][clock][ONE]
        lines.append(
            [
                *(str(result[key]) for key in ("experts", "topk", "pass")),
                f"{1e3 * statistics.median(samples):.0f}",
                *(speeds(result, clock, name) for name in names),
                str(len(samples)),
                f"{result['load']:.1f}",
            ]
        )
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="8:2,16:2,64:2,8:8,16:8,64:8", help="experts:topk, comma-separated")
    parser.add_argument("--passes", default="forward,forward_backward", help="comma-separated")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--save", type=Path, help="write all samples as JSON to this file")
    parser.add_argument("--table", type=Path, help="print the tables of such a file, and measure nothing")
    options = parser.parse_args()
    if options.table:
        results = json.loads(options.table.read_text())["results"]
    else:
        make_cpu_devices(DEVICES, os.environ)
        facts = {
            "python": platform.python_version(),
            "jax": jax.__version__,
            "threads": THREADS,
            "cores": os.cpu_count(),
        }
        results = []
        for cell in options.cells.split(","):
            experts, topk = map(int, cell.split(":"))
            shape = MoeShape(tokens=4096, hidden=512, mlp_dim=352, experts=experts, topk=topk)
            for word in options.passes.split(","):
                results.append(measure(shape, BenchPass(word), options.rounds))
                print(table(results[-1:], "processor").splitlines()[-1], flush=True)
                if options.save:
                    document = {"format": 1, "unit": "s", "facts": facts, "results": results}
                    options.save.write_text(json.dumps(document) + "\n")
    for clock in CLOCKS:
        print(f"\n{clock} time\n\n{table(results, clock)}")


if __name__ == "__main__":
    main()
