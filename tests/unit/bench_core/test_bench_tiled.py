"""Every grouped-matmul backend against float64, and the tiled one on what its tiles could get wrong."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.blocks.inputs import BlockInputs
from bench_core.blocks.modes import IMPLS
from bench_core.blocks.moe import BlockSpec, store_weights
from bench_core.blocks.program import canonical_outputs, one_device, pass_function
from bench_core.device import host_cpu
from bench_core.gmm.base import GroupedMatmul
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import LARGEST, SMALLEST, ladder
from bench_core.gmm.tiled import Tiled
from bench_core.harness.check import compare
from bench_core.shapes import TIMED_DTYPES, BenchPass, DType, MoeShape, QuantMode
from tests.breadth import wide
from tests.unit.bench_core.bench_problems import COMPILES, expected_of, inputs_of, with_experts
from tests.unit.bench_core.gmm_contract import (
    GROUPS,
    ROWS,
    SIZES,
    BackendContract,
    KernelContract,
    computed,
    expected,
    operands,
)

pytestmark = pytest.mark.slow


class TestRaggedDot(BackendContract):
    backend: ClassVar[GroupedMatmul] = BACKENDS["ragged_dot"].load(platform="cpu")


class TestTiled(KernelContract):
    backend: ClassVar[GroupedMatmul] = BACKENDS["tiled"].load(platform="cpu")


@pytest.mark.parametrize("rows", [1, 33, wide(2), wide(31), wide(32), wide(127), wide(513)])
@pytest.mark.parametrize("dtype", TIMED_DTYPES)
@pytest.mark.parametrize("contract", [TestRaggedDot, TestTiled])
@pytest.mark.sample(2)
def test_few_rows(contract: type[BackendContract], dtype: DType, rows: int) -> None:
    given, backend = operands(rows, dtype), contract.backend
    half = rows // 2
    for sizes in ((rows, 0, 0, 0, 0, 0), (0, half, 0, 0, 0, rows - half), (0, 0, 0, 0, rows, 0)):
        comparison = compare(computed(backend, given, sizes), expected(backend, given, sizes))
        assert comparison.passed, (sizes, comparison)


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


WIDENING = Tiled(narrow=False)


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block whose experts are computed by the tiled backend."""

    dtype: DType
    impl: str = "baseline"
    quant_mode: QuantMode = QuantMode.NONE
    bench_pass: BenchPass = BenchPass.FORWARD_BACKWARD
    backend: Tiled = WIDENING

    def __call__(self, inputs: BlockInputs) -> dict[str, np.ndarray]:
        spec = BlockSpec(backend=self.backend, impl=IMPLS[self.impl], quant_mode=self.quant_mode)
        program = jax.jit(pass_function(one_device(spec), self.bench_pass))
        outputs = canonical_outputs(program(inputs.x, store_weights(inputs.weights, spec.impl), inputs.routing))
        return {name: np.asarray(array) for name, array in outputs.items()}


FIRST = SMALLEST + 1
"""Rows of the first expert: one is over the smallest tile."""
SKEWED = np.stack([np.where(np.arange(TILES.tokens) < FIRST, 0, 1), np.full(TILES.tokens, 2)], axis=1)
BLOCKS = {
    "float32": Block(dtype=DType.FLOAT32),
    "forward int8": Block(dtype=DType.BFLOAT16, quant_mode=QuantMode.INT8, bench_pass=BenchPass.FORWARD),
    "multiplied as bfloat16": Block(dtype=DType.BFLOAT16, impl="fused_w13", backend=Tiled(narrow=True)),
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.sample(3)
def test_blocks_agree_with_the_oracle(block: Block) -> None:
    inputs = with_experts(inputs_of(TILES, block.dtype), SKEWED)
    comparison = compare(block(inputs), expected_of(inputs, block.dtype, block.quant_mode, block.bench_pass))
    assert comparison.passed, comparison


def test_experts_as_one_operation_do_not_see_the_rows_of_others() -> None:
    """Tiles reach into the rows of the next expert; zero times its infinity is NaN."""
    inputs, block = with_experts(inputs_of(TILES, DType.FLOAT32), SKEWED), BLOCKS["float32"]
    clean = block(inputs)
    # Expert 1 has the tokens from `FIRST` on, expert 0 those before.
    spoilt = block(inputs._replace(x=inputs.x.at[FIRST:].set(np.inf)))
    np.testing.assert_array_equal(spoilt["output"][:FIRST], clean["output"][:FIRST])
    for name in ("grad_w1", "grad_w3", "grad_w2"):
        np.testing.assert_array_equal(spoilt[name][0], clean[name][0])
        assert not np.isfinite(spoilt[name][1]).all()
