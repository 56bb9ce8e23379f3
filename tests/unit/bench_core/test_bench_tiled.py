"""Every grouped-matmul backend against float64, and the tiled one on what its tiles could get wrong."""

import functools
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.blocks.compare import compare
from bench_core.blocks.inputs import BlockInputs
from bench_core.blocks.modes import IMPLS
from bench_core.blocks.moe import BlockSpec, store_weights
from bench_core.blocks.program import canonical_outputs, one_device, pass_function
from bench_core.device import host_cpu
from bench_core.gmm.base import GroupedMatmul, MatmulRequest
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import LARGEST, SMALLEST, RowSizes, ladder
from bench_core.gmm.tiled import Tiled
from bench_core.quant.mode import QuantMode
from bench_core.shapes import TIMED_DTYPES, BenchPass, DType, MoeShape
from tests.breadth import covering
from tests.unit.bench_core.bench_problems import COMPILES, ODD, expected_of, inputs_of, with_experts
from tests.unit.bench_core.gmm_contract import (
    GROUPS,
    ROWS,
    SIZES,
    BackendContract,
    computed,
    expected,
    operands,
    require_apart,
)

pytestmark = pytest.mark.slow


class TestRaggedDot(BackendContract):
    backend: ClassVar[GroupedMatmul] = BACKENDS["ragged_dot"].load(platform="cpu")


class TestTiled(BackendContract):
    backend: ClassVar[GroupedMatmul] = BACKENDS["tiled"].load(platform="cpu")

    @pytest.mark.parametrize("spoilt", range(GROUPS))
    def test_a_group_does_not_see_the_rows_of_others(self, spoilt: int) -> None:
        require_apart(self.backend, spoilt)

    def test_rows_past_the_groups_are_zeros(self) -> None:
        problem = operands(ROWS, DType.FLOAT32)
        outputs = computed(self.backend, problem, (3, 40, 0, 130, 0, 450))
        for name in ("forward", "grad_lhs"):
            assert outputs[name][:623].all()
            assert not outputs[name][623:].any()

    def test_other_platforms_are_refused(self) -> None:
        def refusal(platform: str) -> str | None:
            request = MatmulRequest(platform=platform, dtype=DType.FLOAT32, bench_pass=BenchPass.FORWARD)
            return self.backend.refusal(request)

        assert refusal("cpu") is None
        assert refusal("tpu") == ("it runs one small matmul after another, which is made for CPU and untested on tpu")


@pytest.mark.parametrize("contract", [TestRaggedDot, TestTiled])
@COMPILES
@given(cuts=st.lists(st.integers(0, ROWS), min_size=GROUPS - 1, max_size=GROUPS - 1))
def test_any_sizes(contract: type[BackendContract], cuts: list[int]) -> None:
    sizes = tuple(np.diff([0, *sorted(cuts), ROWS]).tolist())
    problem = operands(ROWS, DType.FLOAT32)
    backend = contract.backend
    comparison = compare(computed(backend, problem, sizes), expected(backend, problem, sizes))
    assert comparison.passed, comparison


@given(rows=st.integers(1, 1 << 20), groups=st.integers(1, 512), size=st.integers(0, 5000), close=st.booleans())
def test_the_ladder_covers_every_size_and_computes_little_in_vain(
    rows: int, groups: int, size: int, close: bool
) -> None:
    tiles = ladder(rows, groups, close=close)
    sizes = [tile.rows for tile in tiles]
    assert sizes == sorted(set(sizes), reverse=True)
    assert sizes[0] == min(LARGEST, rows)
    assert sizes[-1] == min(SMALLEST, rows)
    assert tiles[-1].least == 1
    remaining = size
    for tile in tiles:
        while remaining >= tile.least:
            remaining -= tile.rows
    vain = -remaining
    assert 0 <= vain < max(sizes[-1], sizes[0] / 4)


class TestNarrow:
    """bfloat16 multiplied as bfloat16, also on a processor that has no instructions for it."""

    @pytest.mark.parametrize("narrow", [True, False])
    @pytest.mark.parametrize("sizes", [SIZES["one_past_a_tile"], SIZES["empty_between"]])
    def test_products_agree_with_float64(self, narrow: bool, sizes: tuple[int, ...]) -> None:
        backend, problem = Tiled(narrow=narrow), operands(ROWS, DType.BFLOAT16)
        comparison = compare(computed(backend, problem, sizes), expected(backend, problem, sizes))
        assert comparison.passed, comparison

    def test_no_product_is_left_to_be_widened(self) -> None:
        lhs, _, cotangent = operands(ROWS, DType.BFLOAT16)
        sizes = jnp.array(SIZES["balanced"], jnp.int32)
        text = jax.jit(Tiled(narrow=True).grad_rhs).lower(lhs, cotangent, sizes).compile().as_text()
        products = [line for line in text.splitlines() if " dot(" in line]
        assert products
        assert all("lhs_contracting_dims={1}" in line for line in products)
        assert not [line for line in products if re.search(r"dot\(%\S*convert", line)]

    def test_the_bits_of_matrices_are_made_one_by_one(self) -> None:
        lhs, rhs, _ = operands(ROWS, DType.BFLOAT16)
        sizes = jnp.array(SIZES["balanced"], jnp.int32)
        text = jax.jit(Tiled(narrow=False).forward).lower(lhs, rhs, sizes).compile().as_text()
        whole = ",".join(map(str, rhs.shape))
        assert f"bf16[{whole}]" in text
        assert not re.search(rf" = u16\[{whole}\]\S* fusion\(", text)


@pytest.mark.parametrize(
    ("flags", "answer"),
    [
        ("flags\t: fpu avx512_bf16 fsrm", True),
        ("Features : fp bf16", True),
        ("flags : fpu avx512f", False),
        ("", False),
    ],
)
def test_the_processor_says_whether_it_multiplies_bfloat16(tmp_path: Path, flags: str, answer: bool) -> None:
    table = tmp_path / "cpuinfo"
    table.write_text(f"processor : 0\nmodel name : One\n{flags}\n\nmodel name : Other\n")
    found = host_cpu(table)
    assert (found.model, found.bfloat16) == ("One", answer)
    assert not host_cpu(tmp_path / "none").bfloat16


TILES = MoeShape(tokens=330, hidden=11, mlp_dim=7, experts=3, topk=2)
"""Enough assignments for every tile."""


@functools.cache
def _block(
    impl: str,
    quant_mode: QuantMode,
    bench_pass: BenchPass,
    row_tiles: RowSizes | None = None,
    narrow: bool = False,
) -> Callable[..., dict[str, jax.Array]]:
    spec = BlockSpec(backend=Tiled(row_tiles=row_tiles, narrow=narrow), impl=IMPLS[impl], quant_mode=quant_mode)
    return jax.jit(pass_function(one_device(spec), bench_pass))


def _block_agrees(
    inputs: BlockInputs,
    dtype: DType,
    impl: str,
    quant_mode: QuantMode,
    bench_pass: BenchPass,
    row_tiles: RowSizes | None = None,
    narrow: bool = False,
) -> None:
    program = _block(impl, quant_mode, bench_pass, row_tiles, narrow)
    outputs = canonical_outputs(program(inputs.x, store_weights(inputs.weights, IMPLS[impl]), inputs.routing))
    arrays = {name: np.asarray(array) for name, array in outputs.items()}
    comparison = compare(arrays, expected_of(inputs, dtype, quant_mode, bench_pass))
    assert comparison.passed, comparison


# `train` has a router beside: test_bench_train.py.
PASSES = (BenchPass.FORWARD, BenchPass.FORWARD_BACKWARD)
_TOKENS = np.arange(TILES.tokens)
UNEVEN = {
    "two_experts_take_all": np.tile([2, 0], (TILES.tokens, 1)),
    "first_is_empty": np.stack([1 + _TOKENS % 2, 2 - _TOKENS % 2], axis=1),
    "skewed": np.stack([np.where(_TOKENS < 7, 0, 1), np.full_like(_TOKENS, 2)], axis=1),
}


@pytest.mark.slow
def test_odd_block_agrees_with_the_oracle() -> None:
    inputs = inputs_of(ODD, DType.FLOAT32)
    _block_agrees(inputs, DType.FLOAT32, "baseline", QuantMode.NONE, BenchPass.FORWARD_BACKWARD)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bench_pass", "dtype", "quant_mode", "impl"),
    covering(
        list(itertools.product(PASSES, TIMED_DTYPES, [QuantMode.NONE, QuantMode.INT8], ["baseline", "fused_w13"])),
        lambda case: itertools.combinations(case, 2),
    ),
)
@pytest.mark.sample(1)
def test_every_block_agrees_with_the_oracle(
    bench_pass: BenchPass, dtype: DType, quant_mode: QuantMode, impl: str
) -> None:
    _block_agrees(inputs_of(TILES, dtype), dtype, impl, quant_mode, bench_pass)


@pytest.mark.slow
@pytest.mark.parametrize("bench_pass", PASSES)
@pytest.mark.sample(1)
def test_blocks_that_multiply_bfloat16_agree_with_the_oracle(bench_pass: BenchPass) -> None:
    inputs = with_experts(inputs_of(TILES, DType.BFLOAT16), UNEVEN["skewed"])
    _block_agrees(inputs, DType.BFLOAT16, "fused_w13", QuantMode.NONE, bench_pass, narrow=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "quant_mode"), [((96, 7), QuantMode.NONE), ((200,), QuantMode.INT8), ((300, 90, 8, 1), QuantMode.NONE)]
)
@pytest.mark.sample(1)
def test_blocks_of_other_row_tiles_agree_with_the_oracle(sizes: tuple[int, ...], quant_mode: QuantMode) -> None:
    inputs = with_experts(inputs_of(TILES, DType.FLOAT32), UNEVEN["skewed"])
    tiles = RowSizes(sizes=sizes)
    _block_agrees(inputs, DType.FLOAT32, "baseline", quant_mode, BenchPass.FORWARD_BACKWARD, tiles)


@pytest.mark.slow
@pytest.mark.parametrize("experts", UNEVEN.values(), ids=UNEVEN)
@pytest.mark.wide
def test_uneven_blocks_agree_with_the_oracle(experts: np.ndarray) -> None:
    inputs = with_experts(inputs_of(TILES, DType.FLOAT32), experts)
    _block_agrees(inputs, DType.FLOAT32, "fused_w13", QuantMode.NONE, BenchPass.FORWARD_BACKWARD)


@pytest.mark.slow
def test_experts_as_one_operation_do_not_see_the_rows_of_others() -> None:
    """Tiles reach into the rows of the next expert; zero times its infinity is NaN."""
    inputs = with_experts(inputs_of(TILES, DType.FLOAT32), UNEVEN["skewed"])
    program = _block("baseline", QuantMode.NONE, BenchPass.FORWARD_BACKWARD)
    clean = program(inputs.x, inputs.weights, inputs.routing)
    # Expert 1 has tokens 7 and on, expert 0 those before.
    spoilt = program(inputs.x.at[7:].set(np.inf), inputs.weights, inputs.routing)
    np.testing.assert_array_equal(spoilt["output"][:7], clean["output"][:7])
    for name in ("grad_w1", "grad_w3", "grad_w2"):
        np.testing.assert_array_equal(spoilt[name][0], clean[name][0])
        assert not np.isfinite(spoilt[name][1]).all()
