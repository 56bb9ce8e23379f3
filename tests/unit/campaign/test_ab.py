"""The seed that draws the order of a comparison."""

from __future__ import annotations

from logbook_agent.campaign.ab_prepare import random_seed
from logbook_agent.model.comparison import order_of_round


def test_no_seed_puts_the_same_side_first_in_every_pair() -> None:
    for moment in range(300):
        seed = random_seed(str(moment), 20, 2)
        assert len({tuple(order_of_round(seed, pair, 2)) for pair in range(1, 9)}) == 2
