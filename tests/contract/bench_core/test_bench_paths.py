"""`bench-core overlap` and `compare`: what a row says of its path, and what is refused."""

from collections.abc import Callable

import pytest

from tests.breadth import wide
from tests.contract.bench_core.cli_support import Outcome

SMALL = "--mlp-dim 6 --experts 4 --topk 2 --dtype float32 --devices 4 --backend ragged_dot --iters 2 --warmup 0"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["overlap", wide("compare")])
def test_a_row_begins_with_its_path(
    command: str, bench: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_HIDDEN", "16")
    own = "--tokens 21 --hidden 8 --staged-dp" if command == "overlap" else "--batch 3 --seq 7"
    outcome = bench(command, *own.split(), *SMALL.split())
    assert outcome.code == 0, outcome.err
    paths = {"overlap": ["ref_dp", "staged_dp", "fused_ep"], "compare": ["baseline_dp", "dp", "dp_ep"]}[command]
    assert [next(iter(row["config"].items())) for row in outcome.rows] == [("path", path) for path in paths]
    assert {row["labels"]["check"] for row in outcome.rows} == {"passed"}
    assert {row["config"]["tokens"] for row in outcome.rows} == {21}
    assert {row["labels"].get("variables") for row in outcome.rows} == {
        None if command == "overlap" else "BENCH_HIDDEN=16"
    }


@pytest.mark.parametrize(
    ("variables", "words", "message", "cause"),
    [
        ({}, "overlap --staged-parallel", "--staged-parallel ", "measured"),
        ({}, "overlap --path half_dp", "--path half_dp ", "ref_dp"),
        ({}, "overlap --parallel-mode ep", "--parallel-mode ", "--programs"),
        ({}, "overlap --devices 1", "--ep-impl all_to_all ", "1 x 1"),
        ({}, "compare --path dp --ep-size 2", "--ep-size ", "measured"),
        ({}, "compare --devices 4 --ep-size 3", "--ep-size 3 ", "(2, 4)"),
        ({"HIDDEN": "0"}, "compare --devices 4", "--hidden 0 ", "BENCH_HIDDEN=0"),
        ({"BATCH": "many"}, "compare --devices 4", "BENCH_BATCH=many ", "an option"),
        ({"HIDEN": "8"}, "compare --devices 4", "the variable BENCH_HIDEN ", "BENCH_EP_AXIS_SIZE, "),
        ({"BATCH": ""}, "compare --devices 4", "the variable BENCH_BATCH ", "BENCH_HIDDEN"),
    ],
)
def test_bad_requests_run_nothing(
    bench: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    words: str,
    message: str,
    cause: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"BENCH_{name}", value)
    outcome = bench(*words.split())
    assert (outcome.code, outcome.rows) == (2, [])
    first, second, _ = outcome.err.splitlines()
    assert first.startswith(f"error: {message}")
    assert cause in second
