"""The functions that are compiled and timed, one per pass."""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float, Sums
from bench_core.blocks.moe import BlockSpec, Queue, Weights, moe_block, pack, routed_inside, split_fused
from bench_core.quant import sum_dtype
from bench_core.routing.topk import RouterInput, Routing
from bench_core.shapes import BenchPass

PassFunction = Callable[..., dict[str, Array]]
"""(x, stored weights, routing or logits) -> named outputs; forward takes a queue as a fourth argument."""


Block = Callable[..., Array]
"""(x, stored weights, routing or logits) -> output; it may take a queue as a fourth argument."""


def mean_square(output: Float[Array, "tokens hidden"], tokens: int | None = None) -> Sums[Array, ""]:
    """The loss of the training pass: the mean of squares, in `sum_dtype`. `tokens`: the others are zeros that were
    added."""
    squares = jnp.square(output.astype(sum_dtype(output.dtype)))
    return jnp.mean(squares) if tokens in (None, output.shape[0]) else jnp.sum(squares) / (tokens * output.shape[1])


def one_device(spec: BlockSpec) -> Block:
    """The block on one device."""
    return lambda x, weights, routing, queue=None: moe_block(x, weights, routing, spec, queue)


def routing_inside(spec: BlockSpec, topk: int, *, padded: bool = False) -> Block:
    """The block on one device, of router logits. `padded`: tokens may have been added (see `route_padded`)."""

    def block(x: Array, weights: Weights, logits: Array) -> Array:
        return moe_block(x, weights, routed_inside(x, weights, logits, topk, padded=padded), spec)

    return block


def pass_function(block: Block, bench_pass: BenchPass, tokens: int | None = None) -> PassFunction:
    """The function of one timed call. `tokens`: see `mean_square`.

    forward gives `output`; the others give `output`, `loss`, `grad_x` and `grad_<weight>` for every stored weight, of
    which the router is one in train. The output is returned there too: the loss's gradient keeps it alive in any case,
    and the check wants it. With a queue (see `prepare_queue`), forward leaves sorting and dispatch out.
    """

    def forward(x: Array, weights: Weights, routing: RouterInput, queue: Queue | None = None) -> dict[str, Array]:
        return {"output": block(x, weights, routing) if queue is None else block(x, weights, routing, queue)}

    def loss(x: Array, weights: Weights, routing: RouterInput) -> tuple[Array, Array]:
        output = block(x, weights, routing)
        return mean_square(output, tokens), output

    def forward_backward(x: Array, weights: Weights, routing: RouterInput) -> dict[str, Array]:
        differentiate = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)
        (value, output), (grad_x, grad_weights) = differentiate(x, weights, routing)
        gradients = {f"grad_{name}": gradient for name, gradient in grad_weights.items()}
        return {"output": output, "loss": value, "grad_x": grad_x, **gradients}

    return forward_backward if bench_pass.backward else forward


def prepare_queue(x: Float[Array, "tokens hidden"], routing: Routing, experts: int, spec: BlockSpec) -> Queue:
    """The dispatch of x, outside of any timed function. Rows are not quantised: that stays in the timed part."""
    return jax.jit(lambda x, routing: pack(x, routing, experts, spec))(x, routing)


def canonical_outputs(outputs: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs under the names of the unfused weights, so that one oracle serves every implementation."""
    gradients = {name.removeprefix("grad_"): array for name, array in outputs.items() if name.startswith("grad_")}
    rest = {name: array for name, array in outputs.items() if not name.startswith("grad_")}
    return rest | {f"grad_{name}": array for name, array in split_fused(gradients).items()}
