"""Small problems with awkward routings, shared by several test modules."""

import functools
from dataclasses import replace

import jax.numpy as jnp
import numpy as np

from bench_core.blocks.bounded import Bounded, BoundedMath
from bench_core.blocks.inputs import BlockInputs, make_inputs
from bench_core.blocks.modes import IMPLS
from bench_core.blocks.moe import BlockSpec, store_weights
from bench_core.blocks.oracle import Oracle
from bench_core.blocks.program import canonical_outputs, one_device, pass_function
from bench_core.gmm.base import FLOAT32_ACCUMULATION, GroupedMatmul
from bench_core.gmm.registry import BACKENDS
from bench_core.harness.check import host_inputs
from bench_core.parallel.plan import Buckets
from bench_core.routing.layout import plan_assignments
from bench_core.routing.request import UNLIMITED, Capacity, RoutingRequest
from bench_core.routing.topk import Routing
from bench_core.shapes import BenchPass, DType, MoeShape, QuantMode
from bench_core.timing.measure import call, compile_program
from tests.breadth import examples

COMPILES = examples(25)
"""For properties of JAX code: the first example also compiles it."""

ODD = MoeShape(tokens=13, hidden=11, mlp_dim=7, experts=5, topk=2, shared_expert_dim=3)


def inputs_of(shape: MoeShape, dtype: DType, seed: int = 0, request: RoutingRequest | None = None) -> BlockInputs:
    return make_inputs(seed, shape=shape, dtype=dtype, request=request or RoutingRequest())


def with_experts(inputs: BlockInputs, experts: np.ndarray) -> BlockInputs:
    """The same inputs, with the experts chosen by hand."""
    routing = Routing(experts=jnp.asarray(experts, jnp.int32), weights=inputs.routing.weights)
    return BlockInputs(x=inputs.x, weights=inputs.weights, routing=routing)


@functools.cache
def _compiled(dtype: DType, spec: BlockSpec, bench_pass: BenchPass, shape: MoeShape):
    return compile_program(pass_function(one_device(spec), bench_pass), _arguments(inputs_of(shape, dtype), spec))


def _arguments(inputs: BlockInputs, spec: BlockSpec):
    stored = store_weights(inputs.weights, spec.impl, shared_fused=spec.shared_fused)
    return inputs.x, stored, inputs.routing


def outputs_of(
    inputs: BlockInputs,
    shape: MoeShape,
    dtype: DType,
    impl: str,
    quant_mode: QuantMode,
    bench_pass: BenchPass = BenchPass.FORWARD_BACKWARD,
    *,
    capacity: Capacity = UNLIMITED,
    **options: object,
) -> dict[str, np.ndarray]:
    """What the compiled block computes; one compilation per configuration, whatever the routing."""
    assignments = plan_assignments(np.asarray(inputs.routing.experts), experts=shape.experts, capacity=capacity)
    backend = BACKENDS["ragged_dot"].load(platform="cpu")
    layout = assignments.layout
    # A backend compares by identity; one instance makes equal specs.
    spec = BlockSpec(backend=_shared(backend), impl=IMPLS[impl], quant_mode=quant_mode, layout=layout, **options)
    program = replace(_compiled(dtype, spec, bench_pass, shape), arguments=_arguments(inputs, spec))
    outputs = canonical_outputs(call(program).outputs)
    return {name: np.asarray(array) for name, array in outputs.items()}


_INSTANCES: dict[type, GroupedMatmul] = {}


def _shared(backend: GroupedMatmul) -> GroupedMatmul:
    return _INSTANCES.setdefault(type(backend), backend)


def expected_of(
    inputs: BlockInputs,
    dtype: DType,
    quant_mode: QuantMode,
    bench_pass: BenchPass = BenchPass.FORWARD_BACKWARD,
    *,
    capacity: Capacity = UNLIMITED,
) -> dict[str, Bounded]:
    math = BoundedMath(arithmetic=FLOAT32_ACCUMULATION, dtype=dtype)
    oracle = Oracle(math=math, quant_mode=quant_mode)
    experts = inputs.weights["w2"].shape[0]
    rows = capacity.per_expert(assignments=inputs.routing.experts.size, experts=experts)
    of = np.asarray(inputs.routing.experts, np.int64)
    buckets = None if rows is None else Buckets(of=of, capacity=rows, per="expert")
    return oracle.expected(host_inputs(inputs, buckets), bench_pass)
