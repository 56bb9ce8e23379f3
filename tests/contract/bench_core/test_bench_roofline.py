"""Rooflines, against numbers by hand and those of the published logbooks."""

import json

import pytest

from tests.seams import bench_core as main

RING = 384 * 2**20


SEEDS = "--tokens 32768 --hidden 2048 --mlp-dim 1408 --experts 60 --bench-pass forward_backward --parallel-mode ep"


def roofline(capsys: pytest.CaptureFixture[str], words: str) -> tuple[int, list[str], list[dict], str]:
    with pytest.raises(SystemExit) as exit_:
        main(["roofline", *words.split()])
    out, err = capsys.readouterr()
    lines = out.splitlines()
    rows = [json.loads(line.partition(" ")[2]) for line in lines if line.startswith("RESULT_JSON ")]
    return int(exit_.value.code or 0), [line for line in lines if not line.startswith("RESULT")], rows, err


@pytest.mark.parametrize(
    ("words", "time_s", "gb_per_s"),
    [
        ("--topk 2", 0.050523, 7.97),
        ("--topk 8", 0.154982, 2.60),
        ("--topk 2 --shared-expert-dim 5632", 0.070874, 5.68),
        ("--topk 8 --shared-expert-dim 5632", 0.175233, 2.30),
    ],
)
@pytest.mark.slow
def test_the_rates_of_the_seeds(words: str, time_s: float, gb_per_s: float, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the logbook on expert parallelism: 384 MiB over the time of a step. A shared expert that is on every device
    has a gradient to be summed, too, which the logbook did not count."""
    code, lines, (row,), err = roofline(capsys, f"{SEEDS} {words} --aot v5p-8 --time-s {time_s}")
    assert code == 0, err
    seen = row["observations"]
    tokens = seen["model_ring_bytes_outputs"] + seen["model_ring_bytes_token_gradients"]
    assert tokens == RING
    assert round(tokens / time_s / 1e9, 2) == gb_per_s
    assert seen["model_ring_gb_per_s_of_whole_step"] == pytest.approx(seen["model_ring_bytes"] / time_s / 1e9)
    assert seen["given_tflops"] / 4 == pytest.approx(seen["given_tflops_per_device"])
    assert seen["given_mfu"] == pytest.approx(seen["given_tflops_per_device"] / 459)
    assert seen["roofline_fraction"] == pytest.approx(seen["roofline_bound_s"] / time_s)
    assert row["metrics"] == {}
    assert "shared" in words or any(f" {gb_per_s:.2f} GB/s " in line for line in lines)


@pytest.mark.parametrize("mode", ["", "--parallel-mode ep", "--parallel-mode dp"])
def test_the_same_for_every_tile_and_backend(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = f"--tokens 64 --hidden 8 --mlp-dim 8 --experts 8 --aot v5p-8 {mode}"
    backends = ["gmm", "gmm --tile 128,1024,2048", "gmm --tile 512,1024,2048", "ragged_dot"]
    found = [roofline(capsys, f"{sizes} --backend {backend}")[2][0]["observations"] for backend in backends]
    assert found == found[:1] * len(backends)


@pytest.mark.slow
def test_one_device_sends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, (row,), _ = roofline(capsys, "--tokens 64 --aot v5e --time-s 1e-9")
    assert code == 0
    assert not any(line.startswith("ici") for line in lines)
    assert row["observations"]["roofline_fraction"] > 1
    assert "model_ring_bytes" not in row["observations"]
    assert row["config"]["aot"] == "v5e-4"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "error: roofline needs --aot"),
        ("--aot v5p-8 --time-s 0", "error: --time-s 0 "),
        ("--aot v5p-8 --time-s nan", "error: --time-s nan "),
        ("--aot v5p-8 --time-s 1 --topk-list 1,2", "error: --time-s 1 "),
    ],
)
def test_bad_requests(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, rows, err = roofline(capsys, words)
    assert (code, lines, rows) == (2, [], [])
    assert err.startswith(message)
