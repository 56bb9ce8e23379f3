"""Sizes of a mesh and of a block: what is refused, and that what a refusal proposes works."""

import re

import pytest

from bench_core.parallel.spread import EpImpl, Parallel, ParallelMode


@pytest.mark.parametrize("experts", [1, 3, 4, 7, 60])
@pytest.mark.parametrize("devices", [2, 3, 8])
@pytest.mark.parametrize("ep_impl", [None, EpImpl.RING])
@pytest.mark.parametrize("named", [{}, {"ep_size": 2}])
@pytest.mark.sample(12)
def test_the_way_to_fit_fits(experts: int, devices: int, ep_impl: EpImpl | None, named: dict[str, int]) -> None:
    parallel = Parallel(mode=ParallelMode.EP, ep_impl=ep_impl, devices=devices, **named)
    flags = dict(re.findall(r"--(\S+) (\d+)", parallel.way_to_fit(experts, devices)))
    sizes = {"devices": devices, **named} | {name.replace("-", "_"): int(size) for name, size in flags.items()}
    experts = sizes.pop("experts", experts)
    spread = Parallel(mode=ParallelMode.EP, ep_impl=ep_impl, **sizes).over(sizes["devices"], experts)
    assert spread.devices == sizes["devices"]
    assert spread.impl is ep_impl or ep_impl is None
