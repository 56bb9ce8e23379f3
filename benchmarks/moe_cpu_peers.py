"""The peers of `moe_cpu.py` and `moe_gpu.py` that are made with JAX: this project's block, and a dense limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from moe_cpu_cells import Arrays, Program, compared_part

from bench_core.blocks.modes import IMPLS
from bench_core.blocks.moe import BlockSpec, store_weights
from bench_core.blocks.program import canonical_outputs, one_device, pass_function
from bench_core.gmm.base import DenseMatmul
from bench_core.gmm.registry import BACKENDS
from bench_core.routing.topk import Routing
from bench_core.shapes import BenchPass, DType, QuantMode
from bench_core.timing.compiling import program_memory

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
    """`start` takes the routing's name, starts a call and gives its outputs; `wait` waits for them and gives them back;
    `arrays` turns them into NumPy's.

    `compiled` holds seconds and bytes of the compiled program. A limit computes something else and is not compared.
    """

    start: Callable[[str], Any]
    wait: Callable[[Any], Any]
    arrays: Callable[[Any], Arrays] | None
    compiled: dict[str, Any] = field(default_factory=dict)

    def run(self, sizes: str) -> Any:
        """One call, and its outputs."""
        return self.wait(self.start(sizes))

    def outputs(self, sizes: str) -> Arrays:
        """Those of one call; only of a peer that has `arrays`."""
        assert self.arrays is not None
        return self.arrays(self.run(sizes))

    def timed(self, sizes: str, calls: int = 1) -> tuple[Any, float, float]:
        """Outputs of the last of so many calls, one behind the other, and wall and processor time of one call."""
        wall, processor = time.perf_counter(), time.process_time()
        for _ in range(calls):
            outputs = self.start(sizes)
        outputs = self.wait(outputs)
        return outputs, (time.perf_counter() - wall) / calls, (time.process_time() - processor) / calls


def compiled_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, dict[str, Any]]:
    began = time.perf_counter()
    lowered = jax.jit(function).lower(*arguments)
    lowered_at = time.perf_counter()
    compiled = lowered.compile()
    facts: dict[str, Any] = {"lower_s": lowered_at - began, "compile_s": time.perf_counter() - lowered_at}
    memory = program_memory(compiled)
    return compiled, facts | {"bytes": None if memory is None else asdict(memory) | {"total": memory.total}}


def cpu_peer(name: str, program: Program, inputs: dict[str, jax.Array], routings: dict[str, Routing]) -> Peer:
    """A peer in `BLOCKS`."""
    backend, impl = BLOCKS[name]
    spec = BlockSpec(backend=BACKENDS[backend].load(platform="cpu"), impl=IMPLS[impl], quant_mode=QuantMode.NONE)
    stored = store_weights({name: array for name, array in inputs.items() if name != "x"}, spec.impl)
    return block_peer(spec, program, inputs["x"], stored, routings)


def block_peer(
    spec: BlockSpec,
    program: Program,
    x: jax.Array,
    stored: dict[str, jax.Array],
    routings: dict[str, Routing],
) -> Peer:
    """The function that `bench-core hillclimb` times, of weights as `spec` stores them. Unlike there each call
    allocates its outputs, as torch does."""
    compiled, facts = compiled_of(
        pass_function(one_device(spec), program.bench_pass), (x, stored, next(iter(routings.values())))
    )

    def start(sizes: str) -> Any:
        return compiled(x, stored, routings[sizes])

    def arrays(outputs: dict[str, jax.Array]) -> Arrays:
        named = canonical_outputs(outputs)
        compared = {name: compared_part(name, array) for name, array in named.items() if name != "loss"}
        return {name: np.asarray(array, np.float32) for name, array in compared.items()}

    return Peer(start=start, wait=jax.block_until_ready, arrays=arrays, compiled=facts)


def dense_peer(program: Program, dtype: DType = DType.FLOAT32) -> Peer:
    """The matmuls of the block as dense ones of the same FLOPs: all rows times one matrix, nothing between them.

    Sums are float32, and results are rounded to `dtype`.
    """
    dense, rows = DenseMatmul(), program.assignments
    shapes = {
        "x": (rows, program.hidden),
        "hidden": (rows, program.mlp_dim),
        "grad_up": (rows, 2 * program.mlp_dim),
        "grad_out": (rows, program.hidden),
        "w13": (1, program.hidden, 2 * program.mlp_dim),
        "w2": (1, program.mlp_dim, program.hidden),
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
        return [result.astype(dtype.value) for result in made]

    compiled, facts = compiled_of(products, (named,))
    return Peer(start=lambda _: compiled(named), wait=jax.block_until_ready, arrays=None, compiled=facts)
