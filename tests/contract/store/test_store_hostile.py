"""Text that parsers pay for: deep, endless, no UTF-8, or not what it looks like. It is damage of its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.conftest import Cli
from tests.stored import at

pytestmark = pytest.mark.slow

MOE = "logbooks/moe"
SETTINGS, RECIPE = "logbook.toml", "recipes/mine.yaml"
ENTRY, RUN = f"{MOE}/entries/MOE-000.yaml", f"{MOE}/runs/MOE-000/01/run.json"

LAUGHS = "a0: &a0 [1,2,3,4,5,6,7,8,9]\n" + "".join(
    f"a{i + 1}: &a{i + 1} [{','.join([f'*a{i}'] * 9)}]\n" for i in range(30)
)


BYTES = {
    "flow": b"a: " + b"[" * 5000 + b"]" * 5000,
    "block": "".join(" " * i + "a:\n" for i in range(2000)).encode(),
    "json": b'{"argv": ' + b"[" * 3000 + b"]" * 3000 + b"}",
    "laughs": LAUGHS.encode(),
    "not utf-8": b"title: \xff\n",
    "utf-16": "title: x\n".encode("utf-16"),
    "nul": b"title: \0\n",
    "digits": b"format: " + b"9" * 5000,
    "json digits": b'{"format": ' + b"9" * 5000 + b"}",
    "infinity": b'{"format": 1, "duration_s": 1e999}',
    "number": b"3",
    "text": b"text",
}


@pytest.mark.parametrize("name", BYTES)
@pytest.mark.parametrize("file", [ENTRY, RUN])
@pytest.mark.sample(5)
def test_a_record(two: Cli, folder: Path, file: str, name: str) -> None:
    path = at(folder / file)
    path.write_bytes(BYTES[name])
    for words in (["list"], ["status"], ["list", "two"], ["render"], ["note", "--title", "n"], ["show", "MOE-001"]):
        answer = two(*words)
        assert answer.code == 0, (words, answer.err)
    assert path.name in two("list").err
    for words in (["show", "MOE-000"], ["table", "MOE-000"]):
        answer = two(*words)
        assert answer.code == 3
        assert path.name in answer.err
    answer = two("doctor")
    assert answer.code == 1
    assert str(path.relative_to(folder)) in answer.out


@pytest.mark.parametrize("name", BYTES)
@pytest.mark.sample(5)
def test_settings(two: Cli, folder: Path, name: str) -> None:
    (folder / SETTINGS).write_bytes(BYTES[name])
    for words in (["list"], ["run", "--", "true"], ["doctor"], ["start", "x", "--prefix", "X"]):
        answer = two(*words)
        assert answer.code == 2, words
        assert answer.err.startswith("error: logbook.toml")
        assert answer.err.splitlines()[2].startswith("  next:")


@pytest.mark.parametrize("name", BYTES)
@pytest.mark.sample(4)
def test_a_recipe(two: Cli, folder: Path, name: str) -> None:
    (folder / "recipes").mkdir()
    (folder / RECIPE).write_bytes(BYTES[name])
    assert two("sweep", "mine").code in (2, 3)
    assert two("sweep").code == 0


VALUES = [
    "../x",
    "\x1b]0;x\x07",
    "a\nb",
    "\x00",
    "²",
    "9999-12-31T23:59:59-23:59",
    "2026-13-45",
    "{{ x }}",
    "<!-- logbook:end MOE-000 -->",
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.sample(3)
def test_texts_that_are_not_what_is_expected(two: Cli, folder: Path, value: str) -> None:
    """Each text of a record holds it in turn."""
    for file in (RUN, ENTRY):
        path = at(folder / file)
        data = json.loads(path.read_text()) if file == RUN else yaml.safe_load(path.read_text())
        data |= (
            {"problems": [value], "cwd": value, "ended": value, "label": value} if file == RUN else {"colour": value}
        )
        data |= {"started": value} if file == RUN else {"opened": value, "title": value}
        path.write_text(json.dumps(data))
    for words in (["list"], ["show", "MOE-000"], ["render"], ["status"], ["list", "x"], ["sync", "--offline", "out"]):
        answer = two(*words)
        assert answer.code in (0, 3), words
        assert "\x1b" not in answer.err
