"""Text that parsers pay for: deep, endless, no UTF-8, or not what it looks like. It is damage of its file."""

from __future__ import annotations

import time

import pytest

from logbook_agent.model.errors import RecordError
from logbook_agent.store.parse import MAX_DEPTH, parse_yaml

pytestmark = pytest.mark.slow

DEEP = {
    "flow": "a: " + "[" * 5000 + "]" * 5000,
    "flow open": "{" * 5000,
    "maps": "{a: " * 5000 + "}" * 5000,
    "block": "".join(" " * i + "a:\n" for i in range(2000)),
    "dashes": "- " * 5000,
    "questions": "? " * 5000,
    "hidden": "a: ']]]]]]]]'\nb: " + "[" * 200 + "]" * 200,
}
LAUGHS = "a0: &a0 [1,2,3,4,5,6,7,8,9]\n" + "".join(
    f"a{i + 1}: &a{i + 1} [{','.join([f'*a{i}'] * 9)}]\n" for i in range(30)
)
ENDLESS = {
    "laughs": LAUGHS,
    "merged": "a: &a {"
    + ",".join(f"k{i}: 1" for i in range(900))
    + "}\n"
    + "".join(f"b{i}: {{<<: *a}}\n" for i in range(900)),
    "alias": "a: &a [1]\nb: *a",
    "itself": "a: &a [*a]",
    "merges itself": "a: &a {<<: *a}",
    "digits": "a: " + "9" * 3_000_000,
    "nodes": "- a\n" * 1_000_000,
    "flow nodes": "[" + "a," * 1_500_000 + "]",
    "keys": "".join(f"k{i}: b\n" for i in range(300_000)),
    "anchors": "".join(f"- &a{i} b\n" for i in range(300_000)),
}
MISFITS = {
    "python": "!!python/object/apply:os.system [ls]",
    "int": "a: !!int ''",
    "float": "a: !!float x",
    "bool": "a: !!bool x",
    "timestamp": "a: !!timestamp x",
    "collection": "a: !!int [1]",
    "key": "? [a]\n: b",
    "key map": "? {a: b}\n: c",
    "nul": "a: \0",
    "tag": "a: !mine b",
}


@pytest.mark.parametrize("name", [*DEEP, *ENDLESS, *MISFITS])
def test_yaml(name: str) -> None:
    started = time.process_time()
    with pytest.raises(RecordError, match=r"^file\.yaml"):
        parse_yaml({**DEEP, **ENDLESS, **MISFITS}[name], "file.yaml")
    assert time.process_time() - started < 2


PEOPLE_S = [
    "[" * MAX_DEPTH + "]" * MAX_DEPTH,
    "".join(" " * i + "a:\n" for i in range(MAX_DEPTH - 1)),
    "- " * (MAX_DEPTH - 1),
    "a: &x [1, 2]\nb: x",
    "a: R&D *bold*, **x** && *y*",
    "a: |\n" + " " * 90 + "far to the right\n",
    "a: 2026-02-30\nb: 2026-01-02T10:00:00+25:00",
    "a: " + "1:" * 100_000 + "1.5",
    "a: 0x" + "f" * 100_000,
]


@pytest.mark.parametrize("text", PEOPLE_S)
def test_yaml_that_people_write(text: str) -> None:
    parse_yaml(text, "file.yaml")
