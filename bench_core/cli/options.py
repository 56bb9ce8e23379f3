"""The options of `bench-core hillclimb`, one per flag of a case."""

from pathlib import Path
from typing import Annotated

import typer

from bench_core.cli.axes import DEFAULT_TOPK
from bench_core.gmm.registry import BACKENDS
from bench_core.routing.distribution import DEFAULT_RUN_ALPHA, DEFAULT_RUN_NOISE_SCALE

Tokens = Annotated[int, typer.Option(help="Rows of the input.")]
Hidden = Annotated[int, typer.Option(help="Width of the model.")]
MlpDim = Annotated[int, typer.Option(help="Width of one expert.")]
Experts = Annotated[int, typer.Option(help="Number of experts.")]
Topk = Annotated[int | None, typer.Option(help=f"Experts per token. [default: {DEFAULT_TOPK}]", show_default=False)]
TopkList = Annotated[str | None, typer.Option(metavar="K,K,...", help="One case per value, instead of --topk.")]
SharedExpertDim = Annotated[int, typer.Option(help="Width of the dense gated expert that sees every token; 0: none.")]
SharedFused = Annotated[bool, typer.Option("--shared-fused", help="The shared expert's w1|w3 as one matmul.")]
Dtype = Annotated[str, typer.Option(metavar="float32|bfloat16", help="Activations and weights; sums are float32.")]
Distribution = Annotated[
    str,
    typer.Option(
        metavar="random|runs|both",
        help="Router logits: independent normal, or consecutive tokens favour one expert.",
    ),
]
RunAlpha = Annotated[
    float | None,
    typer.Option(help=f"Runs: mean length is 1 / (1 - alpha). [default: {DEFAULT_RUN_ALPHA}]", show_default=False),
]
RunNoiseScale = Annotated[
    float | None,
    typer.Option(
        help=f"Runs: noise below the favourite's +6. [default: {DEFAULT_RUN_NOISE_SCALE}]", show_default=False
    ),
]
Backend = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(BACKENDS),
        help="Grouped matmul. [default: tiled on CPU where it serves the case, else ragged_dot]",
        show_default=False,
    ),
]
Tile = Annotated[
    str | None,
    typer.Option(
        metavar="M,K,N",
        help=f"gmm: rows, contracted width and columns of a tile. [default: {BACKENDS['gmm'].default_tile}]",
        show_default=False,
    ),
]
Impl = Annotated[
    str,
    typer.Option(
        metavar="baseline|fused_w13|preweight|fused_w13_preweight|scatter|fast|both",
        help="How the block is computed, see --list; both: all of them.",
    ),
]
RoutingPackStrategy = Annotated[
    str, typer.Option(metavar="argsort|tuple_sort", help="How assignments are sorted by expert.")
]
QueueMode = Annotated[
    str,
    typer.Option(
        metavar="full|prequeue|both", help="prequeue: dispatch is prepared outside the timed call; forward only."
    ),
]
BenchPass = Annotated[
    str,
    typer.Option(
        metavar="forward|forward_backward",
        help="What one call computes; backward: mean of squares, gradients to x and all weights.",
    ),
]
RematMode = Annotated[str, typer.Option(metavar="none|expert_mlp|combine", help="What the backward pass recomputes.")]
CapacityPolicy = Annotated[
    str,
    typer.Option(
        metavar="none|drop|pad", help="Assignments over an expert's capacity are zeroed; pad: all are computed."
    ),
]
CapacityFactor = Annotated[float | None, typer.Option(help="capacity = ceil(factor * tokens * topk / experts).")]
NullRouteFrac = Annotated[
    float | None, typer.Option(help="Fraction of slots that go to no expert. [default: 0]", show_default=False)
]
NullRouteFracList = Annotated[str | None, typer.Option(metavar="F,F,...", help="One case per fraction.")]
NullRouteSweep = Annotated[bool, typer.Option("--null-route-sweep", help="One case per fraction from 0.1 to 0.9.")]
NullRoutingMode = Annotated[
    str,
    typer.Option(
        metavar="independent|take_until_null",
        help="Which slots are null; take_until_null: a token keeps its experts before the first.",
    ),
]
RenormalizeRealAfterNull = Annotated[
    bool,
    typer.Option("--renormalize-real-after-null", help="A token's real weights sum to one again."),
]
QuantMode = Annotated[
    str,
    typer.Option(
        metavar="none|int8|int8_real",
        help="int8: fake quantisation of every matmul operand; int8_real: int8 matmuls.",
    ),
]
ParallelMode = Annotated[str, typer.Option(metavar="none", help="Spread over devices; one device for now.")]
StageTiming = Annotated[
    bool, typer.Option("--stage-timing", help="Also time pack, up, down and combine separately; forward only.")
]
Profile = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write a Perfetto trace of one extra call to a folder below DIR.")
]
Aot = Annotated[
    str | None,
    typer.Option(
        metavar="v4-8|v5e-4|v5p-8|v6e-4|tpu7x-8", help="Only compile, for that TPU; no TPU has to be present."
    ),
]
CompilerFlag = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the compiler (XLA); may be repeated.")
]
Iters = Annotated[int, typer.Option(help="Timed calls; every sample is kept.")]
Warmup = Annotated[int, typer.Option(help="Untimed calls before the timed ones.")]
Seed = Annotated[int, typer.Option(help="Seed of inputs, weights and router logits.")]
List = Annotated[bool, typer.Option("--list", help="List backends and implementations with what they serve.")]
