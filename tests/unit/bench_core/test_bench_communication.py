"""What forms have to send, by hand and against what the compiler made of them."""

import pytest

from bench_core.hlo.collectives import Collective, CollectiveKind
from bench_core.parallel.communication import Communication, model_ring_bytes, read_communication, sendings
from bench_core.parallel.plan import SpreadPlan
from bench_core.parallel.spread import EpImpl, Spread
from bench_core.routing.layout import Assignments
from bench_core.shapes import BenchPass, DType, MoeShape
from tests.unit.bench_core.test_bench_collectives_programs import program_text

pytestmark = pytest.mark.slow

SEEDS = MoeShape(tokens=32768, hidden=2048, mlp_dim=1408, experts=60, topk=2)
FIXTURES = MoeShape(tokens=32768, hidden=2048, mlp_dim=2048, experts=64, topk=2)
BOTH = BenchPass.FORWARD_BACKWARD
MIB = 2**20


def planned(spread: Spread, **rows: int) -> SpreadPlan:
    every = Assignments(real=65536, null=0, dropped=0, layout=None)
    most = rows.pop("most_rows", 0)
    return SpreadPlan(spread=spread, assignments=every, rows=(most,), **rows)


def mib(shape: MoeShape, spread: Spread, bench_pass: BenchPass = BOTH, **rows: int) -> dict[str, float]:
    found = model_ring_bytes(sendings(shape, DType.BFLOAT16, bench_pass, planned(spread, **rows)))
    return {name.removeprefix("model_ring_bytes").lstrip("_"): number / MIB for name, number in found.items()}


def test_the_bytes_of_the_seeds() -> None:
    """Of the logbook on expert parallelism: 192 MiB for each sum of [tokens, hidden] over four, two of them."""
    spread = Spread(ep=4, impl=EpImpl.PSUM)
    assert mib(SEEDS, spread, BenchPass.FORWARD) == {"": 192, "outputs": 192}
    assert mib(SEEDS, spread) == {"": 384, "outputs": 192, "token_gradients": 192}


def test_by_hand() -> None:
    """128 MiB of tokens; the experts and weights of 2 slots are half a MiB."""
    quarter = 0.75
    assert mib(FIXTURES, Spread(ep=4, impl=EpImpl.RING)) == {
        "": (4 * 128 + 0.5) * quarter,
        "tokens": 128 * quarter,
        "routing": 0.5 * quarter,
        "outputs": 128 * quarter,
        "output_gradients": 128 * quarter,
        "token_gradients": 128 * quarter,
    }
    # Three weights of 512 MiB each, and of a shared expert 3 x 8 MiB.
    assert mib(FIXTURES, Spread(dp=4)) == {"": 2304, "weight_gradients": 2304}
    assert mib(FIXTURES, Spread(dp=4), BenchPass.FORWARD) == {"": 0}
    shared = MoeShape(tokens=32768, hidden=2048, mlp_dim=2048, experts=64, topk=2, shared_expert_dim=2048)
    assert mib(shared, Spread(dp=4))["weight_gradients"] == 2304 + 2 * 24 * quarter
    # Where experts lie apart, their weights are summed over the parts of tokens, a shared expert's over all devices.
    mesh = mib(shared, Spread(dp=2, ep=2, impl=EpImpl.PSUM))
    assert mesh == {"": 64 + 64 + 768 + 36, "outputs": 64, "token_gradients": 64, "weight_gradients": 768 + 36}
    # Rows of 4 KiB in buffers of 4160 for each of four devices; or 16384 there, and 16511 back.
    padded = mib(FIXTURES, Spread(ep=4, impl=EpImpl.ALL_TO_ALL), pair_rows=4160)
    assert (padded["tokens"], padded["routing"]) == (65 * quarter, 4 * 4160 * 8 * quarter / MIB)
    exact = mib(FIXTURES, Spread(ep=4, impl=EpImpl.RAGGED_ALL_TO_ALL), sent_rows=16384, most_rows=16511)
    assert (exact["tokens"], exact["outputs"]) == (64 * quarter, 16511 * 4096 * quarter / MIB)


FORMS = {
    "psum": (Spread(ep=4, impl=EpImpl.PSUM), {}, 0),
    "all_to_all": (Spread(ep=4, impl=EpImpl.ALL_TO_ALL), {"pair_rows": 4160}, 0),
    "dp": (Spread(dp=4), {}, 0),
    # Rows that are added to the parts of reduce-scatters.
    "ring": (Spread(ep=4, impl=EpImpl.RING), {}, 0.02),
    "ring_2x2": (Spread(dp=2, ep=2, impl=EpImpl.RING), {}, 0.001),
    "ring_4x16": (Spread(dp=4, ep=16, impl=EpImpl.RING), {}, 0.02),
    # The routing takes 128 lanes.
    "ragged": (Spread(ep=4, impl=EpImpl.RAGGED_ALL_TO_ALL), {"sent_rows": 16384, "most_rows": 16511}, 0.07),
    # Gathers and scatters by whole sums send twice as much.
    "ring_64": (Spread(ep=64, impl=EpImpl.RING), {}, 1),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_compiler_never_sends_less_and_seldom_more(name: str) -> None:
    spread, rows, more = FORMS[name]
    model = model_ring_bytes(sendings(FIXTURES, DType.BFLOAT16, BOTH, planned(spread, **rows)))["model_ring_bytes"]
    made = read_communication(program_text(name)).ring_bytes
    assert made is not None
    # The loss, and sizes of parts.
    assert model <= made <= model * (1 + more) + 256


def test_what_is_not_known_is_said() -> None:
    looped = read_communication(program_text("loop").replace("direction=LT", "direction=NE"))
    assert looped.observations() == {"compiled_ring_bytes": None}
    assert looped.labels()["communication_unknown"].startswith("1 of 1 collectives are in loops")
    assert "do libtpu and jaxlib fit together?" in read_communication(None).labels()["communication_unknown"]
    sent = (
        "HloModule f, num_partitions=2\n\nENTRY %main (x: f32[]) -> f32[] {\n  %c = f32[] collective-broadcast(%x)\n}"
    )
    assert "collective-broadcast" in read_communication(sent).labels()["communication_unknown"]
    alone = sent.replace("collective-broadcast", "all-reduce").replace("=2", "=1")
    assert read_communication(alone).labels() == {"collectives": "none"}


def test_a_loop_counts_its_turns() -> None:
    one = Collective(
        kind=CollectiveKind.ALL_TO_ALL,
        payload_bytes=4096,
        group=4,
        asynchronous=True,
        times=7,
    )
    numbers = Communication(found=(one,)).observations()
    assert numbers["compiled_ring_bytes"] == 7 * 3072
    assert (numbers["compiled_all_to_all_count"], numbers["compiled_async_collectives"]) == (7, 7)
