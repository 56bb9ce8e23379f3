"""Programs as the published logbooks describe them, for a compiler alone: what measured rows of these compare with.

They are not the programs of this version: their expert parallelism computes the shared expert on every device,
dispatches by indices that are prepared outside of the timed call, in a buffer of a multiple of 512 rows, and sums
across devices without JAX's types of varying values, which is an all-reduce more. Their grouped matmuls write bfloat16,
with tiles of 512 x 1024 x 1024. Where the logbooks are silent it is the plain way to write it in JAX.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas.ops.tpu.megablox import gmm
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from bench_core.aot.program import LoweredCase
from bench_core.blocks.inputs import make_routing
from bench_core.blocks.modes import QueueMode, RematMode
from bench_core.errors import UnsupportedCase
from bench_core.harness.case import Case
from bench_core.parallel.plan import SpreadPlan
from bench_core.parallel.spread import EpImpl
from bench_core.predict.scheduled import PUBLISHED_TILE
from bench_core.quant.mode import QuantMode
from bench_core.routing.capacity import CapacityPolicy
from bench_core.routing.distribution import PackStrategy
from bench_core.routing.layout import Assignments
from bench_core.shapes import BenchPass, DType
from bench_core.timing.measure import lower_program

_P: Callable[..., PartitionSpec] = PartitionSpec
_abstract: Callable[..., Any] = jax.ShapeDtypeStruct
_psum: Callable[[Any, str], Any] = jax.lax.psum


def lower_published(case: Case, devices: Sequence[jax.Device]) -> LoweredCase:
    """The program of a case of the logbooks, on one device or with expert parallelism over all.

    Raises:
        UnsupportedCase: the logbooks have no such program.
    """
    _refuse_unpublished(case)
    ep = case.parallel.spread.ep
    routing = np.asarray(make_routing(case.seed, shape=case.shape, request=case.routing).experts)
    per_device = case.shape.experts // ep
    rows = [int(((routing // per_device) == device).sum()) for device in range(ep)]
    block = _spread(case, rows, Mesh(np.array(devices[:ep]), ("ep",))) if ep > 1 else _alone(case)
    function, arguments, places = block
    function = functools.partial(_with_gradients, function) if _is_backward(case) else function
    outputs = jax.eval_shape(function, *arguments)
    here = jax.sharding.SingleDeviceSharding(devices[0])
    if places is None:
        lowered = lower_program(function, _put(arguments, here), _put(outputs, here))
    else:
        out = (places[:2], places[0]) if _is_backward(case) else places[0]
        lowered = lower_program(function, _put(arguments, places), _put(outputs, out), out)
    plan = SpreadPlan(
        spread=case.parallel.spread,
        assignments=Assignments(real=sum(rows), null=0, dropped=0, layout=None),
        rows=tuple(rows),
    )
    return LoweredCase(lowered=lowered, plan=plan, lower_s=0.0, ran="as the published logbooks describe it")


def _refuse_unpublished(case: Case) -> None:
    spread, alone = case.parallel.spread, case.parallel.spread.devices == 1
    unlike = {
        f"--backend {case.backend}": case.backend not in ("gmm", "ragged_dot"),
        f"--impl {case.impl}": case.impl != "fused_w13",
        f"--dtype {case.dtype}": case.dtype is not DType.BFLOAT16,
        "data parallelism": spread.dp > 1,
        f"--ep-impl {spread.impl}": spread.impl not in (None, EpImpl.PSUM),
        f"--capacity-policy {case.capacity.policy}": case.capacity.policy is not CapacityPolicy.NONE,
        f"--quant-mode {case.quant_mode}": case.quant_mode is not QuantMode.NONE,
        "--router inside": case.routes_inside,
        f"--programs {case.programs}": case.staged,
        "null routing on one device": alone and case.routing.null_frac > 0,
    }
    if found := [name for name, is_unlike in unlike.items() if is_unlike]:
        raise UnsupportedCase(
            f"--published has no program with {', '.join(found)}",
            cause="the logbooks describe gmm or ragged_dot with fused_w13 in bfloat16, on one device or with psum",
            hint="leave --published out",
        )


def _is_backward(case: Case) -> bool:
    return case.bench_pass is BenchPass.FORWARD_BACKWARD


def _put(tree: Any, places: Any) -> Any:
    if not isinstance(places, tuple | dict):
        return jax.tree.map(lambda leaf: _abstract(leaf.shape, leaf.dtype, sharding=places), tree)
    return jax.tree.map(lambda leaf, place: _abstract(leaf.shape, leaf.dtype, sharding=place), tree, places)


def _with_gradients(function: Callable[..., Any], x: Any, weights: Any, *dispatch: Any) -> Any:
    def loss(x: Any, weights: Any) -> Any:
        output = function(x, weights, *dispatch)
        return jnp.mean(jnp.square(output.astype(jnp.float32))), output

    gradients, output = jax.grad(loss, argnums=(0, 1), has_aux=True)(x, weights)
    return gradients, output


def _product(case: Case) -> Callable[..., Any]:
    if case.backend == "ragged_dot":
        return jax.lax.ragged_dot

    def product(rows: Any, matrices: Any, sizes: Any) -> Any:
        return gmm(
            rows,
            matrices,
            sizes,
            preferred_element_type=rows.dtype,
            tiling=(PUBLISHED_TILE.m, PUBLISHED_TILE.k, PUBLISHED_TILE.n),
        )

    return product


def _gated(both: Any) -> Any:
    gate, up = jnp.split(both, 2, axis=-1)
    return jax.nn.silu(gate) * up


def _shared(case: Case, x: Any, weights: Any) -> Any:
    if case.shape.shared_expert_dim == 0:
        return 0
    if case.shared_fused:
        hidden = _gated(x @ weights["shared_w13"])
    else:
        hidden = jax.nn.silu(x @ weights["shared_w1"]) * (x @ weights["shared_w3"])
    return hidden @ weights["shared_w2"]


def _experts(case: Case, rows: Any, weights: Any, sizes: Any) -> Any:
    product = _product(case)

    def experts(rows: Any, w13: Any, w2: Any) -> Any:
        return product(_gated(product(rows, w13, sizes)), w2, sizes)

    if case.remat_mode is RematMode.EXPERT_MLP:
        experts = jax.checkpoint(experts)
    return experts(rows, weights["w13"], weights["w2"])


def _weights(case: Case) -> dict[str, Any]:
    shape, dtype = case.shape, case.dtype.value
    sizes: dict[str, tuple[int, ...]] = {
        "w13": (shape.experts, shape.hidden, 2 * shape.mlp_dim),
        "w2": (shape.experts, shape.mlp_dim, shape.hidden),
    }
    if shared := shape.shared_expert_dim:
        sizes["shared_w2"] = (shared, shape.hidden)
        up = {"shared_w13": 2 * shared} if case.shared_fused else {"shared_w1": shared, "shared_w3": shared}
        sizes |= {name: (shape.hidden, width) for name, width in up.items()}
    return {name: _abstract(size, dtype) for name, size in sizes.items()}


def _alone(case: Case) -> tuple[Callable[..., Any], tuple[Any, ...], None]:
    shape = case.shape
    prequeued = case.queue_mode is QueueMode.PREQUEUE

    def sort(experts: Any) -> tuple[Any, Any]:
        flat = experts.reshape(-1)
        if case.pack_strategy is PackStrategy.ARGSORT:
            order = jnp.argsort(flat)
        else:
            _, order = jax.lax.sort((flat, jnp.arange(flat.size)), num_keys=1)
        return order, jnp.bincount(flat, length=shape.experts).astype(jnp.int32)

    def combine(out: Any, order: Any, scale: Any) -> Any:
        back = jnp.argsort(order)
        return jnp.sum(out[back].reshape(shape.tokens, shape.topk, -1) * scale[..., None].astype(out.dtype), axis=1)

    def block(x: Any, weights: Any, experts: Any, scale: Any, *queue: Any) -> Any:
        order, sizes = queue if prequeued else sort(experts)
        out = _experts(case, x[order // shape.topk], weights, sizes)
        return combine(out, order, scale) + _shared(case, x, weights)

    slots = (shape.tokens, shape.topk)
    routing = (_abstract(slots, jnp.int32), _abstract(slots, case.dtype.value))
    queue = (_abstract((shape.assignments,), jnp.int32), _abstract((shape.experts,), jnp.int32)) if prequeued else ()
    x = _abstract((shape.tokens, shape.hidden), case.dtype.value)
    return block, (x, _weights(case), *routing, *queue), None


def _spread(case: Case, rows: Sequence[int], mesh: Mesh) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
    shape = case.shape
    capacity = -(-max(rows) // PUBLISHED_TILE.m) * PUBLISHED_TILE.m

    def local(x: Any, w13: Any, w2: Any, token: Any, scale: Any, sizes: Any) -> Any:
        out = _experts(case, x[token[0]], {"w13": w13, "w2": w2}, sizes[0])
        scaled = out * scale[0][:, None]
        combine = _combine(x.shape)
        combine = jax.checkpoint(combine) if case.remat_mode is RematMode.COMBINE else combine
        return _psum(combine(scaled, token[0]), "ep")

    experts = _P("ep")
    spread: Callable[..., Any] = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(_P(), experts, experts, experts, experts, experts),
        out_specs=_P(),
        check_vma=False,
    )

    def block(x: Any, weights: Any, token: Any, scale: Any, sizes: Any) -> Any:
        return spread(x, weights["w13"], weights["w2"], token, scale, sizes) + _shared(case, x, weights)

    devices = len(rows)
    dispatch = (
        _abstract((devices, capacity), jnp.int32),
        _abstract((devices, capacity), case.dtype.value),
        _abstract((devices, shape.experts // devices), jnp.int32),
    )
    weights = _weights(case)
    apart, everywhere = NamedSharding(mesh, experts), NamedSharding(mesh, _P())
    weight_places = {name: everywhere if name.startswith("shared") else apart for name in weights}
    x = _abstract((shape.tokens, shape.hidden), case.dtype.value)
    return block, (x, weights, *dispatch), (everywhere, weight_places, apart, apart, apart)


def _combine(shape: tuple[int, ...]) -> Callable[[Any, Any], Any]:
    def combine(rows: Any, token: Any) -> Any:
        return jnp.zeros(shape, rows.dtype).at[token].add(rows)

    return combine


def moved_bytes(case: Case) -> int:
    """Bytes that leave the first chip in every call of an expert-parallel case: in the logbooks all arguments lie there
    before it, and each other chip gets its experts and a copy of the rest."""
    ep, unit = case.parallel.spread.ep, 2
    if ep == 1:
        return 0
    sizes = {name: int(np.prod(leaf.shape)) * unit for name, leaf in _weights(case).items()}
    apart = sum(size for name, size in sizes.items() if not name.startswith("shared"))
    everywhere = sum(size for name, size in sizes.items() if name.startswith("shared"))
    everywhere += case.shape.tokens * case.shape.hidden * unit
    return (ep - 1) * everywhere + (ep - 1) * apart // ep
