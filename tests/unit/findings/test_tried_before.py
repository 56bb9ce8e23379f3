"""What makes two commands one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.attempts import command_key
from tests.breadth import examples

pytestmark = pytest.mark.slow


FLAGS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9)), unique_by=lambda f: f[0], max_size=4)


@examples(50)
@given(FLAGS.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_the_order_of_flags_makes_no_other_command(both: tuple[list[tuple[str, int]], list[tuple[str, int]]]) -> None:
    mine, other = (["bench", *(word for name, value in found for word in (f"--{name}", str(value)))] for found in both)
    assert command_key(mine) == command_key(other)
    assert command_key([*mine, "--e"]) != command_key(other)
