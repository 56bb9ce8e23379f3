"""The cases of `bench-core check`. No JAX."""

import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from bench_core.blocks.impls import IMPLS
from bench_core.blocks.modes import RematMode, Router
from bench_core.harness.case import Case
from bench_core.quant.mode import QuantMode
from bench_core.routing.capacity import UNLIMITED, Capacity, CapacityPolicy
from bench_core.routing.distribution import Distribution, NullMode, RoutingRequest
from bench_core.routing.strategy import PackStrategy
from bench_core.shapes import BenchPass, DType, MoeShape

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
