"""What `moe_cpu.py` and `moe_gpu.py` measure: cells, arrays, and what any correct program may differ by. No torch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench_core.accounting import count_flops
from bench_core.routing.topk import Routing, route
from bench_core.shapes import TIMED_SHAPES, BenchPass, DType, MoeShape

_CPU = TIMED_SHAPES["CPU"]
TOKENS, HIDDEN, MLP = _CPU.tokens, _CPU.hidden, _CPU.mlp_dim
SIZES = ("random", "skewed")
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is compiled once: everything of a cell but which experts its tokens choose."""

    experts: int
    topk: int
    bench_pass: BenchPass
    dtype: DType
    tokens: int = TOKENS
    hidden: int = HIDDEN
    mlp_dim: int = MLP

    @property
    def assignments(self) -> int:
        return self.tokens * self.topk

    @property
    def flops(self) -> int:
        shape = MoeShape(
            tokens=self.tokens,
            hidden=self.hidden,
            mlp_dim=self.mlp_dim,
            experts=self.experts,
            topk=self.topk,
            shared_expert_dim=0,
        )
        return count_flops(shape, self.bench_pass, assignments=self.assignments)

    def inputs(self) -> dict[str, jax.Array]:
        """x [tokens, hidden], standard normal; w1, w3 [experts, hidden, mlp] and w2 [experts, mlp, hidden], with
        standard deviation 1 / sqrt(fan-in)."""
        shapes = {
            "x": (self.tokens, self.hidden),
            "w1": (self.experts, self.hidden, self.mlp_dim),
            "w3": (self.experts, self.hidden, self.mlp_dim),
            "w2": (self.experts, self.mlp_dim, self.hidden),
        }
        keys = jax.random.split(jax.random.key(0), len(shapes))
        return {
            name: (jax.random.normal(key, shape) * (1.0 if name == "x" else shape[1] ** -0.5)).astype(self.dtype.value)
            for key, (name, shape) in zip(keys, shapes.items(), strict=True)
        }

    def routing(self, sizes: str) -> Routing:
        """Top-k of log(share) + Gumbel noise, which draws topk distinct experts in proportion to their share.

        `random`: all shares alike; `skewed`: that of the r-th is 1 / r.
        """
        share = 1.0 / np.arange(1, self.experts + 1) if sizes == "skewed" else np.ones(self.experts)
        noise = np.random.default_rng(0).gumbel(size=(self.tokens, self.experts))
        return route(jnp.asarray(np.log(share) + noise, jnp.float32), self.topk)

    def least_bytes(self) -> int:
        """Inputs, outputs and saved activations: x, routing, weights and output; gate and up [assignments, mlp] in
        float32; in forward_backward the gradients of x and the weights."""
        width = jnp.dtype(self.dtype.value).itemsize
        x, weights = self.tokens * self.hidden, 3 * self.experts * self.hidden * self.mlp_dim
        copies = 2 if self.bench_pass is BenchPass.FORWARD_BACKWARD else 1
        routing = self.assignments * 8
        return width * (copies * (x + weights) + x) + routing + 4 * 2 * self.assignments * self.mlp_dim


def programs(cells: str, dtypes: list[str], passes: list[str]) -> Iterator[Program]:
    """`cells` are pairs experts:topk, separated by commas."""
    for dtype, pair, bench_pass in itertools.product(dtypes, cells.split(","), passes):
        experts, topk = map(int, pair.split(":"))
        yield Program(experts=experts, topk=topk, bench_pass=BenchPass(bench_pass), dtype=DType(dtype))


_UNIT = {DType.FLOAT32: 2.0**-24, DType.BFLOAT16: 2.0**-9}
_SUMS = 5
"""Matmuls one behind the other on the longest way: up, down, back through both, and the gradient of x or a weight."""


def tolerance(program: Program) -> float:
    """How far two correct programs may lie apart, as |a - b| / |b| in the norm of a row or of an expert's gradient.

    One after another a value passes at most 17 + 2 topk roundings to the dtype (products, silu and its derivative,
    results of matmuls, the sum over a token's slots, forward and back), each off by at most the unit roundoff u, and
    five sums in float32 of at most n terms. Partial sums of random terms of mean zero grow as sqrt(k), and each
    addition is off by at most u of such a sum; independent errors make that sqrt(n / 2) u of the sum's own size in the
    root mean square, for which sqrt(n) u is taken. Two programs may err to opposite sides.
    """
    longest = max(program.hidden, program.mlp_dim, program.assignments)
    roundings = 17 + 2 * program.topk
    return 2 * (roundings * _UNIT[program.dtype] + _SUMS * math.sqrt(longest) * _UNIT[DType.FLOAT32])


MOST_COMPARED = 2**26
"""Elements of an array that is compared whole."""


def compared_part(name: str, array: Any) -> Any:
    """What of an output is compared: all of it, or of the gradient of large weights the first and the last expert's.

    `array` is JAX's or torch's.
    """
    if not name.startswith("grad_w") or math.prod(array.shape) <= MOST_COMPARED:
        return array
    return array[:: max(1, array.shape[0] - 1)]


def difference(mine: Arrays, other: Arrays) -> float:
    """Largest |a - b| / |b| over rows of the output and of x's gradient, and over the experts' weight gradients.

    Infinite where only b is zero, or where a program has not the same outputs.
    """
    if mine.keys() != other.keys():
        return math.inf
    worst = 0.0
    for name, array in mine.items():
        a, b = (side.reshape(side.shape[0], -1).astype(np.float32) for side in (array, other[name]))
        apart, size = np.linalg.norm(a - b, axis=1), np.linalg.norm(b, axis=1)
        ratios = np.divide(apart, size, out=np.where(apart > 0, np.inf, 0.0), where=size > 0)
        worst = max(worst, float(ratios.max()) if np.isfinite(ratios).all() else math.inf)
    return worst


def check(name: str, mine: Arrays, reference: Arrays, allowed: float) -> float:
    """The difference of a peer to the reference.

    Raises:
        SystemExit: it is larger than `allowed`.
    """
    found = difference(mine, reference)
    if not found <= allowed:
        raise SystemExit(f"error: outputs of {name} differ by {found:.3g}, allowed is {allowed:.3g}")
    return found
