"""The peers of `moe_gpu.py`: this project's kernels and what else multiplies groups on a GPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from moe_cpu_cells import Arrays, Program
from moe_cpu_peers import Peer, block_peer, compiled_of, dense_peer
from moe_cpu_torch import torch_peer

from bench_core.blocks.modes import IMPLS
from bench_core.blocks.moe import BlockSpec, store_weights
from bench_core.gmm.base import FLOAT32_ACCUMULATION, Arithmetic, DenseMatmul, GroupedMatmul, MatmulRequest
from bench_core.gmm.pallas_gpu_tiles import Blocks
from bench_core.gmm.ragged_dot import ragged_dimensions
from bench_core.gmm.registry import BACKENDS
from bench_core.routing.topk import Routing
from bench_core.shapes import DType, QuantMode

OURS = "pallas_gpu"
"""Every ratio is taken to this peer."""
AGAIN = "pallas_gpu again"
DENSE = "dense"
"""The limit: results in float32, as every backend gives them."""
DENSE_NARROW = "dense bfloat16"
"""The same, with results in bfloat16, as torch gives them."""
TORCH = "torch grouped_mm"
TOKAMAX = {"tokamax triton": "triton", "tokamax mosaic": "mosaic"}
RAGGED = "ragged_dot"
FAILURES = (RuntimeError, NotImplementedError, ValueError, TypeError)
"""How a peer says that it cannot compute a case here: XLA and torch by a RuntimeError, tokamax by any of the others."""
Peers = dict[str, Peer]
Missing = dict[str, str]


class Tokamax(GroupedMatmul):
    """tokamax's ragged_dot_general by one of its implementations; none in its place where that one cannot."""

    name: ClassVar[str] = "tokamax"
    summary: ClassVar[str] = "tokamax.ragged_dot_general"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION

    def __init__(self, module: Any, implementation: str) -> None:
        self._module = module
        self._implementation = implementation

    def refusal(self, request: MatmulRequest) -> str | None:
        return None

    def _product(self, lhs: jax.Array, rhs: jax.Array, group_sizes: jax.Array, dimensions: Any) -> jax.Array:
        return self._module.ragged_dot_general(
            lhs,
            rhs,
            group_sizes,
            ragged_dot_dimension_numbers=dimensions,
            preferred_element_type=jnp.float32,
            implementation=self._implementation,
        )

    def forward(self, lhs: jax.Array, rhs: jax.Array, group_sizes: jax.Array) -> jax.Array:
        return self._product(lhs, rhs, group_sizes, ragged_dimensions(1, 1, grouped_rhs=True))

    def grad_lhs(self, cotangent: jax.Array, rhs: jax.Array, group_sizes: jax.Array) -> jax.Array:
        return self._product(cotangent, rhs, group_sizes, ragged_dimensions(1, 2, grouped_rhs=True))

    def grad_rhs(self, lhs: jax.Array, cotangent: jax.Array, group_sizes: jax.Array) -> jax.Array:
        return self._product(lhs, cotangent, group_sizes, ragged_dimensions(0, 0, grouped_rhs=False))


def load_tokamax() -> tuple[Any, str | None]:
    """The module tokamax, or why there is none."""
    try:
        return importlib.import_module("tokamax"), None
    except ImportError as error:
        return None, f"tokamax cannot be imported here ({error}): scripts/bench_gpu makes .venv-gpu with it"


def backends_of(platform: str, tokamax: Any, blocks: Sequence[Blocks]) -> dict[str, GroupedMatmul]:
    """Grouped matmuls by the peer's name. `blocks`: further tiles of the own kernels, each a peer."""
    own: Any = BACKENDS["pallas_gpu"].load(platform=platform)
    found: dict[str, GroupedMatmul] = {OURS: own}
    for one in blocks:
        found[f"{OURS} {one.m},{one.n},{one.k},{one.warps},{one.stages}"] = replace(own, blocks=one)
    found[RAGGED] = BACKENDS["ragged_dot"].load(platform=platform)
    if tokamax is not None:
        found |= {name: Tokamax(tokamax, implementation) for name, implementation in TOKAMAX.items()}
    return found


def reason(error: Exception) -> str:
    """Why a peer is missing, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def made(wanted: dict[str, Callable[[], Peer]]) -> tuple[Peers, Missing]:
    """The peers that can be made, and why the others cannot."""
    peers: Peers = {}
    missing: Missing = {}
    for name, make in wanted.items():
        try:
            peers[name] = make()
        except FAILURES as error:
            missing[name] = reason(error)
    if OURS in peers:
        peers[AGAIN] = peers[OURS]
    return peers, missing


def block_peers(
    program: Program, routings: dict[str, Routing], backends: dict[str, GroupedMatmul], torch: Any, device: str
) -> tuple[Peers, Missing]:
    """The whole block: w1 and w3 side by side, and the own one apart too."""
    inputs = program.inputs()
    weights = {name: array for name, array in inputs.items() if name != "x"}
    stored = {impl: store_weights(weights, IMPLS[impl]) for impl in ("fused_w13", "baseline")}

    def block(backend: GroupedMatmul, impl: str) -> Peer:
        spec = BlockSpec(backend=backend, impl=IMPLS[impl], quant_mode=QuantMode.NONE)
        return block_peer(spec, program, inputs["x"], stored[impl], routings)

    wanted: dict[str, Callable[[], Peer]] = {
        name: lambda backend=backend: block(backend, "fused_w13") for name, backend in backends.items()
    }
    wanted[f"{OURS} baseline"] = lambda: block(backends[OURS], "baseline")
    wanted |= _limits(program)
    if torch is not None:
        wanted[TORCH] = lambda: torch_peer(torch, TORCH, program, inputs, routings, device)
    return made(wanted)


def _limits(program: Program) -> dict[str, Callable[[], Peer]]:
    return {DENSE: lambda: dense_peer(program), DENSE_NARROW: lambda: dense_peer(program, DType.BFLOAT16)}


PRODUCTS = ("up", "up grad_lhs", "up grad_rhs", "down", "down grad_lhs", "down grad_rhs")
"""[rows, hidden] by w1 | w3 and [rows, mlp] by w2, and both gradients of each."""
_COMPARED_ROWS = 64


def product_flops(program: Program, product: str) -> int:
    return 2 * program.assignments * program.hidden * program.mlp_dim * (2 if product.startswith("up") else 1)


def product_peers(
    program: Program,
    product: str,
    routings: dict[str, Routing],
    backends: dict[str, GroupedMatmul],
    torch: Any,
    device: str,
) -> tuple[Peers, Missing]:
    """One grouped product alone, of operands that are sorted."""
    side, _, gradient = product.partition(" ")
    inner, outer = (program.hidden, 2 * program.mlp_dim) if side == "up" else (program.mlp_dim, program.hidden)
    rows, experts = program.assignments, program.experts
    shapes = {"lhs": (rows, inner), "rhs": (experts, inner, outer), "cotangent": (rows, outer)}
    names = {"": ("lhs", "rhs"), "grad_lhs": ("cotangent", "rhs"), "grad_rhs": ("lhs", "cotangent")}[gradient]
    keys = dict(zip(shapes, jax.random.split(jax.random.key(2), len(shapes)), strict=True))
    pair = [jax.random.normal(keys[n], shapes[n], jnp.float32).astype(program.dtype.value) for n in names]
    sizes = {
        word: jnp.asarray(np.bincount(np.asarray(routing.experts).reshape(-1), minlength=experts), jnp.int32)
        for word, routing in routings.items()
    }
    first = next(iter(sizes.values()))

    def of(backend: GroupedMatmul) -> Peer:
        compiled, facts = compiled_of(getattr(backend, gradient or "forward"), (*pair, first))
        start = lambda word: compiled(*pair, sizes[word])  # noqa: E731
        return Peer(start=start, wait=jax.block_until_ready, arrays=_jax_part, compiled=facts)

    def dense(dtype: DType) -> Peer:
        method = getattr(DenseMatmul(), gradient or "forward")
        one = [operand[:1] if operand.ndim == 3 else operand for operand in pair]
        total = jnp.array([rows], jnp.int32)
        compiled, facts = compiled_of(lambda *arguments: method(*arguments).astype(dtype.value), (*one, total))
        return Peer(start=lambda _: compiled(*one, total), wait=jax.block_until_ready, arrays=None, compiled=facts)

    wanted: dict[str, Callable[[], Peer]] = {
        name: lambda backend=backend: of(backend) for name, backend in backends.items()
    }
    wanted[DENSE], wanted[DENSE_NARROW] = lambda: dense(DType.FLOAT32), lambda: dense(DType.BFLOAT16)
    if torch is not None:
        wanted[TORCH] = lambda: _torch_product(torch, gradient, pair, sizes, program, device)
    return made(wanted)


def _jax_part(result: jax.Array) -> Arrays:
    """Some rows of the result, or some matrices."""
    return {"result": np.asarray(result[:: max(1, result.shape[0] // _COMPARED_ROWS)], np.float32)}


def _torch_product(
    torch: Any, gradient: str, pair: list[jax.Array], sizes: dict[str, jax.Array], program: Program, device: str
) -> Peer:
    dtype = getattr(torch, program.dtype.value)
    functional = torch.nn.functional
    grouped_mm = functional.grouped_mm if hasattr(functional, "grouped_mm") else torch._grouped_mm
    left, right = (torch.from_numpy(np.asarray(operand, np.float32)).to(device, dtype) for operand in pair)
    if gradient == "grad_lhs":
        right = right.transpose(-2, -1)
    if gradient == "grad_rhs":
        left = left.t()
    ends = {
        word: torch.from_numpy(np.cumsum(np.asarray(own)).astype(np.int32)).to(device) for word, own in sizes.items()
    }

    def start(word: str) -> Any:
        with torch.no_grad():
            return grouped_mm(left, right, offs=ends[word])

    def wait(result: Any) -> Any:
        if device != "cpu":
            torch.cuda.synchronize()
        return result

    def arrays(result: Any) -> Arrays:
        return {"result": result[:: max(1, result.shape[0] // _COMPARED_ROWS)].float().cpu().numpy()}

    peer = Peer(start=start, wait=wait, arrays=arrays)
    peer.run(next(iter(sizes)))
    return peer
