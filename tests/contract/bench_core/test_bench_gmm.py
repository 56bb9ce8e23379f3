"""JAX's megablox behind the protocol, in interpret mode, and the tile that it takes."""

import pytest

from tests.seams import bench_core as main


def _bench(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main([*words])
    out, err = capsys.readouterr()
    return int(exit_.value.code or 0), out, err


def test_a_tile_without_a_backend_that_takes_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert _bench(capsys, "hillclimb", "--tile", "8,128,128", "--backend", "tiled") == (
        2,
        "",
        "error: --tile 8,128,128 changes nothing with --backend tiled\n"
        "  cause: backends that take a tile: gmm\n"
        "  next: use --backend gmm, or leave --tile out\n",
    )
