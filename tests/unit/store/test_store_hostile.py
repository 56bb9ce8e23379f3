"""Text that parsers pay for: deep, endless, no UTF-8, or not what it looks like. It is damage of its file."""

from __future__ import annotations

import pytest

from logbook_agent.model.errors import RecordError
from logbook_agent.store.parse import MAX_DEPTH, parse_json, parse_toml, parse_yaml

pytestmark = pytest.mark.slow


PEOPLE_S = [
    "[" * MAX_DEPTH + "]" * MAX_DEPTH,
    "".join(" " * i + "a:\n" for i in range(MAX_DEPTH - 1)),
    "- " * (MAX_DEPTH - 1),
    "a: &x [1, 2]\nb: *x\nc: {<<: {d: 1}}",
    "a: R&D *bold*, **x** && *y*",
    "a: |\n" + " " * 90 + "far to the right\n",
]


@pytest.mark.parametrize("text", PEOPLE_S)
def test_yaml_that_people_write(text: str) -> None:
    parse_yaml(text, "file.yaml")


@pytest.mark.parametrize(
    "text", ["[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000, "9" * 5000, "NaN", "[Infinity]", "", "{", "\0"]
)
def test_json(text: str) -> None:
    with pytest.raises(RecordError, match=r"^run\.json"):
        parse_json(text, "run.json")


DEEP_TOML = [
    "a = " + "[" * 3000 + "]" * 3000,
    "a = " + "{b = " * 3000 + "1" + "}" * 3000,
    'a = "]]]]"\nb = ' + "[" * 3000,
    "a = '''\n]]]]'''\nb = " + "[" * 3000,
    "# ]]]]\nb = " + "[" * 3000,
    "a = " + "9" * 5000,
]


@pytest.mark.parametrize("text", DEEP_TOML)
def test_toml(text: str) -> None:
    with pytest.raises(ValueError, match=r"nested|limit"):
        parse_toml(text)
