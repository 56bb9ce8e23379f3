"""JAX's megablox behind the protocol, in interpret mode, and the tile that it takes."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.blocks.compare import compare
from bench_core.errors import UnsupportedCase
from bench_core.gmm.base import GroupedMatmul, MatmulRequest
from bench_core.gmm.megablox import MOST_ROW_TILES, Megablox, _kernels, tells_apart
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import Tile
from bench_core.harness.table import choices, table_case
from bench_core.shapes import BenchPass, DType
from tests.unit.bench_core import gmm_contract as contract

SMALL_TILE = Tile(m=8, k=128, n=128)


@pytest.mark.slow
class TestMegablox(contract.KernelContract):
    backend: ClassVar[GroupedMatmul] = BACKENDS["gmm"].load(platform="cpu")

    @pytest.mark.wide
    def test_several_tiles_of_every_width_and_a_rest(self) -> None:
        backend = BACKENDS["gmm"].load(platform="cpu", tile=SMALL_TILE)
        shapes, sizes = ((21, 300), (3, 300, 140), (21, 140)), (9, 0, 12)
        operands = contract.drawn(5, shapes, DType.BFLOAT16)
        outputs = contract.computed(backend, operands, sizes)
        assert compare(outputs, contract.expected(backend, operands, sizes)).passed


def _traced(backend: GroupedMatmul, dtype: DType, rows: int) -> dict[str, tuple[Callable[..., jax.Array], tuple]]:
    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype.value)

    lhs, rhs, cotangent, sizes = array(rows, 8), array(3, 8, 6), array(rows, 6), jax.ShapeDtypeStruct((3,), jnp.int32)
    return {
        "forward": (backend.forward, (lhs, rhs, sizes)),
        "grad_lhs": (backend.grad_lhs, (cotangent, rhs, sizes)),
        "grad_rhs": (backend.grad_rhs, (lhs, cotangent, sizes)),
    }


@pytest.mark.slow
def test_no_rows() -> None:
    backend = BACKENDS["gmm"].load(platform="cpu")
    shapes = {"forward": (0, 6), "grad_lhs": (0, 8), "grad_rhs": (3, 8, 6)}
    for name, (function, arguments) in _traced(backend, DType.FLOAT32, 0).items():
        zeros = [jnp.zeros(argument.shape, argument.dtype) for argument in arguments]
        out = function(*zeros)
        assert out.shape == shapes[name]
        assert not out.any()


@pytest.mark.parametrize(("dtype", "precision"), [(DType.FLOAT32, "HIGHEST"), (DType.BFLOAT16, "DEFAULT")])
@pytest.mark.slow
def test_the_kernel_is_lowered_for_tpu_with_the_precision_of_the_dtype(dtype: DType, precision: str) -> None:
    backend = BACKENDS["gmm"].load(platform="tpu")
    for function, arguments in _traced(backend, dtype, 20).values():
        traced = jax.jit(function).trace(*arguments)
        assert f"Precision.{precision}" in str(traced.jaxpr)
        assert "tpu_custom_call" in traced.lower(lowering_platforms=("tpu",)).as_text()


def test_the_platform_of_the_program_decides_how_it_runs() -> None:
    entry = BACKENDS["gmm"]
    assert entry.load(platform="tpu") == Megablox(tile=Tile(m=128, k=128, n=128), interpret=False)
    assert hash(entry.load(platform="cpu")) == hash(entry.load(platform="cpu"))
    assert entry.load(platform="cpu", tile=SMALL_TILE) == Megablox(tile=SMALL_TILE, interpret=True)
    assert entry.load(platform="cpu").ran().endswith("in interpret mode on CPU: correctness only")
    assert entry.load(platform="tpu").ran().endswith("compiled with tile 128,128,128")
    with pytest.raises(ValueError, match="takes no tile"):
        BACKENDS["tiled"].load(platform="cpu", tile=SMALL_TILE)


def test_gpu_is_refused() -> None:
    request = MatmulRequest(platform="gpu", dtype=DType.BFLOAT16, bench_pass=BenchPass.FORWARD)
    refusal = BACKENDS["gmm"].load(platform="gpu").refusal(request)
    assert refusal == (
        "it is a kernel for TPU and does not compile for gpu; it needs a TPU and logbook-agent[tpu], "
        "or JAX_PLATFORMS=cpu to run in interpret mode"
    )


@pytest.mark.parametrize(("backend", "platform"), [("gmm", "tpu"), ("pallas_gpu", "gpu")])
def test_a_program_that_xla_cuts_is_refused(backend: str, platform: str) -> None:
    request = MatmulRequest(platform=platform, dtype=DType.BFLOAT16, bench_pass=BenchPass.FORWARD, partitioned=True)
    refusal = BACKENDS[backend].load(platform=platform).refusal(request)
    assert refusal == "XLA's partitioner cannot cut a Pallas kernel for several devices; use --dp-impl shard_map"
    # In interpret mode it is no kernel but plain operations.
    assert BACKENDS[backend].load(platform="cpu").refusal(replace(request, platform="cpu")) is None


def test_more_row_tiles_than_the_kernel_tells_apart_are_refused() -> None:
    backend = BACKENDS["gmm"].load(platform="tpu", tile=SMALL_TILE)
    for function, arguments in _traced(backend, DType.BFLOAT16, 8 * MOST_ROW_TILES + 1).values():
        with pytest.raises(UnsupportedCase) as error:
            jax.eval_shape(function, *arguments)
        assert error.value.hint == "use --tile 16,128,128"


@pytest.mark.slow
@pytest.mark.parametrize("tiles", [MOST_ROW_TILES, 3183, 4096])
@pytest.mark.wide
def test_the_kernel_tells_row_tiles_apart_up_to_a_limit(tiles: int) -> None:
    """Two groups, of which the second starts inside the last tile but one: each has its tiles."""
    sizes = jnp.array([8 * tiles - 12, 12], jnp.int32)
    (_, _, tile_ids), count = _kernels.make_group_metadata(
        group_sizes=sizes, m=8 * tiles, tm=8, start_group=jnp.int32(0), num_nonzero_groups=2, visit_empty_groups=False
    )
    expected = [*range(tiles - 1), tiles - 2, tiles - 1]
    assert (tile_ids[: int(count)].tolist() == expected) == tells_apart(tiles)


@given(m=st.integers(1, 999), k=st.integers(1, 99), n=st.integers(1, 99))
def test_a_tile_survives_its_text(m: int, k: int, n: int) -> None:
    tile = Tile(m=8 * m, k=128 * k, n=128 * n)
    assert Tile.parse(str(tile)) == tile


def test_rows_of_other_backends_have_no_tile() -> None:
    choice = choices(full=False)[0]
    tiles = {backend: table_case(backend, choice).config().get("tile") for backend in BACKENDS}
    assert tiles == dict.fromkeys(BACKENDS) | {"gmm": "128,128,128"}
