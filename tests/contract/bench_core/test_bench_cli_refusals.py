"""Requests that are refused before anything runs."""

from collections.abc import Callable

import pytest

from bench_core.gmm.registry import BACKENDS
from tests.contract.bench_core.cli_support import Outcome

BAD = {
    "topk over experts": ("--topk 9 --experts 8", "--topk 9 is larger than --experts 8"),
    "topk in list": ("--topk-list 1,9", "--topk 9 is larger than --experts 8"),
    "both topk": ("--topk 2 --topk-list 1,2", "--topk and --topk-list cannot be given together"),
    "list of words": ("--topk-list 1,two", "--topk-list 1,two is not a list of whole numbers"),
    "empty list": ("--topk-list=", "--topk-list  is not a list of whole numbers"),
    "repeated topk": ("--topk-list 2,2", "--topk-list 2,2 names a value twice"),
    "no tokens": ("--tokens 0", "--tokens 0 is not a usable size"),
    "negative hidden": ("--hidden -4", "--hidden -4 is not a usable size"),
    "no mlp": ("--mlp-dim 0", "--mlp-dim 0 is not a usable size"),
    "no experts": ("--experts 0", "--experts 0 is not a usable size"),
    "no topk": ("--topk 0", "--topk 0 is not a usable size"),
    "negative shared": ("--shared-expert-dim -1", "--shared-expert-dim -1 is not a usable size"),
    "not a number": ("--tokens many", "invalid value for '--tokens'"),
    "dtype": ("--dtype float8", "--dtype float8 is not known"),
    "backend": ("--backend cutlass", "--backend cutlass is not known"),
    "impl": ("--impl best", "--impl best is not known"),
    "distribution": ("--distribution zipf", "--distribution zipf is not known"),
    "pass": ("--bench-pass backward", "--bench-pass backward is not known"),
    "quant mode": ("--quant-mode int4", "--quant-mode int4 is not known"),
    "parallel mode": ("--parallel-mode tp", "--parallel-mode tp is not known"),
    "iters": ("--iters 0", "--iters 0 is too small"),
    "warmup": ("--warmup -1", "--warmup -1 is too small"),
    "seed": ("--seed -1", "--seed -1 is not a usable seed"),
    "shared fused": ("--shared-fused", "--shared-fused changes nothing without a shared expert"),
    "pack": ("--routing-pack-strategy radix", "--routing-pack-strategy radix is not known"),
    "queue": ("--queue-mode later", "--queue-mode later is not known"),
    "router": ("--router elsewhere", "--router elsewhere is not known"),
    "router prequeue": (
        "--router inside --queue-mode prequeue",
        "--router inside cannot be combined with --queue-mode prequeue",
    ),
    "router null": (
        "--router inside --null-route-frac 0.1",
        "--router inside cannot be combined with --null-route-frac",
    ),
    "programs": ("--programs two", "--programs two is not known"),
    "programs backward": (
        "--programs stages --bench-pass forward_backward",
        "--programs stages cannot be combined with --bench-pass forward_backward",
    ),
    "programs prequeue": (
        "--programs stages_async --queue-mode prequeue",
        "--programs stages_async cannot be combined with --queue-mode prequeue",
    ),
    "programs auto": (
        "--programs stages --parallel-mode dp --dp-impl auto",
        "--programs stages cannot be combined with --dp-impl auto",
    ),
    "remat": ("--remat-mode all", "--remat-mode all is not known"),
    "remat forward": ("--remat-mode combine", "--remat-mode combine changes nothing in --bench-pass forward"),
    "null": ("--null-route-frac 1", "--null-route-frac 1.0 is not a usable fraction"),
    "negative null": ("--null-route-frac -0.1", "--null-route-frac -0.1 is not a usable fraction"),
    "nan null": ("--null-route-frac nan", "--null-route-frac nan is not a usable fraction"),
    "null list": ("--null-route-frac-list 0.1,half", "--null-route-frac-list 0.1,half is not a list of numbers"),
    "repeated null": ("--null-route-frac-list 0.1,0.10", "--null-route-frac-list 0.1,0.10 names a value twice"),
    "two nulls": (
        "--null-route-frac 0.1 --null-route-sweep",
        "--null-route-frac and --null-route-sweep cannot be given together",
    ),
    "null mode": ("--null-routing-mode some", "--null-routing-mode some is not known"),
    "run alpha": ("--distribution runs --run-alpha 1", "--run-alpha 1.0 is not a usable chance"),
    "run noise": ("--distribution runs --run-noise-scale -1", "--run-noise-scale -1.0 is not a usable scale"),
    "idle run alpha": ("--run-alpha 0.9", "--run-alpha changes nothing in --distribution random"),
    "capacity without factor": ("--capacity-policy drop", "--capacity-policy drop needs --capacity-factor"),
    "factor without capacity": ("--capacity-factor 2", "--capacity-factor 2.0 changes nothing without a capacity"),
    "zero factor": ("--capacity-policy pad --capacity-factor 0", "--capacity-factor 0.0 is not a usable factor"),
    "capacity policy": ("--capacity-policy spill", "--capacity-policy spill is not known"),
    "stages backward": (
        "--stage-timing --bench-pass forward_backward",
        "--stage-timing cannot be combined with --bench-pass forward_backward",
    ),
    "stages prequeue": (
        "--stage-timing --queue-mode both",
        "--stage-timing cannot be combined with --queue-mode prequeue",
    ),
    "stages cut by XLA": (
        "--stage-timing --parallel-mode dp --dp-impl auto",
        "--stage-timing cannot be combined with --dp-impl auto",
    ),
    "stages with a router": (
        "--stage-timing --router inside",
        "--stage-timing cannot be combined with --router inside",
    ),
    "stages of stages": ("--stage-timing --programs stages", "--stage-timing cannot be combined with --programs"),
    "ahead of time": ("--aot v3", "--aot v3 is not known"),
    "tile": ("--backend gmm --tile 8", "--tile 8 is not a tile"),
    "row tiles": ("--backend tiled --row-tiles 8,many", "--row-tiles 8,many are not row tiles"),
    "row tiles that rise": ("--backend tiled --row-tiles 8,32", "--row-tiles 8,32 are not usable tiles"),
    "row tiles of none": ("--backend tiled --row-tiles 0", "--row-tiles 0 are not usable tiles"),
    "row tiles elsewhere": ("--backend gmm --row-tiles 8", "--row-tiles 8 changes nothing with --backend gmm"),
    "row tiles alone": ("--row-tiles 8", "--row-tiles 8 changes nothing without --backend tiled"),
    "tile alone": ("--tile 8,128,128", "--tile 8,128,128 changes nothing without --backend gmm"),
    "abbreviated": ("--tok 4", "no such option: --tok"),
    "argument": ("forward", "got unexpected extra argument"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_clear_error(bench: Callable[..., Outcome], words: str, message: str) -> None:
    outcome = bench("hillclimb", *words.split())
    assert outcome.code == 2
    assert outcome.out == ""
    error, cause, hint = outcome.err.splitlines()
    assert error.startswith(f"error: {message}")
    assert cause.startswith("  cause: ")
    assert hint.startswith("  next: ")


def test_whole_error(bench: Callable[..., Outcome]) -> None:
    assert bench("hillclimb", "--backend", "cutlass").err == (
        "error: --backend cutlass is not known\n"
        f"  cause: this version supports: {', '.join(BACKENDS)}\n"
        "  next: use --backend ragged_dot, or see bench-core hillclimb --list\n"
    )


@pytest.mark.parametrize("words", [[], ["roofline"], ["--loud"]])
def test_commands_that_do_not_exist(bench: Callable[..., Outcome], words: list[str]) -> None:
    outcome = bench(*words)
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 3
