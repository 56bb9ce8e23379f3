"""The grouped matmuls of an MoE block on CPU: backend `tiled` against `ragged_dot` and against two limits.

    python benchmarks/moe_cpu_matmul.py [--rounds 9] [--ragged-rounds 3] [--save FILE]

A call is what the block asks of its backend: three products forward (w1, w3, w2), or these and their six
gradients. Limits, with the same FLOPs: `dense`, every row times one matrix, and `batched`, groups of equal
size times a matrix each, which also reads the weights and writes the gradients of all experts. `tiled` runs
twice per round, so that the ratio of the two shows the noise.

Design: peers alternate within a round, in an order that is reversed every other round; a ratio is taken
within each round, and the table gives median, lowest and highest of them. Every sample is kept. Processor time
suffers less than wall time when something else runs on the machine. `ragged_dot`
costs at least `experts` times the FLOPs: it runs in the first rounds only, where --ragged-cells says so.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from bench_core.gmm.base import FLOAT32_ACCUMULATION, Arithmetic, DenseMatmul, GroupedMatmul, MatmulRequest
from bench_core.gmm.registry import BACKENDS
from bench_core.shapes import TIMED_SHAPES, BenchPass, DType

_CPU = TIMED_SHAPES["CPU"]
TOKENS, HIDDEN, MLP = _CPU.tokens, _CPU.hidden, _CPU.mlp_dim
CLOCKS = ("wall", "processor")
Arrays = dict[str, jax.Array]
Program = Callable[[Arrays], dict[str, jax.Array]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One case. `sizes`: random (all experts alike) or skewed (the r-th is chosen in proportion to 1 / r)."""

    experts: int
    topk: int
    sizes: str
    bench_pass: BenchPass
    dtype: DType

    def group_sizes(self) -> np.ndarray:
        """Assignments per expert when every token draws topk distinct experts (Gumbel top-k)."""
        rng = np.random.default_rng(0)
        share = 1.0 / np.arange(1, self.experts + 1) if self.sizes == "skewed" else np.ones(self.experts)
        keys = np.log(share) + rng.gumbel(size=(TOKENS, self.experts))
        chosen = np.argpartition(-keys, self.topk - 1, axis=1)[:, : self.topk]
        return np.bincount(chosen.reshape(-1), minlength=self.experts).astype(np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A compiled program and its arguments."""

    compiled: Program
    arrays: Arrays
    compile_s: float

    def seconds(self) -> tuple[float, float]:
        """Wall time and processor time of one call."""
        wall, processor = time.perf_counter(), time.process_time()
        jax.block_until_ready(self.compiled(self.arrays))
        return time.perf_counter() - wall, time.process_time() - processor


class Batched(GroupedMatmul):
    """A limit, and no backend: one batched matmul over groups of equal size, whatever the sizes given."""

    name: ClassVar[str] = "batched"
    summary: ClassVar[str] = "equal groups"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION

    def refusal(self, request: MatmulRequest) -> str | None:
        return None

    def _product(self, lhs: jax.Array, rhs: jax.Array, groups: int, equation: str) -> jax.Array:
        split = [a if a.ndim == 3 else a.reshape(groups, -1, a.shape[-1]) for a in (lhs, rhs)]
        return jnp.einsum(equation, *split, precision="highest", preferred_element_type=jnp.float32)

    def forward(self, lhs: jax.Array, rhs: jax.Array, group_sizes: jax.Array) -> jax.Array:
        return self._product(lhs, rhs, group_sizes.size, "gmk,gkn->gmn").reshape(lhs.shape[0], -1)

    def grad_lhs(self, cotangent: jax.Array, rhs: jax.Array, group_sizes: jax.Array) -> jax.Array:
        return self._product(cotangent, rhs, group_sizes.size, "gmn,gkn->gmk").reshape(cotangent.shape[0], -1)

    def grad_rhs(self, lhs: jax.Array, cotangent: jax.Array, group_sizes: jax.Array) -> jax.Array:
        return self._product(lhs, cotangent, group_sizes.size, "gmk,gmn->gkn")


def arrays_of(cell: Cell) -> Arrays:
    rows = TOKENS * cell.topk
    shapes = {
        "x": (rows, HIDDEN),
        "hidden": (rows, MLP),
        "grad_gate": (rows, MLP),
        "grad_up": (rows, MLP),
        "grad_out": (rows, HIDDEN),
        "w1": (cell.experts, HIDDEN, MLP),
        "w3": (cell.experts, HIDDEN, MLP),
        "w2": (cell.experts, MLP, HIDDEN),
    }
    keys = jax.random.split(jax.random.key(0), len(shapes))
    arrays = {
        name: jax.random.normal(key, shape, jnp.float32).astype(cell.dtype.value)
        for key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }
    return arrays | {"group_sizes": jnp.asarray(cell.group_sizes())}


def program_of(backend: GroupedMatmul, bench_pass: BenchPass) -> Program:
    products = (("x", "w1", "grad_gate"), ("x", "w3", "grad_up"), ("hidden", "w2", "grad_out"))

    def run(a: Arrays) -> dict[str, jax.Array]:
        sizes, outputs = a["group_sizes"], {}
        for lhs, rhs, cotangent in products:
            outputs[rhs] = backend.forward(a[lhs], a[rhs], sizes)
            if bench_pass is BenchPass.FORWARD_BACKWARD:
                outputs[f"{rhs} lhs"] = backend.grad_lhs(a[cotangent], a[rhs], sizes)
                outputs[f"{rhs} rhs"] = backend.grad_rhs(a[lhs], a[cotangent], sizes)
        return outputs

    return run


def peers_of(cell: Cell, *, ragged: bool) -> dict[str, Peer]:
    arrays = arrays_of(cell)
    one = arrays | {name: arrays[name][:1] for name in ("w1", "w3", "w2")}
    one["group_sizes"] = jnp.array([TOKENS * cell.topk], jnp.int32)
    tiled = BACKENDS["tiled"].load(platform="cpu")
    wanted: dict[str, tuple[GroupedMatmul, Arrays]] = {
        "tiled": (tiled, arrays),
        "dense": (DenseMatmul(), one),
        "batched": (Batched(), arrays),
        "tiled again": (tiled, arrays),
    }
    if ragged:
        wanted["ragged_dot"] = (BACKENDS["ragged_dot"].load(platform="cpu"), arrays)
    peers: dict[str, Peer] = {}
    for name, (backend, own) in wanted.items():
        lowered = jax.jit(program_of(backend, cell.bench_pass)).lower(own)
        began = time.perf_counter()
        compiled = lowered.compile()
        peers[name] = Peer(compiled=compiled, arrays=own, compile_s=time.perf_counter() - began)
    return peers


def measure(cell: Cell, rounds: int, ragged_rounds: int) -> dict[str, object]:
    """Samples in seconds by clock and peer, and how long each peer took to compile."""
    peers = peers_of(cell, ragged=ragged_rounds > 0)
    for name, peer in peers.items():
        if name != "ragged_dot":
            peer.seconds()
    samples: dict[str, dict[str, list[float]]] = {clock: {name: [] for name in peers} for clock in CLOCKS}
    for number in range(rounds):
        order = [name for name in peers if name != "ragged_dot" or number < ragged_rounds]
        for name in order if number % 2 else reversed(order):
            for clock, seconds in zip(CLOCKS, peers[name].seconds(), strict=True):
                samples[clock][name].append(seconds)
    compile_s = {name: peer.compile_s for name, peer in peers.items()}
    return {"cell": asdict(cell), "seconds": samples, "compile_s": compile_s}


def ratio(seconds: dict[str, list[float]], name: str) -> str:
    """How many times as long as `tiled` a peer took in the same round: median (lowest to highest)."""
    if name not in seconds:
        return ""
    each = [peer / own for peer, own in zip(seconds[name], seconds["tiled"], strict=False)]
    return f"{statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f})"


def lines(result: dict[str, object]) -> str:
    """One line per clock."""
    cell, compile_s = result["cell"], result["compile_s"]["tiled"]
    words = [cell["experts"], cell["topk"], cell["sizes"], cell["bench_pass"]]
    made = []
    for clock in CLOCKS:
        seconds = result["seconds"][clock]
        ratios = [ratio(seconds, name) for name in ("ragged_dot", "dense", "batched", "tiled again")]
        middle = f"{1000 * statistics.median(seconds['tiled']):.0f}"
        made.append("| " + " | ".join(map(str, [*words, clock, middle, *ratios, f"{compile_s:.2f}"])) + " |")
    return "\n".join(made)


HEAD = """| experts | topk | sizes | pass | clock | tiled ms | ragged_dot | dense | batched | tiled again | compile s |
| ---: | ---: | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--ragged-rounds", type=int, default=3)
    parser.add_argument(
        "--ragged-cells", default="8:2,16:2,8:8,16:8", help="experts:topk with ragged_dot, comma-separated"
    )
    parser.add_argument("--cells", default="8:2,16:2,64:2,8:8,16:8,64:8", help="experts:topk, comma-separated")
    parser.add_argument("--dtype", type=DType, default=DType.FLOAT32, choices=list(DType))
    parser.add_argument("--save", type=Path, help="write all samples as JSON to this file")
    options = parser.parse_args()
    facts = {"python": platform.python_version(), "jax": jax.__version__, "cores": os.cpu_count(), "unit": "s"}
    print(", ".join(f"{name} {value}" for name, value in facts.items()), f"\n\n{HEAD}", flush=True)
    results = []
    for words, sizes, bench_pass in itertools.product(options.cells.split(","), ("random", "skewed"), BenchPass):
        experts, topk = map(int, words.split(":"))
        cell = Cell(experts=experts, topk=topk, sizes=sizes, bench_pass=bench_pass, dtype=options.dtype)
        ragged_rounds = options.ragged_rounds if words in options.ragged_cells.split(",") else 0
        results.append(measure(cell, options.rounds, ragged_rounds) | {"load": os.getloadavg()[0]})
        print(lines(results[-1]), flush=True)
        if options.save:
            options.save.write_text(json.dumps(facts | {"results": results}) + "\n")


if __name__ == "__main__":
    main()
