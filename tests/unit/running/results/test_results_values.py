from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.model.run import Scalar
from logbook_agent.model.values import canonical, parse_scalar, row_key


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        ("-0.5", -0.5),
        ("1e-1", 0.1),
        ("true", True),
        ("False", False),
        ("null", None),
        ("None", None),
        ("none", "none"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e999", "1e999"),
        ("007", "007"),
        ("5b6f53c5d", "5b6f53c5d"),
        ("1_000", "1_000"),
        ("1,572,435", "1,572,435"),
        ("٣", "٣"),
        ("", ""),
    ],
)
def test_scalars(text: str, value: Scalar) -> None:
    parsed = parse_scalar(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_one_number_has_one_canonical_form() -> None:
    assert {canonical(v) for v in (0.1, "0.1", "0.10", "1e-1", "0.1e0")} == {"0.1"}
    assert {canonical(v) for v in (2, 2.0, "2", "2.0", "2e0")} == {"2"}
    assert {canonical(v) for v in (10**22, 1e22, "1e22")} == {"1e+22"}
    assert canonical(-0.0) == canonical(0) == "0"
    assert canonical(10**400) != canonical(10**400 + 1)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_and_its_text_agree(value: float) -> None:
    assert canonical(value) == canonical(repr(value))
    assert parse_scalar(canonical(value)) == value or math.isclose(value, 0)


def test_the_key_of_a_row_ignores_order_and_spelling() -> None:
    assert row_key({"b": 1, "a": "0.10"}) == row_key({"a": 0.1, "b": "1.0"})
