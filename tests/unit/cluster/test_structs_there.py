"""What stands in for msgspec on another machine does what ours ask of msgspec."""

from __future__ import annotations

import msgspec
import pytest

from logbook_agent.cluster import structs_there


@pytest.mark.parametrize("of", [msgspec, structs_there])
def test_structs(of: object) -> None:
    class Above(of.Struct, frozen=True, dict=True):  # type: ignore[name-defined, misc]
        value: str
        many: dict[str, int] = of.field(default_factory=dict)  # type: ignore[attr-defined]

    class Below(Above, frozen=True, dict=True):
        kind: str | None = None

    one = Below("a", kind="b")
    assert (one.value, one.many, one.kind) == ("a", {}, "b")
    assert one == Below(value="a", kind="b") != Below("a")
    assert one.many is not Below("a").many
    other = of.structs.replace(one, value="c")  # type: ignore[attr-defined]
    assert (type(other), other.value, other.kind) == (Below, "c", "b")
    fields = of.structs.fields(Below)  # type: ignore[attr-defined]
    assert [(f.name, f.default is of.NODEFAULT) for f in fields] == [("value", True), ("many", True), ("kind", False)]  # type: ignore[attr-defined]
    assert fields[1].default_factory is dict
    for wrong in ({}, {"value": "a", "more": 1}):
        with pytest.raises(TypeError):
            Below(**wrong)


def test_equal_ones_are_one_key() -> None:
    class Known(structs_there.Struct, frozen=True):
        name: str

    assert len({Known("a"), Known("a"), Known("b")}) == 2
