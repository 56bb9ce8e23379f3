"""How a case is spread: the mesh that flags ask for, and what is refused."""

import pytest

from bench_core.blocks.modes import Sends
from bench_core.errors import UnsupportedCase
from bench_core.harness.build import require_form
from bench_core.harness.environment import make_cpu_devices
from bench_core.harness.table import spread_case, spread_choices
from bench_core.parallel.spread import ONE_DEVICE, DpImpl, EpImpl, Parallel, ParallelMode, Spread

EP = ParallelMode.EP


@pytest.mark.parametrize(
    ("parallel", "spread"),
    [
        (Parallel(), ONE_DEVICE),
        (Parallel(devices=4), ONE_DEVICE),
        (Parallel(mode=ParallelMode.DP), Spread(dp=8)),
        (Parallel(mode=ParallelMode.DP, devices=4), Spread(dp=4)),
        (Parallel(mode=ParallelMode.DP, dp_size=3), Spread(dp=3)),
        (Parallel(mode=ParallelMode.DP, dp_impl=DpImpl.SHARD_MAP, dp_size=3), Spread(dp=3)),
        (Parallel(mode=ParallelMode.DP, dp_impl=DpImpl.AUTO), Spread(dp=8, auto=True)),
        (Parallel(mode=EP), Spread(ep=8, impl=EpImpl.PSUM)),
        (Parallel(mode=EP, devices=2, ep_impl=EpImpl.RING), Spread(ep=2, impl=EpImpl.RING)),
        (Parallel(mode=EP, ep_size=4), Spread(ep=4, impl=EpImpl.PSUM)),
        (Parallel(mode=EP, dp_size=2), Spread(dp=2, ep=4, impl=EpImpl.PSUM)),
        (Parallel(mode=EP, dp_size=2, ep_size=2), Spread(dp=2, ep=2, impl=EpImpl.PSUM)),
        (Parallel(mode=EP, ep_size=1), Spread()),
    ],
)
def test_sizes(parallel: Parallel, spread: Spread) -> None:
    assert parallel.over(8, 16) == spread
    said = parallel.as_spread(spread)
    assert said.spread == spread
    # Once all sizes are said, they say the same again.
    assert said.over(8, 16) == spread
    assert said.as_spread(spread) == said


@pytest.mark.slow
def test_only_the_ragged_form_on_cpu_is_refused() -> None:
    rows = {row["form"]: row for row in spread_choices(4, full=False)}
    for form, row in rows.items():
        case = spread_case("ragged_dot", row, 4)
        require_form(case, platform="tpu")
        if form.startswith("ragged"):
            with pytest.raises(UnsupportedCase):
                require_form(case, platform="cpu")
        else:
            require_form(case, platform="cpu")


@pytest.mark.parametrize(
    ("spread", "sends"),
    [
        (Spread(), Sends()),
        (Spread(dp=8), Sends(weight_parts=8, shared_parts=8)),
        (Spread(dp=8, auto=True), Sends()),
        # Of eight parts three have a term: two of the chosen experts, and the shared one.
        (Spread(ep=8, impl=EpImpl.PSUM), Sends(output=2, input_gradient=2, shared_parts=8)),
        # Of eight parts two; then their sum is rounded before the shared expert's result is added.
        (Spread(ep=8, impl=EpImpl.RING), Sends(output=2, input_gradient=1, shared_parts=8)),
        (Spread(dp=2, ep=4, impl=EpImpl.ALL_TO_ALL), Sends(output=2, weight_parts=2, shared_parts=8)),
    ],
)
def test_roundings_of_what_is_sent(spread: Spread, sends: Sends) -> None:
    assert spread.sends(topk=2, shared=True) == sends


def test_virtual_devices_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def update(_: str, count: int) -> None:
        made.append(count)
        raise RuntimeError("JAX has started")

    monkeypatch.setattr("bench_core.harness.environment._update", update)
    make_cpu_devices(4, {})
    make_cpu_devices(4, {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"})
    assert made == [4]


@pytest.mark.slow
def test_every_pair_that_is_possible_meets() -> None:
    rows = spread_choices(4, full=False)
    forms = {row["form"] for row in rows}
    assert {
        "dp 4",
        "auto 4",
        "psum 4",
        "ring 4",
        "all_to_all 4",
        "psum 2 x 2",
        "ring 2 x 2",
        "all_to_all 2 x 2",
    } <= forms
    assert {"ragged_all_to_all 4", "ragged_all_to_all 2 x 2"} <= forms
    for form in forms:
        own = [row for row in rows if row["form"] == form]
        assert {row["shape"] for row in own} == {"odd", "one token", "one slot", "topk = experts", "topk > devices"}
        sends_rows = "all_to_all" in form
        assert {row["capacity"] for row in own} == {"none", "drop", "boundary"} | (set() if sends_rows else {"pad"})
