"""What readers and writers say that is small, and was wrong or missing."""

from __future__ import annotations

import pytest

from logbook_agent.model.entry import typed_id

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("s-2", "S-002"),
        ("S-2", "S-002"),
        ("moe-i8-3", "MOE-I8-003"),
        ("MOE-1234", "MOE-1234"),
        ("x", "x"),
        ("-1", "-1"),
    ],
)
def test_ids_as_people_type_them(typed: str, meant: str) -> None:
    assert typed_id(typed) == meant
