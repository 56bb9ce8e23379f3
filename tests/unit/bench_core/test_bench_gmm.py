"""JAX's megablox behind the protocol, in interpret mode, and the tile that it takes."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import pytest

from bench_core.errors import UnsupportedCase
from bench_core.gmm.base import GroupedMatmul
from bench_core.gmm.megablox import MOST_ROW_TILES, Megablox, _kernels, tells_apart
from bench_core.gmm.pallas_gpu import PallasGpu
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import Tile
from bench_core.harness.backend import load_backend
from bench_core.harness.case import Case
from bench_core.harness.check import compare
from bench_core.harness.table import choices, table_case
from bench_core.parallel.spread import DpImpl, Parallel, ParallelMode
from bench_core.routing.request import RoutingRequest
from bench_core.shapes import BenchPass, DType, QuantMode
from tests.unit.bench_core import gmm_contract as contract
from tests.unit.bench_core.bench_problems import ODD

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


@pytest.mark.parametrize(("dtype", "precision"), [(DType.FLOAT32, "HIGHEST"), (DType.BFLOAT16, "DEFAULT")])
@pytest.mark.slow
def test_the_kernel_is_lowered_for_tpu_with_the_precision_of_the_dtype(dtype: DType, precision: str) -> None:
    backend = BACKENDS["gmm"].load(platform="tpu")
    for function, arguments in contract.traced(backend, dtype, 20).values():
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
    pallas = BACKENDS["pallas_gpu"]
    assert (pallas.load(platform="gpu"), pallas.load(platform="cpu")) == (
        PallasGpu(interpret=False),
        PallasGpu(interpret=True),
    )
    assert hash(pallas.load(platform="cpu")) == hash(PallasGpu(interpret=True))
    assert pallas.load(platform="cpu").ran().endswith("through Triton, in interpret mode on CPU: correctness only")


UNCUT = "XLA's partitioner cannot cut a Pallas kernel for several devices; use --dp-impl shard_map"
AUTO = {"parallel": Parallel(mode=ParallelMode.DP, dp_impl=DpImpl.AUTO, devices=4)}


@pytest.mark.parametrize(
    ("backend", "platform", "changes", "why"),
    [
        (
            "gmm",
            "gpu",
            {},
            "it is a kernel for TPU and does not compile for gpu; it needs a TPU and logbook-agent[tpu], "
            "or JAX_PLATFORMS=cpu to run in interpret mode",
        ),
        (
            "pallas_gpu",
            "tpu",
            {},
            "it is a kernel for GPUs and does not compile for tpu; it needs an NVIDIA GPU and logbook-agent[gpu], "
            "or JAX_PLATFORMS=cpu to run in interpret mode",
        ),
        ("tiled", "tpu", {}, "it runs one small matmul after another, which is made for CPU and untested on tpu"),
        ("gmm", "tpu", AUTO, UNCUT),
        ("pallas_gpu", "gpu", AUTO, UNCUT),
        # In interpret mode it is no kernel but plain operations.
        ("gmm", "cpu", AUTO, None),
        ("pallas_gpu", "cpu", AUTO, None),
        ("pallas_gpu", "gpu", {}, None),
        ("tiled", "cpu", {}, None),
        ("gmm", "cpu", {"dtype": DType.FLOAT64}, "its kernel sums in float32"),
        (
            "ragged_dot",
            "tpu",
            {"dtype": DType.FLOAT64},
            "float64 is checked on CPU alone: it is about what a form computes, and a TPU has no float64",
        ),
        (
            "pallas_gpu",
            "gpu",
            {"quant_mode": QuantMode.INT8_REAL},
            "it has no int8 x int8 matmul with int32 accumulation",
        ),
    ],
)
def test_what_a_backend_cannot_serve(backend: str, platform: str, changes: dict[str, Any], why: str | None) -> None:
    case = Case(shape=ODD, routing=RoutingRequest(), backend=backend, bench_pass=BenchPass.FORWARD, **changes)
    said = None
    try:
        load_backend(case, platform=platform)
    except UnsupportedCase as refused:
        said = refused.cause
    assert said == why


def test_more_row_tiles_than_the_kernel_tells_apart_are_refused() -> None:
    backend = BACKENDS["gmm"].load(platform="tpu", tile=SMALL_TILE)
    for function, arguments in contract.traced(backend, DType.BFLOAT16, 8 * MOST_ROW_TILES + 1).values():
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


def test_rows_of_other_backends_have_no_tile() -> None:
    choice = choices(full=False)[0]
    tiles = {backend: table_case(backend, choice).config().get("tile") for backend in BACKENDS}
    assert tiles == dict.fromkeys(BACKENDS) | {"gmm": "128,128,128"}
