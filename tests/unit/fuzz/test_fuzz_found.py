"""What fuzzing found, each with the smallest document that shows it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from logbook_agent.campaign.recipes.placed import RecipeProblem
from logbook_agent.campaign.recipes.recipe_data import parse_recipe
from logbook_agent.model.errors import StoreError
from logbook_agent.store import records
from logbook_agent.text import marked as view
from tests.conftest import Cli

ENTRY = "format: 1\nid: MOE-000\ntitle: t\nopened: '2026-02-10T10:43:00+00:00'\n"


@pytest.fixture
def two(started: Cli, folder: Path) -> Path:
    """A sound entry, and the folder of another one's records."""
    assert started("note", "--title", "sound").code == 0
    assert started("run", "--", "echo", "RESULT tflops=1.5").code == 0
    return folder / "logbooks" / "moe"


def listed(cli: Cli) -> tuple[list[str], list[str]]:
    answer = json.loads(cli("list", "--json").out)
    return [entry["id"] for entry in answer["data"]], answer["warnings"]


def test_a_measurement_without_a_sample_is_damage(two: Path, cli: Cli) -> None:
    path = two / "runs" / "MOE-001" / "01" / "run.json"
    run = json.loads(path.read_text())
    run["rows"][0]["metrics"]["tflops"]["samples"] = []
    path.write_text(json.dumps(run))
    there, warnings = listed(cli)
    assert there == ["MOE-000"]
    assert warnings == [
        "runs/MOE-001/01/run.json: rows[0].metrics.tflops.samples: expected at least one sample, got none"
    ]


def test_bytes_that_are_not_utf8_are_told_with_their_run(two: Path, cli: Cli) -> None:
    path = two / "runs" / "MOE-001" / "01" / "run.json"
    path.write_bytes(b'{"entry": "caf\xe9"}')
    there, warnings = listed(cli)
    assert there == ["MOE-000"]
    assert warnings == [f"{path} is not UTF-8 text (byte 14)"]
    with pytest.raises(StoreError) as caught:
        records.read_run(path)
    assert caught.value.cause == "it was written by another program"


RECIPE = {"name": "x", "question": "q", "command": ["true"], "metrics": ["tflops"]}


@pytest.mark.parametrize("axes", [1, [{"topk": [1]}], "topk"])
def test_axes_of_a_recipe_that_are_no_table(axes: object) -> None:
    data = {**RECIPE, "axes": axes, "scale": {"tiny": {"axes": {"topk": [1]}}}}
    with pytest.raises(RecipeProblem, match="unknown axis 'topk'") as caught:
        parse_recipe(data, scale="tiny")
    assert caught.value.cause == "there is no axis here"
    assert caught.value.hint


def test_scales_whose_names_are_no_texts() -> None:
    with pytest.raises(RecipeProblem, match="unknown scale 'tiny'") as caught:
        parse_recipe({**RECIPE, "scale": {1: {}, None: {}}}, scale="tiny")
    assert caught.value.cause == "choose from: 1, None"


def test_markers_that_do_not_pair_are_told_in_time() -> None:
    strays: list[str] = []
    began = time.process_time()
    view.parse("text\n\n" + "<!-- logbook:end x -->\n" * 40_000, strays)
    assert time.process_time() - began < 1
    assert (strays[0], strays[-1]) == (
        "line 3: the end marker of x has no begin marker",
        "line 40002: the end marker of x has no begin marker",
    )


@pytest.mark.parametrize(
    "parts",
    [
        {"axes": {"topk": {"from": 10**400, "to": 10**400, "count": 1}}},
        {"axes": {"topk": {"from": 0.5, "to": 10**400, "count": 2}}},
        {"axes": {"topk": {"from": 1, "to": float("inf"), "count": 2}}},
        {"axes": {"topk": {"from": 1, "to": 2, "count": float("nan")}}},
        {"timeout_s": 10**400},
    ],
)
def test_numbers_of_a_recipe_that_no_float_can_be(parts: dict[str, object]) -> None:
    with pytest.raises(RecipeProblem) as caught:
        parse_recipe({**RECIPE, "axes": {"topk": [1]}, **parts})
    assert caught.value.cause
    assert caught.value.hint


def test_a_secret_where_a_time_belongs_is_not_shown_and_the_entry_is_named(
    two: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "fzQ8xk2Lm9vT4wR7pZc6"
    monkeypatch.setenv("FUZZ_API_KEY", secret)
    (two / "entries" / "MOE-000.yaml").write_text(ENTRY.replace("2026-02-10T10:43:00+00:00", secret))
    there, warnings = listed(cli)
    assert there == ["MOE-001"]
    assert "a secret rule hides a value that MOE-000 needs: opened is $FUZZ_API_KEY" in warnings[0]
    for words in (("list",), ("show", "MOE-000"), ("status",), ("list", "x"), ("render",), ("doctor", "--json")):
        answer = cli(*words)
        assert secret not in answer.out + answer.err, words
