"""Requests that are refused before anything runs: one error of three lines, which names the option and its value."""

import re
from collections.abc import Callable

import pytest

from tests.contract.bench_core.cli_support import Outcome

# Words, and what the error begins with; None: the words themselves.
BAD: dict[str, str | None] = {
    "--topk 9 --experts 8": "--topk 9",
    "--topk-list 1,9": "--topk 9",
    "--topk 2 --topk-list 1,2": "--topk and --topk-list",
    "--topk-list 1,two": None,
    "--topk-list 2,2": None,
    "--tokens 0": None,
    "--hidden -4": None,
    "--shared-expert-dim -1": None,
    "--tokens many": "invalid value for '--tokens'",
    "--dtype float8": None,
    "--dtype float64": None,
    "--backend cutlass": None,
    "--impl best": None,
    "--distribution zipf": None,
    "--bench-pass backward": None,
    "--quant-mode int4": None,
    "--parallel-mode tp": None,
    "--iters 0": None,
    "--warmup -1": None,
    "--seed -1": None,
    "--shared-fused": None,
    "--routing-pack-strategy radix": None,
    "--queue-mode later": None,
    "--router inside --queue-mode prequeue": "--router inside",
    "--router inside --null-route-frac 0.1": "--router inside",
    "--programs stages --bench-pass forward_backward": "--programs stages",
    "--programs stages_async --queue-mode prequeue": "--programs stages_async",
    "--programs stages --parallel-mode dp --dp-impl auto": "--programs stages",
    "--remat-mode combine": None,
    "--null-route-frac 1": "--null-route-frac 1.0",
    "--null-route-frac nan": None,
    "--null-route-frac-list 0.1,half": None,
    "--null-route-frac-list 0.1,0.10": None,
    "--null-route-frac 0.1 --null-route-sweep": "--null-route-frac and --null-route-sweep",
    "--null-routing-mode some": None,
    "--distribution runs --run-alpha 1": "--run-alpha 1.0",
    "--run-alpha 0.9": "--run-alpha",
    "--capacity-policy drop": None,
    "--capacity-factor 2": "--capacity-factor 2.0",
    "--capacity-policy pad --capacity-factor 0": "--capacity-factor 0.0",
    "--stage-timing --bench-pass forward_backward": "--stage-timing",
    "--stage-timing --queue-mode both": "--stage-timing",
    "--stage-timing --router inside": "--stage-timing",
    "--stage-timing --programs stages": "--stage-timing",
    "--aot v3": None,
    "--backend gmm --tile 8": "--tile 8",
    "--tile 8,128,128": None,
    "--backend tiled --tile 8,128,128": "--tile 8,128,128",
    "--tok 4": "no such option: --tok",
    "--ep-impl ring": "--ep-impl",
    "--dp-size 2": "--dp-size",
    "--parallel-mode ep --dp-impl auto": "--dp-impl",
    "--parallel-mode dp --dp-impl pmap": "--dp-impl pmap",
    "--parallel-mode dp --dp-impl auto --queue-mode prequeue": "--queue-mode prequeue",
    "--parallel-mode dp --ep-size 2": "--ep-size",
    "--parallel-mode ep --ep-size 0": "--ep-size 0",
    "--parallel-mode ep --ep-impl star": "--ep-impl star",
    "--parallel-mode ep --experts 4 --ep-size 3": "4 experts",
    "--parallel-mode dp --devices 9": "--devices 9",
    "--parallel-mode ep --ep-impl ring --queue-mode prequeue": "--queue-mode prequeue",
    "--parallel-mode ep --ep-impl all_to_all --capacity-policy pad --capacity-factor 1": "--capacity-policy pad",
    "forward": "got unexpected extra argument",
}


def test_bad_input_is_one_clear_error(bench: Callable[..., Outcome]) -> None:
    for words, named in BAD.items():
        outcome = bench("hillclimb", *words.split())
        assert (outcome.code, outcome.out) == (2, ""), words
        error, cause, hint = outcome.err.splitlines()
        assert re.match(rf"error: {re.escape(named or words)}(?!\w)", error), (words, error)
        assert (cause[:9], hint[:8]) == ("  cause: ", "  next: "), words


def test_a_whole_error(bench: Callable[..., Outcome]) -> None:
    assert bench("hillclimb", "--dtype", "float8").err == (
        "error: --dtype float8 is not known\n"
        "  cause: this version supports: float32, bfloat16\n"
        "  next: use --dtype float32, or see bench-core hillclimb --list\n"
    )


@pytest.mark.parametrize("words", [[], ["roofline"], ["--loud"]])
def test_commands_that_do_not_exist(bench: Callable[..., Outcome], words: list[str]) -> None:
    outcome = bench(*words)
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 3
