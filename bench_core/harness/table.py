"""The cases of `bench-core check`, and of `check --devices N`: every form, with what is hard for several. No JAX."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from bench_core.blocks.modes import IMPLS, RematMode, Router
from bench_core.errors import UsageError
from bench_core.harness.case import Case
from bench_core.parallel.spread import ALONE, DpImpl, EpImpl, Parallel, ParallelMode
from bench_core.routing.request import (
    UNLIMITED,
    Capacity,
    CapacityPolicy,
    Distribution,
    NullMode,
    PackStrategy,
    RoutingRequest,
)
from bench_core.shapes import CHECKED_SHAPES, BenchPass, DType, MoeShape, QuantMode, spread_shapes

ROUTINGS: Mapping[str, RoutingRequest] = MappingProxyType(
    {
        "none": RoutingRequest(),
        "independent": RoutingRequest(null_frac=0.4),
        "take_until_null": RoutingRequest(
            distribution=Distribution.RUNS, null_frac=0.4, null_mode=NullMode.TAKE_UNTIL_NULL, renormalize=True
        ),
        # Runs have a mean length of a million tokens: all tokens favour one expert.
        "skewed": RoutingRequest(distribution=Distribution.RUNS, run_alpha=0.999999),
    }
)
CAPACITIES: Mapping[str, Capacity] = MappingProxyType(
    {
        "none": UNLIMITED,
        "drop": Capacity(policy=CapacityPolicy.DROP, factor=0.75),
        "pad": Capacity(policy=CapacityPolicy.PAD, factor=1.25),
        # Every expert may have its share exactly: what is shared out evenly is at the boundary, all else over or under.
        "boundary": Capacity(policy=CapacityPolicy.DROP, factor=1.0),
    }
)
_OF_SEVERAL = ("skewed", "boundary")
"""They are hard where devices share the experts, and stand in a table for several devices alone."""

Choice = Mapping[str, str]
"""A row of the table without the backend: a word for each axis."""


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


def axes(devices: int | None) -> dict[str, Sequence[str]]:
    """The words of each axis of the table, for one device or several."""
    several = {} if devices is None else {"form": [*forms(devices)]}
    return several | {
        "impl": tuple(IMPLS),
        "pass": (BenchPass.FORWARD_BACKWARD.value, BenchPass.TRAIN.value),
        "quant": tuple(QuantMode),
        "null": [name for name in ROUTINGS if several or name not in _OF_SEVERAL],
        "capacity": [name for name in CAPACITIES if several or name not in _OF_SEVERAL],
        "remat": tuple(RematMode),
        "dtype": tuple(DType),
        "shape": tuple(CHECKED_SHAPES if devices is None else spread_shapes(devices)),
    }


@functools.cache
def choices(devices: int | None = None, *, full: bool) -> list[dict[str, str]]:
    """Rows of the table: every combination, or a few in which every two values of two axes meet, where they may meet.
    The ragged form has the rows of `all_to_all`: on a platform that lacks it no pair is lost.

    Raises:
        UsageError: one device is to be several.
    """
    if devices is not None and devices < 2:
        raise UsageError(
            f"--devices {devices} spreads nothing",
            cause="a table for several devices needs two",
            hint="use --devices 8, or leave it out for the table of one device",
        )
    words = axes(devices)
    everything = [dict(zip(words, map(str, row), strict=True)) for row in itertools.product(*words.values())]
    possible = [row for row in everything if _possible(row)]
    rows = possible if full else pairwise(possible)
    sending = [row for row in rows if row.get("form", "").startswith(f"{EpImpl.ALL_TO_ALL} ")]
    return rows + [row | {"form": f"ragged_{row['form']}"} for row in sending]


def _possible(row: Choice) -> bool:
    """The router of train is in the program, and null slots are drawn outside. A form that sends rows has no capacity
    per expert, which could be padded. Sums of int8_real are integers: float64 shows nothing more of them."""
    form = row.get("form", "").split()
    if row["pass"] == BenchPass.TRAIN and ROUTINGS[row["null"]].null_frac:
        return False
    padded = row["capacity"] == "pad" and form[:1] == [EpImpl.ALL_TO_ALL]
    integers = row["quant"] == QuantMode.INT8_REAL and row["dtype"] == DType.FLOAT64
    return not form or not (padded or integers or form[0] == EpImpl.RAGGED_ALL_TO_ALL)


def pairwise(everything: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Greedy: always the first combination that adds the most pairs."""
    # Late, so that the command starts without it.
    import numpy as np

    # The number of each word of an axis, in the order in which they come up.
    known: dict[str, dict[str, int]] = {axis: {} for axis in everything[0]}
    columns = [
        np.array([numbers.setdefault(row[axis], len(numbers)) for row in everything]) for axis, numbers in known.items()
    ]
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


def table_case(backend: str, choice: Choice, devices: int | None = None) -> Case:
    """The case of one row. Sorting, the shared expert's fusion and the router's place alternate with other axes."""
    shape: MoeShape = (CHECKED_SHAPES if devices is None else spread_shapes(devices))[choice["shape"]]
    routing, dtype, bench_pass = ROUTINGS[choice["null"]], DType(choice["dtype"]), BenchPass(choice["pass"])
    # Router logits are float32, so float64 shows no more of them.
    chooses = choice["impl"] == "fused_w13" and not routing.null_frac and dtype is not DType.FLOAT64
    return Case(
        shape=shape,
        dtype=dtype,
        routing=routing,
        backend=backend,
        impl=choice["impl"],
        bench_pass=bench_pass,
        quant_mode=QuantMode(choice["quant"]),
        iters=1,
        warmup=0,
        seed=0,
        shared_fused=shape.shared_expert_dim > 0 and dtype is DType.BFLOAT16,
        pack_strategy=(
            PackStrategy.TUPLE_SORT if devices is None and choice["capacity"] == "drop" else PackStrategy.ARGSORT
        ),
        remat_mode=RematMode(choice["remat"]),
        capacity=CAPACITIES[choice["capacity"]],
        parallel=ALONE if devices is None else forms(devices)[choice["form"]],
        router=Router.INSIDE if chooses and bench_pass is not BenchPass.TRAIN else Router.OUTSIDE,
    )
