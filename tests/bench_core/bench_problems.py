"""Small problems with awkward routings, shared by several test modules."""

import functools

import jax.numpy as jnp
import numpy as np
from hypothesis import settings

from bench_core.blocks.bounded import Bounded, BoundedMath
from bench_core.blocks.impls import IMPLS
from bench_core.blocks.inputs import BlockInputs, make_inputs
from bench_core.blocks.moe import BlockSpec, store_weights
from bench_core.blocks.oracle import Oracle
from bench_core.blocks.program import canonical_outputs, pass_function
from bench_core.gmm.arithmetic import FLOAT32_ACCUMULATION
from bench_core.gmm.registry import BACKENDS
from bench_core.harness.check import host_inputs
from bench_core.quant.mode import QuantMode
from bench_core.routing.distribution import Distribution
from bench_core.routing.topk import Routing
from bench_core.shapes import BenchPass, DType, MoeShape
from bench_core.timing.measure import call, compile_program

COMPILES = settings(deadline=None, max_examples=25)
"""For properties of JAX code: the first example also compiles it."""

ODD = MoeShape(tokens=13, hidden=11, mlp_dim=7, experts=5, topk=2, shared_expert_dim=3)


def inputs_of(shape: MoeShape, dtype: DType, seed: int = 0) -> BlockInputs:
    return make_inputs(seed, shape=shape, dtype=dtype, distribution=Distribution.RANDOM)


def with_experts(inputs: BlockInputs, experts: np.ndarray) -> BlockInputs:
    """The same inputs, with the experts chosen by hand."""
    routing = Routing(experts=jnp.asarray(experts, jnp.int32), weights=inputs.routing.weights)
    return BlockInputs(x=inputs.x, weights=inputs.weights, routing=routing)


@functools.cache
def _compiled(shape: MoeShape, dtype: DType, impl: str, quant_mode: QuantMode, bench_pass: BenchPass):
    spec = BlockSpec(backend=BACKENDS["ragged_dot"].load(), impl=IMPLS[impl], quant_mode=quant_mode)
    inputs = inputs_of(shape, dtype)
    arguments = (inputs.x, store_weights(inputs.weights, IMPLS[impl]), inputs.routing)
    return compile_program(pass_function(spec, bench_pass), arguments)


def outputs_of(
    inputs: BlockInputs,
    shape: MoeShape,
    dtype: DType,
    impl: str,
    quant_mode: QuantMode,
    bench_pass: BenchPass = BenchPass.FORWARD_BACKWARD,
) -> dict[str, np.ndarray]:
    """What the compiled block computes; one compilation per configuration, whatever the routing."""
    program = _compiled(shape, dtype, impl, quant_mode, bench_pass)
    arguments = (inputs.x, store_weights(inputs.weights, IMPLS[impl]), inputs.routing)
    outputs = call(type(program)(**_fields(program) | {"arguments": arguments})).outputs
    return {name: np.asarray(array) for name, array in canonical_outputs(outputs).items()}


def _fields(program) -> dict[str, object]:
    return {name: getattr(program, name) for name in program.__dataclass_fields__}


def expected_of(
    inputs: BlockInputs,
    dtype: DType,
    quant_mode: QuantMode,
    bench_pass: BenchPass = BenchPass.FORWARD_BACKWARD,
) -> dict[str, Bounded]:
    math = BoundedMath(arithmetic=FLOAT32_ACCUMULATION, dtype=dtype)
    return Oracle(math=math, quant_mode=quant_mode).expected(host_inputs(inputs), bench_pass)
