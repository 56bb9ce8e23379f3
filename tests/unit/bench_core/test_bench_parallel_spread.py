"""How a case is spread: the mesh that flags ask for, and what is refused."""

import pytest

from bench_core.blocks.modes import Sends
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
