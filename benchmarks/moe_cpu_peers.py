"""The peers of `moe_cpu.py` that are made with JAX: this project's block, and a dense limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from moe_cpu_cells import HIDDEN, MLP, Arrays, Program

from bench_core.blocks.impls import IMPLS
from bench_core.blocks.moe import BlockSpec, store_weights
from bench_core.blocks.program import canonical_outputs, one_device, pass_function
from bench_core.gmm.dense import DenseMatmul
from bench_core.gmm.registry import BACKENDS
from bench_core.quant.mode import QuantMode
from bench_core.routing.topk import Routing
from bench_core.shapes import BenchPass
from bench_core.timing.memory import program_memory

OURS = "tiled fused_w13"
"""Every ratio is taken to this peer."""
AGAIN = "tiled again"
"""The same compiled program once more."""
BLOCKS = {
    OURS: ("tiled", "fused_w13"),
    "tiled baseline": ("tiled", "baseline"),
    "ragged_dot": ("ragged_dot", "fused_w13"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """`run` takes the routing's name, makes one call and waits for its outputs; `arrays` turns these into NumPy's.

    `compiled` holds seconds and bytes of the compiled program. A limit computes something else and is not compared.
    """

    run: Callable[[str], Any]
    arrays: Callable[[Any], Arrays] | None
    compiled: dict[str, Any] = field(default_factory=dict)

    def outputs(self, sizes: str) -> Arrays:
        """Those of one call; only of a peer that has `arrays`."""
        assert self.arrays is not None
        return self.arrays(self.run(sizes))

    def timed(self, sizes: str) -> tuple[Any, float, float]:
        """Outputs, wall time and processor time of one call."""
        wall, processor = time.perf_counter(), time.process_time()
        outputs = self.run(sizes)
        return outputs, time.perf_counter() - wall, time.process_time() - processor


def _compiled(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, dict[str, Any]]:
    began = time.perf_counter()
    lowered = jax.jit(function).lower(*arguments)
    lowered_at = time.perf_counter()
    compiled = lowered.compile()
    facts: dict[str, Any] = {"lower_s": lowered_at - began, "compile_s": time.perf_counter() - lowered_at}
    memory = program_memory(compiled)
    return compiled, facts | {"bytes": None if memory is None else asdict(memory) | {"total": memory.total}}


def block_peer(name: str, program: Program, inputs: dict[str, jax.Array], routings: dict[str, Routing]) -> Peer:
    """The function that `bench-core hillclimb` times. Unlike there each call allocates its outputs, as torch does."""
    backend, impl = BLOCKS[name]
    spec = BlockSpec(backend=BACKENDS[backend].load(platform="cpu"), impl=IMPLS[impl], quant_mode=QuantMode.NONE)
    stored = store_weights({name: array for name, array in inputs.items() if name != "x"}, spec.impl)
    compiled, facts = _compiled(
        pass_function(one_device(spec), program.bench_pass), (inputs["x"], stored, next(iter(routings.values())))
    )

    def run(sizes: str) -> Any:
        return jax.block_until_ready(compiled(inputs["x"], stored, routings[sizes]))

    def arrays(outputs: dict[str, jax.Array]) -> Arrays:
        named = canonical_outputs(outputs)
        return {name: np.asarray(array, np.float32) for name, array in named.items() if name != "loss"}

    return Peer(run=run, arrays=arrays, compiled=facts)


def dense_peer(program: Program) -> Peer:
    """The matmuls of the block as dense ones of the same FLOPs: all rows times one matrix, nothing between them."""
    dense, rows = DenseMatmul(), program.assignments
    shapes = {
        "x": (rows, HIDDEN),
        "hidden": (rows, MLP),
        "grad_up": (rows, 2 * MLP),
        "grad_out": (rows, HIDDEN),
        "w13": (1, HIDDEN, 2 * MLP),
        "w2": (1, MLP, HIDDEN),
    }
    keys = jax.random.split(jax.random.key(1), len(shapes))
    named = {
        name: jax.random.normal(key, shape, jnp.float32).astype(program.dtype.value)
        for key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }

    def products(a: dict[str, jax.Array]) -> list[jax.Array]:
        made, sizes = [], jnp.array([rows], jnp.int32)
        for lhs, rhs, cotangent in (("x", "w13", "grad_up"), ("hidden", "w2", "grad_out")):
            made.append(dense.forward(a[lhs], a[rhs], sizes))
            if program.bench_pass is BenchPass.FORWARD_BACKWARD:
                made.append(dense.grad_lhs(a[cotangent], a[rhs], sizes))
                made.append(dense.grad_rhs(a[lhs], a[cotangent], sizes))
        return made

    compiled, facts = _compiled(products, (named,))
    return Peer(run=lambda _: jax.block_until_ready(compiled(named)), arrays=None, compiled=facts)
