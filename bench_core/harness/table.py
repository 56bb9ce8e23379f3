"""The cases of `bench-core check`, and of `check --devices N`: every form, with what is hard for several. No JAX."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from bench_core.blocks.modes import IMPLS, RematMode, Router
from bench_core.errors import UsageError
from bench_core.harness.case import Case
from bench_core.parallel.spread import DpImpl, EpImpl, Parallel, ParallelMode
from bench_core.routing.request import (
    UNLIMITED,
    Capacity,
    CapacityPolicy,
    Distribution,
    NullMode,
    PackStrategy,
    RoutingRequest,
)
from bench_core.shapes import BenchPass, DType, MoeShape, QuantMode

SHAPES: Mapping[str, MoeShape] = MappingProxyType(
    {
        "odd": MoeShape(tokens=37, hidden=19, mlp_dim=13, experts=5, topk=2, shared_expert_dim=3),
        "one token": MoeShape(tokens=1, hidden=8, mlp_dim=6, experts=4, topk=2, shared_expert_dim=2),
        "topk = experts": MoeShape(tokens=24, hidden=16, mlp_dim=8, experts=3, topk=3),
        "one expert": MoeShape(tokens=33, hidden=8, mlp_dim=9, experts=1, topk=1),
        "empty experts": MoeShape(tokens=3, hidden=16, mlp_dim=8, experts=17, topk=1, shared_expert_dim=4),
    }
)
ROUTINGS: Mapping[str, RoutingRequest] = MappingProxyType(
    {
        "none": RoutingRequest(),
        "independent": RoutingRequest(null_frac=0.4),
        "take_until_null": RoutingRequest(
            distribution=Distribution.RUNS, null_frac=0.4, null_mode=NullMode.TAKE_UNTIL_NULL, renormalize=True
        ),
    }
)
CAPACITIES: Mapping[str, Capacity] = MappingProxyType(
    {
        "none": UNLIMITED,
        "drop": Capacity(policy=CapacityPolicy.DROP, factor=0.75),
        "pad": Capacity(policy=CapacityPolicy.PAD, factor=1.25),
    }
)
PASSES = (BenchPass.FORWARD_BACKWARD.value, BenchPass.TRAIN.value)
AXES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "impl": tuple(IMPLS),
        "pass": PASSES,
        "quant": tuple(mode.value for mode in QuantMode),
        "null": tuple(ROUTINGS),
        "capacity": tuple(CAPACITIES),
        "remat": tuple(mode.value for mode in RematMode),
        "dtype": tuple(dtype.value for dtype in DType),
        "shape": tuple(SHAPES),
    }
)


def choices(*, full: bool) -> list[dict[str, str]]:
    """Rows of the table without the backend: every combination, or a few in which every two values of two
    axes meet."""
    # Null slots are drawn outside the program, and the router of train is inside.
    everything = [
        words
        for words in itertools.product(*AXES.values())
        if BenchPass.TRAIN.value not in words or words[list(AXES).index("null")] == "none"
    ]
    return [dict(zip(AXES, words, strict=True)) for words in (everything if full else pairwise(everything))]


def pairwise(everything: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Greedy: always the first combination that adds the most pairs."""
    # Late, so that the command starts without it.
    import numpy as np

    columns = [np.array(_numbered(words)) for words in zip(*everything, strict=True)]
    found, offset = [], 0
    for one, other in itertools.combinations(columns, 2):
        width = other.max() + 1
        found.append(offset + one * width + other)
        offset += (one.max() + 1) * width
    # By combination and two of its axes, the number of the pair of values.
    pairs = np.stack(found, axis=1)
    missing = np.zeros(offset, np.bool_)
    missing[pairs] = True
    chosen = []
    while missing.any():
        best = int(missing[pairs].sum(axis=1).argmax())
        chosen.append(everything[best])
        missing[pairs[best]] = False
    return chosen


def _numbered(words: Sequence[str]) -> list[int]:
    """The number of each word, in the order in which they come up."""
    known: dict[str, int] = {}
    return [known.setdefault(word, len(known)) for word in words]


def table_case(backend: str, choice: Mapping[str, str]) -> Case:
    """The case of one row. Sorting, the shared expert's fusion and the router's place alternate with other axes."""
    shape = SHAPES[choice["shape"]]
    return Case(
        shape=shape,
        dtype=DType(choice["dtype"]),
        routing=ROUTINGS[choice["null"]],
        backend=backend,
        impl=choice["impl"],
        bench_pass=BenchPass(choice["pass"]),
        quant_mode=QuantMode(choice["quant"]),
        iters=1,
        warmup=0,
        seed=0,
        shared_fused=shape.shared_expert_dim > 0 and choice["dtype"] == DType.BFLOAT16,
        pack_strategy=PackStrategy.TUPLE_SORT if choice["capacity"] == "drop" else PackStrategy.ARGSORT,
        remat_mode=RematMode(choice["remat"]),
        capacity=CAPACITIES[choice["capacity"]],
        router=router_of(choice, inside=choice["null"] == "none"),
    )


def router_of(choice: Mapping[str, str], *, inside: bool) -> Router:
    """Where the router of a row is that has one `inside` the program without being asked for it by the pass."""
    chooses = inside and choice["impl"] == "fused_w13" and choice["pass"] != BenchPass.TRAIN
    # Its logits are float32, so float64 shows no more of it.
    return Router.INSIDE if chooses and choice["dtype"] != DType.FLOAT64 else Router.OUTSIDE


_SENDING_ROWS = (EpImpl.ALL_TO_ALL, EpImpl.RAGGED_ALL_TO_ALL)
# Runs have a mean length of a million tokens: all tokens favour one expert.
_SKEWED = RoutingRequest(distribution=Distribution.RUNS, run_alpha=0.999999)
# Every expert may have its share exactly: what is shared out evenly is at the boundary, all else over or under it.
_BOUNDARY = Capacity(policy=CapacityPolicy.DROP, factor=1.0)

# No slot of these is drawn null.
_FROM_LOGITS = ("none", "skewed")

SPREAD_AXES = ("form", "impl", "pass", "quant", "null", "capacity", "remat", "dtype", "shape")


def forms(devices: int) -> dict[str, Parallel]:
    """Every form over all devices, those of `ep` also over two data shards; by name."""
    meshes = [(1, devices)] + ([(2, devices // 2)] if devices % 2 == 0 and devices > 2 else [])
    named = {
        f"dp {devices}": Parallel(mode=ParallelMode.DP, dp_size=devices, devices=devices),
        f"auto {devices}": Parallel(mode=ParallelMode.DP, dp_impl=DpImpl.AUTO, dp_size=devices, devices=devices),
    }
    for impl, (dp, ep) in itertools.product(EpImpl, meshes):
        name = f"{impl} {ep}" if dp == 1 else f"{impl} {dp} x {ep}"
        named[name] = Parallel(mode=ParallelMode.EP, ep_impl=impl, dp_size=dp, ep_size=ep, devices=devices)
    return named


def shapes(devices: int) -> dict[str, MoeShape]:
    """Shapes whose experts can be shared out among so many devices, by what they are about."""
    return {
        "odd": MoeShape(
            tokens=4 * devices + 5, hidden=19, mlp_dim=13, experts=2 * devices, topk=2, shared_expert_dim=3
        ),
        "one token": MoeShape(tokens=1, hidden=8, mlp_dim=6, experts=devices, topk=2, shared_expert_dim=2),
        "one slot": MoeShape(tokens=3 * devices + 1, hidden=8, mlp_dim=9, experts=devices, topk=1),
        "topk = experts": MoeShape(tokens=2 * devices, hidden=16, mlp_dim=8, experts=devices, topk=devices),
        "topk > devices": MoeShape(
            tokens=devices, hidden=8, mlp_dim=8, experts=2 * devices, topk=devices + 1, shared_expert_dim=4
        ),
    }


def spread_choices(devices: int, *, full: bool) -> list[dict[str, str]]:
    """Rows of the table without the backend: every combination, or a few in which every two values of two axes meet,
    where they may meet. The ragged form has those of `all_to_all`: on a platform that lacks it no pair is lost.

    Raises:
        UsageError: one device.
    """
    if devices < 2:
        raise UsageError(
            f"--devices {devices} spreads nothing",
            cause="a table for several devices needs two",
            hint="use --devices 8, or leave it out for the table of one device",
        )
    rows = [dict(zip(SPREAD_AXES, words, strict=True)) for words in _words(devices, full=full)]
    sending = [row for row in rows if row["form"].startswith(f"{EpImpl.ALL_TO_ALL} ")]
    return rows + [row | {"form": f"ragged_{row['form']}"} for row in sending]


@functools.cache
def _words(devices: int, *, full: bool) -> tuple[tuple[str, ...], ...]:
    axes: list[Sequence[str]] = [
        [name for name, parallel in forms(devices).items() if parallel.ep_impl is not EpImpl.RAGGED_ALL_TO_ALL],
        tuple(IMPLS),
        PASSES,
        tuple(mode.value for mode in QuantMode),
        (*ROUTINGS, "skewed"),
        (*CAPACITIES, "boundary"),
        tuple(mode.value for mode in RematMode),
        tuple(dtype.value for dtype in DType),
        tuple(shapes(devices)),
    ]
    everything = [words for words in itertools.product(*axes) if _possible(words)]
    return tuple(everything if full else pairwise(everything))


def _possible(words: tuple[str, ...]) -> bool:
    """A form that sends rows has no capacity per expert, which could be padded. Sums of int8_real are integers: float64
    shows nothing more of them. The router of train is in the program, and null slots are drawn outside."""
    padded = "pad" in words and words[0].split()[0] in _SENDING_ROWS
    nulls = BenchPass.TRAIN.value in words and words[SPREAD_AXES.index("null")] not in _FROM_LOGITS
    return not padded and not nulls and not {QuantMode.INT8_REAL.value, DType.FLOAT64.value} <= {*words}


def spread_case(backend: str, choice: Mapping[str, str], devices: int) -> Case:
    """The case of one row."""
    one = table_case(backend, {**choice, "null": "none", "capacity": "none", "shape": "odd"})
    shape = shapes(devices)[choice["shape"]]
    return replace(
        one,
        shape=shape,
        routing=_SKEWED if choice["null"] == "skewed" else ROUTINGS[choice["null"]],
        capacity=_BOUNDARY if choice["capacity"] == "boundary" else CAPACITIES[choice["capacity"]],
        shared_fused=shape.shared_expert_dim > 0 and choice["dtype"] == DType.BFLOAT16,
        parallel=forms(devices)[choice["form"]],
        router=router_of(choice, inside=choice["null"] in _FROM_LOGITS),
    )
