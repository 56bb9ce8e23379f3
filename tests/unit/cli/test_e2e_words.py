"""Words that a newcomer types: a topic without a prefix, a note's text, `void`."""

from __future__ import annotations

import pytest

from logbook_agent.entries.stated import derived_prefix
from logbook_agent.model.entry import PREFIX


@pytest.mark.parametrize(
    ("topic", "prefix"),
    [
        ("moe_ep_int8", "MOE-EP-INT8"),
        ("moe_ep_int8_overlap_on_v5p", "MOE-EP-INT8"),
        ("2d_conv", "EXP-2D-CONV"),
        ("a", "A"),
    ],
)
def test_a_prefix_is_derived_from_the_topic(topic: str, prefix: str) -> None:
    assert derived_prefix(topic, ()) == prefix
    assert derived_prefix(topic, {prefix, f"{prefix}-2"}) == f"{prefix}-3"
    assert PREFIX.fullmatch(prefix)
