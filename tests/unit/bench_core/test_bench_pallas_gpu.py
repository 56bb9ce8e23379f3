"""The Pallas kernels for GPUs: in interpret mode against float64, and lowered for CUDA, which needs no GPU."""

import functools
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import export
from jax.sharding import AbstractDevice, AbstractMesh, AxisType, use_abstract_mesh

from bench_core.blocks.inputs import BlockInputs
from bench_core.blocks.modes import IMPLS
from bench_core.blocks.moe import BlockSpec, store_weights
from bench_core.blocks.program import canonical_outputs, one_device, pass_function
from bench_core.gmm.base import GroupedMatmul
from bench_core.gmm.pallas_gpu import DEFAULT_BLOCKS, PallasGpu
from bench_core.gmm.pallas_gpu_tiles import SMALLEST, Blocks, row_tiles
from bench_core.gmm.registry import BACKENDS, default_backends
from bench_core.harness.backend import with_default_backend
from bench_core.harness.case import Case
from bench_core.harness.check import compare
from bench_core.routing.request import RoutingRequest
from bench_core.shapes import TIMED_DTYPES, BenchPass, DType, MoeShape, QuantMode
from tests.unit.bench_core import gmm_contract as contract
from tests.unit.bench_core.bench_problems import expected_of, inputs_of, with_experts

SMALL = Blocks(m=16, n=16, k=16, warps=4, stages=2)
"""Of these a small problem has several in every direction."""
GPU = BACKENDS["pallas_gpu"].load(platform="gpu")
TRITON = "__gpu$xla.gpu.triton"


@pytest.mark.slow
class TestPallasGpu(contract.KernelContract):
    backend: ClassVar[GroupedMatmul] = BACKENDS["pallas_gpu"].load(platform="cpu")

    @pytest.mark.parametrize("dtype", TIMED_DTYPES)
    @pytest.mark.sample(1)
    def test_several_tiles_of_every_side_and_a_rest(self, dtype: DType) -> None:
        """More tiles of rows than are computed in one band."""
        backend = PallasGpu(interpret=True, blocks=SMALL)
        shapes, sizes = ((190, 40), (4, 40, 50), (190, 50)), (9, 0, 160, 21)
        operands = contract.drawn(5, shapes, dtype)
        outputs = contract.computed(backend, operands, sizes)
        assert compare(outputs, contract.expected(backend, operands, sizes)).passed


_SIZES = st.lists(st.integers(0, 60), min_size=5, max_size=5).filter(lambda sizes: sum(sizes) <= 100)
_tiles = jax.jit(lambda sizes: row_tiles(sizes, 100, 16))


@pytest.mark.slow
@given(sizes=_SIZES)
def test_every_row_is_in_one_tile_of_its_group(sizes: list[int]) -> None:
    group, start, end = map(np.asarray, _tiles(jnp.array(sizes, jnp.int32)))
    found = [
        (row, int(g))
        for g, first, stop in zip(group, start, end, strict=True)
        for row in range(first, min(first + 16, stop))
    ]
    owners = np.repeat(np.arange(6), [*sizes, 100 - sum(sizes)])
    assert sorted(found) == list(enumerate(owners))


def test_blocks_shrink_to_a_small_product() -> None:
    assert SMALL.within(m=1, n=1, k=1) == SMALL
    own = DEFAULT_BLOCKS[DType.BFLOAT16].within(m=700, n=19, k=33)
    assert (own.m, own.n, own.k) == (128, 32, 64)
    for blocks in DEFAULT_BLOCKS.values():
        for size in (blocks.m, blocks.n, blocks.k):
            assert size & (size - 1) == 0
            assert size >= SMALLEST


TILES = MoeShape(tokens=60, hidden=40, mlp_dim=21, experts=3, topk=2)
_TOKENS = np.arange(TILES.tokens)
SKEWED = np.stack([np.where(_TOKENS < 7, 0, 1), np.full_like(_TOKENS, 2)], axis=1)


@functools.cache
def _block(impl: str) -> Callable[..., dict[str, jax.Array]]:
    spec = BlockSpec(backend=PallasGpu(interpret=True, blocks=SMALL), impl=IMPLS[impl], quant_mode=QuantMode.NONE)
    assert spec.gated is not None
    return jax.jit(pass_function(one_device(spec), BenchPass.FORWARD_BACKWARD))


def _block_agrees(inputs: BlockInputs, dtype: DType, impl: str) -> None:
    outputs = canonical_outputs(_block(impl)(inputs.x, store_weights(inputs.weights, IMPLS[impl]), inputs.routing))
    arrays = {name: np.asarray(array) for name, array in outputs.items()}
    comparison = compare(arrays, expected_of(inputs, dtype, QuantMode.NONE))
    assert comparison.passed, comparison


@pytest.mark.slow
@pytest.mark.parametrize("impl", ["baseline", "fused_w13"])
@pytest.mark.parametrize("dtype", TIMED_DTYPES)
@pytest.mark.sample(1)
def test_experts_as_one_operation_agree_with_the_oracle(dtype: DType, impl: str) -> None:
    """Several tiles in every direction, and an expert that begins inside another's tile."""
    _block_agrees(with_experts(inputs_of(TILES, dtype), SKEWED), dtype, impl)


def _gpus(number: int) -> AbstractMesh:
    """A mesh of GPUs that are not there: newer versions of JAX ask of which kind they are."""
    kind = AbstractDevice(device_kind="NVIDIA H200", num_cores=None, platform="gpu")
    return AbstractMesh((number,), ("expert",), axis_types=(AxisType.Auto,), abstract_device=kind)


def _exported(function: Callable[..., object], *arguments: object) -> str:
    """The text of the program for CUDA. JAX exports no call of a kernel whose format it may change, unless asked."""
    allowed = [export.DisabledSafetyCheck.custom_call(TRITON)]
    with use_abstract_mesh(_gpus(1)):
        made = export.export(jax.jit(function), platforms=["cuda"], disabled_checks=allowed)(*arguments)
    assert made.platforms == ("cuda",)
    return made.mlir_module()


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "precision"), [(DType.FLOAT32, "HIGHEST"), (DType.BFLOAT16, "DEFAULT")])
def test_products_are_lowered_for_cuda_with_the_precision_of_the_dtype(dtype: DType, precision: str) -> None:
    for function, arguments in contract.traced(GPU, dtype, 700).values():
        assert _exported(function, *arguments).count(TRITON) == 1
        assert f"Precision.{precision}" in str(jax.jit(function).trace(*arguments).jaxpr)


@pytest.mark.slow
@pytest.mark.parametrize(("impl", "kernels"), [("baseline", 7), ("fused_w13", 6)])
@pytest.mark.parametrize("dtype", TIMED_DTYPES)
@pytest.mark.sample(2)
def test_the_block_is_lowered_for_cuda(dtype: DType, impl: str, kernels: int) -> None:
    """Forward: gate, up and activation; down. Backward: to the activations, to x, to each array of weights."""
    inputs = inputs_of(MoeShape(tokens=48, hidden=200, mlp_dim=90, experts=5, topk=2), dtype)
    spec = BlockSpec(backend=GPU, impl=IMPLS[impl], quant_mode=QuantMode.NONE)
    stored = store_weights(inputs.weights, IMPLS[impl])
    program = pass_function(one_device(spec), BenchPass.FORWARD_BACKWARD)
    text = _exported(lambda x, weights: program(x, weights, inputs.routing), inputs.x, stored)
    assert text.count(f"@{TRITON}") == kernels


def _case(**changes: object) -> Case:
    shape = MoeShape(tokens=12, hidden=16, mlp_dim=16, experts=4, topk=2)
    return Case(shape=shape, routing=RoutingRequest(), backend="pallas_gpu", iters=1, **changes)


def test_it_is_no_default_before_it_was_measured() -> None:
    assert [default.name for default in default_backends("gpu", "NVIDIA H200")] == ["ragged_dot"]
    chosen = with_default_backend(_case(), platform="gpu", device_kind="NVIDIA H200")
    assert (chosen.case.backend, chosen.labels()) == ("ragged_dot", {})
