"""The stages of a forward pass on several devices: one after another they are the block, and only the ends send."""

import jax
import numpy as np
import pytest

from bench_core.harness.backend import load_backend
from bench_core.harness.build import Built
from bench_core.harness.case import Case
from bench_core.harness.check import check_outputs
from bench_core.harness.run import _prepare
from bench_core.harness.table import forms
from bench_core.parallel.spread import ALONE
from bench_core.routing.request import Capacity, CapacityPolicy, RoutingRequest
from bench_core.shapes import BenchPass, DType, MoeShape, QuantMode
from bench_core.timing.measure import call, compile_program
from tests.breadth import wide
from tests.unit.bench_core.test_bench_parallel_forms import _emulated

pytestmark = pytest.mark.slow
DEVICES = 4
# No shared expert: it is in no stage. Two tokens fewer than the devices hold.
SHAPE = MoeShape(tokens=6, hidden=8, mlp_dim=6, experts=4, topk=2)
INNER = ("pack", "up", "down", "combine")
COLLECTIVES = ("all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-permute")


def _case(form: str, impl: str = "baseline", quant_mode: QuantMode = QuantMode.NONE) -> Case:
    return Case(
        shape=SHAPE,
        dtype=DType.FLOAT32,
        routing=RoutingRequest(null_frac=0.2),
        backend="ragged_dot",
        impl=impl,
        quant_mode=quant_mode,
        bench_pass=BenchPass.FORWARD,
        capacity=Capacity(policy=CapacityPolicy.DROP, factor=1.0),
        parallel=ALONE if form == "one" else forms(DEVICES)[form],
        iters=2,
    )


def _chained(built: Built, arguments: tuple[object, ...]) -> tuple[dict[str, object], dict[str, set[str]]]:
    """What the last stage gives, and the collectives in each."""
    state = dict(zip(("x", "weights", "routing"), arguments, strict=True))
    sent: dict[str, set[str]] = {}
    for stage in built.stages(apart=True):
        function, places = built.stage_program(stage, state["weights"])
        program = compile_program(function, tuple(state[name] for name in stage.takes), places=places)
        text = program.executable.as_text()
        sent[stage.name] = {name for name in COLLECTIVES if f" {name}(" in text or f" {name}-start(" in text}
        state |= call(program).outputs
    return state, sent


@pytest.mark.parametrize(
    ("form", "impl", "quant_mode", "send", "back"),
    [
        ("psum 2 x 2", "fused_w13", QuantMode.INT8, None, {"all-reduce"}),
        ("all_to_all 4", "baseline", QuantMode.NONE, {"all-to-all"}, {"all-to-all"}),
        wide("ring 2 x 2", "fused_w13", QuantMode.INT8_REAL, {"all-gather"}, {"reduce-scatter"}),
        wide("dp 4", "baseline", QuantMode.NONE, None, None),
        wide("one", "fused_w13", QuantMode.NONE, None, None),
        wide("ragged_all_to_all 4", "baseline", QuantMode.NONE, {"all-gather"}, {"all-gather"}),
    ],
)
@pytest.mark.sample(2)
def test_stages_are_the_block_and_only_the_ends_send(
    form: str,
    impl: str,
    quant_mode: QuantMode,
    send: set[str] | None,
    back: set[str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jax.lax, "ragged_all_to_all", _emulated)
    case = _case(form, impl, quant_mode)
    backend = load_backend(case, platform="cpu")
    prepared = _prepare(case, SHAPE, backend)
    state, sent = _chained(prepared.built, prepared.program.arguments)
    output = state["combined" if back is None else "output"]
    if form == "psum 2 x 2":
        # As it lies on all devices, and each of the two data shards has its own tokens.
        assert {shard.data.shape for shard in output.addressable_shards} == {(4, SHAPE.hidden)}
    check_outputs(case, SHAPE, prepared.inputs, {"output": output}, backend, prepared.built.plan.buckets)
    np.testing.assert_allclose(output, prepared.first.outputs["output"], rtol=1e-5, atol=1e-6)
    assert sent == (
        ({} if send is None else {"send": send})
        | {name: set() for name in INNER}
        | ({} if back is None else {"return": back})
    )
