"""`--bench-pass train`: the gradients of routing weights and router, beside those of `forward_backward`."""

from collections.abc import Mapping
from dataclasses import replace

import jax
import numpy as np
import pytest

from bench_core.accounting import count_bytes, count_flops
from bench_core.aot.run import _arguments
from bench_core.blocks.bounded import BoundedMath
from bench_core.blocks.inputs import make_inputs
from bench_core.blocks.modes import QueueMode, RematMode, Router
from bench_core.blocks.oracle import Oracle, OracleInputs
from bench_core.errors import UsageError
from bench_core.gmm.base import FLOAT32_ACCUMULATION
from bench_core.harness.backend import load_backend
from bench_core.harness.build import block_spec
from bench_core.harness.case import Case
from bench_core.harness.check import host_inputs
from bench_core.harness.run import _prepare, check_case
from bench_core.harness.table import forms, table_case
from bench_core.parallel.spread import ALONE
from bench_core.routing.layout import Assignments
from bench_core.routing.request import RoutingRequest
from bench_core.shapes import BenchPass, DType, MoeShape, QuantMode
from bench_core.timing.compiling import program_cost
from tests.breadth import wide
from tests.unit.bench_core.bench_problems import ODD

SHAPE = MoeShape(tokens=7, hidden=5, mlp_dim=4, experts=6, topk=3, shared_expert_dim=3)
ROUTING = RoutingRequest()


def _case(**options: object) -> Case:
    given: dict[str, object] = {
        "shape": ODD,
        "routing": ROUTING,
        "backend": "ragged_dot",
        "bench_pass": BenchPass.TRAIN,
    }
    return Case(**(given | options))


def _inputs(weights: Mapping[str, np.ndarray] | None = None) -> OracleInputs:
    inputs = make_inputs(3, shape=SHAPE, dtype=DType.FLOAT32, request=ROUTING, router=True, inside=True)
    found = host_inputs(inputs)
    return replace(found, weights={**found.weights, **(weights or {})})


@pytest.mark.parametrize("name", ["router", wide("w2")])
def test_the_oracle_agrees_with_differences_of_its_own_loss(name: str) -> None:
    """The hand-derived gradient against (loss(w + h) - loss(w - h)) / 2h, in float64: no program takes part."""
    oracle = Oracle(math=BoundedMath(arithmetic=FLOAT32_ACCUMULATION, dtype=DType.FLOAT64), quant_mode=QuantMode.NONE)
    inputs = _inputs()
    weight = inputs.weights[name].astype(np.float64)
    gradient = oracle.expected(inputs, BenchPass.TRAIN)[f"grad_{name}"].value
    assert gradient.shape == weight.shape
    for at in np.ndindex(weight.shape):
        step = np.zeros_like(weight)
        step[at] = 1e-4
        above, below = (
            oracle.expected(replace(inputs, weights={**inputs.weights, name: moved}), BenchPass.TRAIN)["loss"].value
            for moved in (weight + step, weight - step)
        )
        assert (above - below) / 2e-4 == pytest.approx(gradient[at], rel=1e-4, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("form", [f if f in ("psum 2 x 4", "all_to_all 8") else wide(f) for f in forms(8)])
def test_every_form_on_eight_devices_against_the_oracle(form: str) -> None:
    choice = {
        "form": form,
        "impl": "fused_w13",
        "pass": "train",
        "quant": "none",
        "null": "skewed",
        "capacity": "drop",
        "remat": "none",
        "dtype": "float64",
        "shape": "odd",
    }
    outcome = check_case(table_case("ragged_dot", choice, 8))
    assert outcome.word == ("unsupported" if form.startswith("ragged") else "passed"), outcome.text


def _flops(case: Case) -> float:
    prepared = _prepare(case, case.shape, load_backend(case, platform="cpu"))
    flops = program_cost(prepared.program.executable).flops
    assert flops is not None
    return flops


@pytest.mark.slow
def test_the_router_is_the_work_that_train_adds() -> None:
    """In the compiled programs, and by the model. The rest is elementwise: a product for each row and column."""
    shape = MoeShape(tokens=256, hidden=64, mlp_dim=8, experts=64, topk=1)
    case = _case(shape=shape, dtype=DType.FLOAT32)
    before = replace(case, bench_pass=BenchPass.FORWARD_BACKWARD)
    router = count_flops(shape, BenchPass.TRAIN) - count_flops(shape, BenchPass.FORWARD_BACKWARD)
    assert router == 3 * 2 * 256 * 64 * 64
    assert 1.0 <= (_flops(case) - _flops(before)) / router < 1.1


def test_the_router_is_traffic_too() -> None:
    more = count_bytes(ODD, DType.BFLOAT16, BenchPass.TRAIN)
    less = count_bytes(ODD, DType.BFLOAT16, BenchPass.FORWARD_BACKWARD)
    router = ODD.hidden * ODD.experts + ODD.tokens * (ODD.hidden + ODD.experts)
    assert more.total - less.total == 3 * 2 * router


@pytest.mark.slow
@pytest.mark.parametrize("form", ["one", wide("ring 2 x 2")])
def test_what_is_compiled_for_a_tpu_takes_what_is_run(form: str) -> None:
    shape = MoeShape(tokens=16, hidden=8, mlp_dim=4, experts=4)
    case = _case(shape=shape, parallel=ALONE if form == "one" else forms(4)[form])
    prepared = _prepare(case, shape, load_backend(case, platform="cpu"))
    run, compiled = prepared.program.arguments, _arguments(case, prepared.built)
    assert jax.tree.map(lambda a: (a.shape, a.dtype), run) == jax.tree.map(lambda a: (a.shape, a.dtype), compiled)
    assert run[1]["router"].shape == (1, 8, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"router": Router.INSIDE}, "--router inside cannot be combined with --bench-pass train"),
        ({"routing": RoutingRequest(null_frac=0.5)}, "--bench-pass train cannot be combined with --null-route-frac"),
        ({"queue_mode": QueueMode.PREQUEUE}, "--bench-pass train cannot be combined with --queue-mode prequeue"),
    ],
)
def test_what_train_has_not(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        _case(**options)
    assert refused.value.message == message


def test_what_recomputes_the_weighted_sum() -> None:
    assert _case(remat_mode=RematMode.COMBINE).no_effect() == ()
    other = _case(remat_mode=RematMode.COMBINE, bench_pass=BenchPass.FORWARD_BACKWARD)
    assert other.no_effect() == ("remat_mode",)
    backend, whole = load_backend(other, platform="cpu"), Assignments(real=26, null=0, dropped=0, layout=None)
    # What the label says: the program is that without it.
    assert block_spec(other, backend, whole).remat_mode is RematMode.NONE


@pytest.mark.slow
def test_recomputing_the_weighted_sum_saves_the_results_of_the_rows() -> None:
    """Four experts for each token, whose results are wider than what is kept of their inner layer."""
    shape = MoeShape(tokens=256, hidden=256, mlp_dim=16, experts=4, topk=4)

    def temporaries(remat: RematMode) -> int:
        case = _case(shape=shape, dtype=DType.FLOAT32, remat_mode=remat)
        prepared = _prepare(case, shape, load_backend(case, platform="cpu"))
        size: int = prepared.program.executable.memory_analysis().temp_size_in_bytes
        return size

    rows = 256 * 4 * 256 * 4
    assert temporaries(RematMode.NONE) - temporaries(RematMode.COMBINE) >= rows // 2
