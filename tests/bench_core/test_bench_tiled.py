"""Every grouped-matmul backend against float64, and the tiled one on what its tiles could get wrong."""

import functools
import itertools
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bench_problems import COMPILES, ODD, expected_of, inputs_of, with_experts
from hypothesis import given
from hypothesis import strategies as st

from bench_core.blocks.bounded import Bounded, BoundedMath
from bench_core.blocks.compare import compare
from bench_core.blocks.impls import IMPLS
from bench_core.blocks.inputs import BlockInputs
from bench_core.blocks.modes import RematMode
from bench_core.blocks.moe import BlockSpec, store_weights
from bench_core.blocks.program import canonical_outputs, one_device, pass_function
from bench_core.gmm.base import GroupedMatmul, MatmulRequest
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import RowSizes
from bench_core.gmm.tiled import Tiled
from bench_core.gmm.tiled_ladder import LARGEST, SMALLEST, ladder
from bench_core.quant.mode import QuantMode
from bench_core.routing.layout import Layout
from bench_core.shapes import TIMED_DTYPES, BenchPass, DType, MoeShape
from tests.breadth import covering, wide

pytestmark = pytest.mark.slow

ROWS, GROUPS, INNER, OUTER = 700, 6, 11, 7
"""More rows than the largest tile, sizes that are multiples of nothing."""

SIZES = {
    "balanced": (117, 117, 117, 117, 116, 116),
    "first_owns_all": (700, 0, 0, 0, 0, 0),
    "last_owns_all": (0, 0, 0, 0, 0, 700),
    "empty_between": (0, 350, 0, 0, 350, 0),
    "whole_tiles": (512, 128, 32, 0, 28, 0),
    "one_row_each": (1, 1, 1, 1, 1, 695),
    "one_row_each_at_the_end": (695, 1, 1, 1, 1, 1),
    "one_past_a_tile": (33, 129, 513, 1, 1, 23),
    "one_short_of_a_tile": (31, 127, 511, 0, 0, 31),
}

Operands = tuple[np.ndarray, np.ndarray, np.ndarray]
"""lhs [m, k], rhs [g, k, n], cotangent [m, n]."""


@functools.cache
def _operands(rows: int, dtype: DType) -> Operands:
    rng = np.random.default_rng(3)
    shapes = ((rows, INNER), (GROUPS, INNER, OUTER), (rows, OUTER))
    lhs, rhs, cotangent = (np.asarray(jnp.asarray(rng.normal(size=shape), dtype.value)) for shape in shapes)
    return lhs, rhs, cotangent


@functools.cache
def _compiled(backend: GroupedMatmul) -> dict[str, Callable[..., jax.Array]]:
    names = ("forward", "grad_lhs", "grad_rhs")
    return {name: jax.jit(getattr(backend, name)) for name in names}


def _computed(backend: GroupedMatmul, operands: Operands, sizes: tuple[int, ...]) -> dict[str, np.ndarray]:
    lhs, rhs, cotangent = operands
    group_sizes = jnp.array(sizes, jnp.int32)
    arguments = {"forward": (lhs, rhs), "grad_lhs": (cotangent, rhs), "grad_rhs": (lhs, cotangent)}
    products = _compiled(backend)
    return {name: np.asarray(products[name](*pair, group_sizes)) for name, pair in arguments.items()}


def _expected(backend: GroupedMatmul, operands: Operands, sizes: tuple[int, ...]) -> dict[str, Bounded]:
    """One float64 matmul per group, with the bound that the backend's arithmetic declares."""
    math = BoundedMath(arithmetic=backend.arithmetic, dtype=DType.FLOAT32)
    lhs, rhs, cotangent = (Bounded.exact(operand) for operand in operands)
    parts: dict[str, list[Bounded]] = {"forward": [], "grad_lhs": [], "grad_rhs": []}
    end = 0
    for group, size in enumerate(sizes):
        rows = slice(end, end := end + size)
        own_lhs, own_cotangent = _at(lhs, rows), _at(cotangent, rows)
        matrix = Bounded(value=rhs.value[group], error=rhs.error[group])
        parts["forward"].append(math.matmul(own_lhs, matrix))
        parts["grad_lhs"].append(math.matmul(own_cotangent, matrix.transposed))
        gradient = math.matmul(own_lhs.transposed, own_cotangent)
        parts["grad_rhs"].append(Bounded(value=gradient.value[None], error=gradient.error[None]))
    return {
        name: Bounded(
            value=np.concatenate([part.value for part in own]), error=np.concatenate([part.error for part in own])
        )
        for name, own in parts.items()
    }


def _at(array: Bounded, rows: slice) -> Bounded:
    return Bounded(value=array.value[rows], error=array.error[rows])


class BackendContract:
    """What every backend must do. A subclass names its backend."""

    backend: ClassVar[GroupedMatmul]

    @pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
    @pytest.mark.parametrize("dtype", [DType.FLOAT32, pytest.param(DType.BFLOAT16, marks=pytest.mark.slow)])
    @pytest.mark.sample(10)
    def test_products_of_awkward_groups(self, dtype: DType, sizes: tuple[int, ...]) -> None:
        operands = _operands(ROWS, dtype)
        outputs = _computed(self.backend, operands, sizes)
        assert {array.dtype for array in outputs.values()} == {np.dtype(np.float32)}
        comparison = compare(outputs, _expected(self.backend, operands, sizes))
        assert comparison.passed, comparison

    @pytest.mark.slow
    @pytest.mark.parametrize("rows", [1, 33, wide(2), wide(31), wide(32), wide(127), wide(513)])
    @pytest.mark.parametrize("dtype", TIMED_DTYPES)
    @pytest.mark.sample(1)
    def test_few_rows(self, dtype: DType, rows: int) -> None:
        operands = _operands(rows, dtype)
        half = rows // 2
        for sizes in ((rows, 0, 0, 0, 0, 0), (0, half, 0, 0, 0, rows - half), (0, 0, 0, 0, rows, 0)):
            comparison = compare(_computed(self.backend, operands, sizes), _expected(self.backend, operands, sizes))
            assert comparison.passed, (sizes, comparison)

    def test_empty_groups_get_zeros(self) -> None:
        gradient = _computed(self.backend, _operands(ROWS, DType.FLOAT32), SIZES["empty_between"])["grad_rhs"]
        assert not gradient[[0, 2, 3, 5]].any()
        assert gradient[[1, 4]].all()


class TestRaggedDot(BackendContract):
    backend: ClassVar[GroupedMatmul] = BACKENDS["ragged_dot"].load(platform="cpu")


class TestTiled(BackendContract):
    backend: ClassVar[GroupedMatmul] = BACKENDS["tiled"].load(platform="cpu")

    @pytest.mark.parametrize("spoilt", range(GROUPS))
    def test_a_group_does_not_see_the_rows_of_others(self, spoilt: int) -> None:
        """Zero times infinity is NaN: masking one operand alone would let it through."""
        sizes = SIZES["one_past_a_tile"]
        lhs, rhs, cotangent = (operand.copy() for operand in _operands(ROWS, DType.FLOAT32))
        clean = _computed(self.backend, (lhs, rhs, cotangent), sizes)
        rows = np.repeat(np.arange(GROUPS), sizes) == spoilt
        groups = np.arange(GROUPS) == spoilt
        lhs[rows], rhs[groups], cotangent[rows] = np.inf, np.nan, np.nan
        outputs = _computed(self.backend, (lhs, rhs, cotangent), sizes)
        for name, own in (("forward", rows), ("grad_lhs", rows), ("grad_rhs", groups)):
            np.testing.assert_array_equal(outputs[name][~own], clean[name][~own])
            assert not np.isfinite(outputs[name][own]).any()

    def test_rows_past_the_groups_are_zeros(self) -> None:
        operands = _operands(ROWS, DType.FLOAT32)
        outputs = _computed(self.backend, operands, (3, 40, 0, 130, 0, 450))
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
    operands = _operands(ROWS, DType.FLOAT32)
    backend = contract.backend
    comparison = compare(_computed(backend, operands, sizes), _expected(backend, operands, sizes))
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


@pytest.mark.parametrize(
    ("rows", "groups", "middle"), [(8192, 8, 128), (8192, 64, 160), (32768, 64, 128), (8192, 512, 128), (8192, 256, 48)]
)
def test_the_middle_tile_holds_a_balanced_group(rows: int, groups: int, middle: int) -> None:
    assert [tile.rows for tile in ladder(rows, groups)] == [512, middle, 32]


def test_a_close_ladder_has_a_tile_for_the_smaller_half() -> None:
    tiles = ladder(8192, 64, close=True)
    assert [(tile.rows, tile.least) for tile in tiles] == [(512, 385), (160, 129), (128, 97), (32, 1)]
    assert ladder(8192, 8, close=True) == ladder(8192, 8)


TILES = MoeShape(tokens=330, hidden=11, mlp_dim=7, experts=3, topk=2)
"""Enough assignments for every tile."""


@functools.cache
def _block(
    impl: str, quant_mode: QuantMode, bench_pass: BenchPass, row_tiles: RowSizes | None = None
) -> Callable[..., dict[str, jax.Array]]:
    spec = BlockSpec(backend=Tiled(row_tiles=row_tiles), impl=IMPLS[impl], quant_mode=quant_mode)
    return jax.jit(pass_function(one_device(spec), bench_pass))


def _block_agrees(
    inputs: BlockInputs,
    dtype: DType,
    impl: str,
    quant_mode: QuantMode,
    bench_pass: BenchPass,
    row_tiles: RowSizes | None = None,
) -> None:
    program = _block(impl, quant_mode, bench_pass, row_tiles)
    outputs = canonical_outputs(program(inputs.x, store_weights(inputs.weights, IMPLS[impl]), inputs.routing))
    arrays = {name: np.asarray(array) for name, array in outputs.items()}
    comparison = compare(arrays, expected_of(inputs, dtype, quant_mode, bench_pass, impl=impl))
    assert comparison.passed, comparison


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
        list(itertools.product(BenchPass, TIMED_DTYPES, [QuantMode.NONE, QuantMode.INT8], ["baseline", "fused_w13"])),
        lambda case: itertools.combinations(case, 2),
    ),
)
@pytest.mark.sample(1)
def test_every_block_agrees_with_the_oracle(
    bench_pass: BenchPass, dtype: DType, quant_mode: QuantMode, impl: str
) -> None:
    _block_agrees(inputs_of(TILES, dtype), dtype, impl, quant_mode, bench_pass)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "quant_mode"), [((96, 7), QuantMode.NONE), ((200,), QuantMode.INT8), ((300, 90, 8, 1), QuantMode.NONE)]
)
@pytest.mark.sample(1)
def test_blocks_of_other_row_tiles_agree_with_the_oracle(sizes: tuple[int, ...], quant_mode: QuantMode) -> None:
    inputs = with_experts(inputs_of(TILES, DType.FLOAT32), UNEVEN["skewed"])
    tiles = RowSizes(sizes=sizes)
    _block_agrees(inputs, DType.FLOAT32, "baseline", quant_mode, BenchPass.FORWARD_BACKWARD, tiles)


@given(
    sizes=st.sets(st.integers(1, 4096), min_size=1, max_size=4).map(lambda found: tuple(sorted(found, reverse=True))),
    rows=st.integers(1, 1 << 20),
    size=st.integers(0, 5000),
)
def test_row_tiles_that_are_named_are_used_as_they_are(sizes: tuple[int, ...], rows: int, size: int) -> None:
    tiles = ladder(rows, 7, close=True, row_tiles=RowSizes.parse(str(RowSizes(sizes=sizes))))
    assert [tile.rows for tile in tiles] == sorted({min(one, rows) for one in sizes}, reverse=True)
    remaining = size
    for tile in tiles:
        while remaining >= tile.least:
            remaining -= tile.rows
    assert -tiles[-1].rows < remaining <= 0 or -remaining < tiles[0].rows / 4


@pytest.mark.slow
@pytest.mark.wide
def test_the_smallest_block_agrees_with_the_oracle() -> None:
    inputs = inputs_of(MoeShape(tokens=1, hidden=1, mlp_dim=1, experts=1, topk=1), DType.FLOAT32)
    _block_agrees(inputs, DType.FLOAT32, "baseline", QuantMode.NONE, BenchPass.FORWARD_BACKWARD)


@pytest.mark.slow
@pytest.mark.parametrize("experts", UNEVEN.values(), ids=UNEVEN)
@pytest.mark.wide
def test_uneven_blocks_agree_with_the_oracle(experts: np.ndarray) -> None:
    inputs = with_experts(inputs_of(TILES, DType.FLOAT32), experts)
    _block_agrees(inputs, DType.FLOAT32, "fused_w13", QuantMode.NONE, BenchPass.FORWARD_BACKWARD)


@pytest.mark.slow
@pytest.mark.parametrize("impl", ["fast", "fused_w13_preweight"])
@pytest.mark.wide
def test_scatter_and_preweight_agree_with_the_oracle(impl: str) -> None:
    inputs = with_experts(inputs_of(TILES, DType.BFLOAT16), UNEVEN["skewed"])
    _block_agrees(inputs, DType.BFLOAT16, impl, QuantMode.NONE, BenchPass.FORWARD_BACKWARD)


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


def test_a_block_says_whether_its_experts_are_one_operation() -> None:
    def ran(backend: GroupedMatmul = TestTiled.backend, **changes: object) -> str:
        plain = {"backend": backend, "impl": IMPLS["baseline"], "quant_mode": QuantMode.NONE}
        return BlockSpec(**(plain | changes)).ran()

    whole = f"{Tiled.summary}; routed experts as one operation"
    assert ran() == whole
    assert ran(impl=IMPLS["fused_w13_preweight"]) == whole
    assert ran(layout=Layout(rows=3, filled=True)) == whole
    assert (
        ran(Tiled(row_tiles=RowSizes(sizes=(8, 4))))
        == f"{Tiled.summary}; tiles of 8,4 rows{whole[len(Tiled.summary) :]}"
    )
    assert ran(TestRaggedDot.backend) == TestRaggedDot.backend.summary
    for changes in (
        {"quant_mode": QuantMode.INT8},
        {"remat_mode": RematMode.EXPERT_MLP},
        {"layout": Layout(rows=3, capacity=1, padded=True)},
    ):
        assert ran(**changes) == Tiled.summary
    spec = BlockSpec(backend=Tiled(), impl=IMPLS["baseline"], quant_mode=QuantMode.NONE)
    assert spec.ran(prequeued=True) == Tiled.summary
