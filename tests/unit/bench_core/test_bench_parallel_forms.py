"""Each form against the oracle, where its arrays lie, and what it leaves unwritten."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from bench_core.blocks.inputs import make_inputs
from bench_core.blocks.modes import Programs, QueueMode, Router
from bench_core.blocks.moe import store_weights
from bench_core.errors import NonFiniteOutput
from bench_core.harness.backend import load_backend
from bench_core.harness.build import build_case, plan_case
from bench_core.harness.case import Case
from bench_core.harness.run import _checked, _prepare, check_case
from bench_core.harness.table import choices, forms, table_case
from bench_core.quant import types_for
from bench_core.routing.request import RoutingRequest
from bench_core.routing.topk import Routing
from bench_core.shapes import BenchPass, DType, MoeShape, QuantMode
from bench_core.timing.measure import Program, call, poisoned, require_in_place, require_written
from tests.breadth import covering, wide

DEVICES = 4
SMALL = MoeShape(tokens=6, hidden=8, mlp_dim=6, experts=4, topk=2, shared_expert_dim=2)
pytestmark = pytest.mark.slow


def _rows(*, ragged: bool) -> list[dict[str, str]]:
    rows = choices(DEVICES, full=False)
    return [row for row in rows if row["form"].startswith("ragged") == ragged]


def _matters(row: dict[str, str]) -> list[object]:
    """What may go wrong between devices."""
    return [row["form"], row["shape"], row["null"], row["capacity"], (row["dtype"], row["form"].split()[0])]


def _named(row: dict[str, str]) -> str:
    return " ".join(row.values())


def _few(rows: list[dict[str, str]]) -> list[Any]:
    """Those that show everything that may go wrong; of each kind of form one stays in `make test`. All rows are those
    of `bench-core check --devices 8`."""
    telling = [one.values[0] for one in covering(rows, _matters) if not one.marks]
    return covering(telling, lambda row: [row["form"].split()[0]])


@pytest.mark.parametrize("row", _few(_rows(ragged=False)), ids=_named)
@pytest.mark.sample(2)
def test_forms_compute_what_the_oracle_does(row: dict[str, str]) -> None:
    outcome = check_case(table_case("ragged_dot", row, DEVICES))
    assert outcome.word == "passed", outcome.text


def _emulated(
    operand: jax.Array,
    output: jax.Array,
    input_offsets: jax.Array,
    send_sizes: jax.Array,
    output_offsets: jax.Array,
    recv_sizes: jax.Array,
    *,
    axis_name: str,
) -> jax.Array:
    """`jax.lax.ragged_all_to_all` by its definition: everybody gets everything, and takes what is sent to it.

    XLA for CPU has no such operation. What this project adds to it are the sizes and offsets: they are what is tested.
    A receiver that expects another size than is sent gets what no result survives.
    """
    here = jax.lax.axis_index(axis_name)
    everything = [operand, input_offsets, send_sizes, output_offsets]
    operands, starts, sizes, ends = (jax.lax.all_gather(array, axis_name) for array in everything)
    row = jnp.arange(output.shape[0])
    lost = jnp.asarray(jnp.nan if jnp.issubdtype(output.dtype, jnp.floating) else -(2**20), output.dtype)
    for source in range(operands.shape[0]):
        at, size = ends[source, here], sizes[source, here]
        inside = (row >= at) & (row < at + size)
        rows = operands[source].at[row - at + starts[source, here]].get(mode="clip")
        rows = jnp.where(recv_sizes[source] == size, rows, lost)
        output = jnp.where(inside.reshape(-1, *[1] * (rows.ndim - 1)), rows, output)
    return output


@pytest.mark.parametrize("row", _few(_rows(ragged=True)), ids=_named)
def test_the_ragged_form_sends_to_the_right_places(row: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax.lax, "ragged_all_to_all", _emulated)
    case = table_case("ragged_dot", row, DEVICES)
    backend = load_backend(case, platform="cpu")
    # Not `check_case`, which says that CPUs do not have it.
    with types_for(case.dtype):
        report = _checked(case, case.shape, _prepare(case, case.shape, backend), backend)
    assert report.comparison.error_ratio <= 1


def _case(form: str, **options: Any) -> Case:
    given = {"bench_pass": BenchPass.FORWARD, "dtype": DType.FLOAT32, "backend": "ragged_dot"} | options
    return Case(shape=SMALL, routing=RoutingRequest(), parallel=forms(DEVICES)[form], iters=1, **given)


@pytest.fixture(scope="module")
def ring() -> Program:
    case = _case("ring 2 x 2")
    return _prepare(case, case.shape, load_backend(case, platform="cpu")).program


def test_arguments_lie_where_the_program_reads_them(ring: Program) -> None:
    x, weights, routing = ring.arguments
    require_in_place(ring.executable, ring.arguments)
    assert len(x.sharding.device_set) == DEVICES
    # Six tokens are eight rows on four devices, and four experts are two on each of a data shard's two.
    assert {shard.data.shape for shard in x.addressable_shards} == {(2, SMALL.hidden)}
    assert {shard.data.shape for shard in weights["w1"].addressable_shards} == {(2, SMALL.hidden, SMALL.mlp_dim)}
    assert weights["shared_w1"].sharding.is_fully_replicated
    misplaced = jax.device_put(x, jax.devices()[0])
    with pytest.raises(RuntimeError, match=r"^\[0\] lies on"):
        require_in_place(ring.executable, (misplaced, weights, routing))


def test_what_was_left_unwritten_shows_on_every_device(ring: Program) -> None:
    fresh = poisoned(ring.outputs)
    again = poisoned(ring.outputs, call(ring).outputs)
    for outputs in (fresh, again):
        output = outputs["output"]
        assert output.sharding.is_equivalent_to(ring.outputs["output"].sharding, output.ndim)
        assert np.isnan(np.asarray(output)).all()
        with pytest.raises(NonFiniteOutput, match="output holds NaN"):
            require_written(outputs)
    one_lost = call(ring).outputs["output"].at[-1, -1].set(jnp.nan)
    with pytest.raises(NonFiniteOutput):
        require_written({"output": one_lost})


def test_a_wrong_form_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that leaves out what other devices have computed."""
    monkeypatch.setattr(jax.lax, "psum", jax.lax.pmax)
    outcome = check_case(_case("psum 2 x 2"))
    assert outcome.word == "failed"
    assert "check_failed" in outcome.text


@pytest.mark.parametrize("form", ["psum 2 x 2", "dp 4"])
@pytest.mark.sample(1)
def test_a_queue_that_was_prepared_outside(form: str) -> None:
    """Each device has one of its own, and what is timed neither sorts nor gathers tokens."""
    case = _case(form, queue_mode=QueueMode.PREQUEUE, quant_mode=QuantMode.INT8, backend="tiled")
    outcome = check_case(case)
    assert outcome.word == "passed", outcome.text
    program = _prepare(case, case.shape, load_backend(case, platform="cpu")).program
    require_in_place(program.executable, program.arguments)
    assert " sort(" not in program.executable.as_text()


def test_experts_are_chosen_inside_the_program(ring: Program) -> None:
    """Each device chooses for its own tokens, two of which were added to the six."""
    case = _case("ring 2 x 2", router=Router.INSIDE)
    backend = load_backend(case, platform="cpu")
    prepared = _prepare(case, case.shape, backend)
    assert _checked(case, case.shape, prepared, backend).comparison.passed
    logits = prepared.program.arguments[2]
    assert {shard.data.shape for shard in logits.addressable_shards} == {(2, SMALL.experts)}
    assert np.isneginf(np.asarray(logits)[6:]).all()
    found = ["topk" in program.executable.as_text() for program in (prepared.program, ring)]
    assert found == [True, False]
    assert prepared.built.ran().endswith("; experts chosen inside the program")


STAGED = ["dp 4", wide("psum 4"), wide("ring 2 x 2"), wide("all_to_all 2 x 2")]


@pytest.mark.parametrize("form", STAGED)
@pytest.mark.sample(2)
def test_stages_are_programs_of_their_own(form: str) -> None:
    case = _case(form, programs=Programs.STAGES, quant_mode=QuantMode.INT8)
    backend = load_backend(case, platform="cpu")
    prepared = _prepare(case, case.shape, backend)
    assert _checked(case, case.shape, prepared, backend).comparison.passed
    program = prepared.program
    assert program.executable is None
    assert program.run.waits
    texts = {name: one.as_text() for name, (one, _) in program.run.stages.items()}
    assert list(texts) == ["pack", "up", "down", "combine"]
    # Only the first one sorts, and what is sent is sent there and at the end.
    assert [name for name, text in texts.items() if " sort(" in text] == ["pack"]
    sending = {"all-to-all(": ["pack", "combine"], "all-gather(": ["pack"], "all-reduce(": ["combine"]}
    word = {"all_to_all": "all-to-all(", "ring": "all-gather(", "psum": "all-reduce("}.get(form.split()[0])
    if word is not None:
        assert [name for name, text in texts.items() if word in text] == sending[word]
    assert "as programs of their own, each started when the one before has finished" in prepared.built.ran()


@pytest.mark.wide
@pytest.mark.parametrize("backend", ["gmm", "pallas_gpu"])
def test_a_kernel_runs_on_several_devices(backend: str) -> None:
    case = _case("psum 2 x 2", backend=backend, bench_pass=BenchPass.FORWARD_BACKWARD)
    assert check_case(case).word == "passed"


REDUCTIONS = ("dot_general", "ragged_dot_general", "reduce_sum", "scatter-add")


@pytest.mark.parametrize("backend", ["ragged_dot", "tiled"])
def test_what_xla_may_sum_across_devices_is_float32(backend: str) -> None:
    """Hence no rounding is allowed for what it sends in `--dp-impl auto`."""
    options = {
        "impl": "fused_w13",
        "dtype": DType.BFLOAT16,
        "bench_pass": BenchPass.FORWARD_BACKWARD,
        "backend": backend,
    }
    case = _case("auto 4", **options)
    chosen = np.tile(np.arange(SMALL.topk, dtype=np.int32), (8, 1))
    plan = plan_case(case, SMALL, chosen)
    built = build_case(case, SMALL, load_backend(case, platform="cpu"), plan, jax.devices())
    inputs = make_inputs(0, shape=SMALL, dtype=case.dtype, request=case.routing)
    weights = store_weights(inputs.weights, built.block.impl)
    x, routing = jnp.zeros((8, SMALL.hidden), jnp.bfloat16), Routing(jnp.asarray(chosen), jnp.ones(chosen.shape))
    found = set(_reductions(jax.make_jaxpr(built.function)(x, weights, routing).jaxpr))
    assert {name for name, _ in found} >= {"dot_general", "scatter-add"}
    assert {dtype for _, dtype in found} == {"float32", "int32"}


def _reductions(jaxpr: Any) -> Iterator[tuple[str, str]]:
    """Name and dtype of every sum, also inside of loops and calls."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in REDUCTIONS:
            yield equation.primitive.name, str(equation.outvars[0].aval.dtype)
        for inner in jaxprs_in_params(equation.params):
            yield from _reductions(inner)
