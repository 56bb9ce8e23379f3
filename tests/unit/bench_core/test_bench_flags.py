"""A flag is stated once, with the field that holds its value."""

from dataclasses import dataclass, fields

import pytest

from bench_core.flag import build, declared
from bench_core.harness.case import CASE_FLAGS, Case
from bench_core.shapes import MoeShape


def test_a_field_without_a_flag_is_refused() -> None:
    @dataclass
    class Bare:
        width: int = 1

    with pytest.raises(TypeError, match=r"Bare\.width declares no flag"):
        declared(Bare)


def test_every_field_of_a_case_is_a_flag() -> None:
    assert {flag.path[0] for flag in CASE_FLAGS} == {field.name for field in fields(Case)}
    assert [f.name for f in CASE_FLAGS][: len(fields(MoeShape))] == [field.name for field in fields(MoeShape)]
    assert set(build(Case, {}).config()) <= {flag.name for flag in CASE_FLAGS}
