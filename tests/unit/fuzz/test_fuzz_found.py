"""What fuzzing found, each with the smallest document that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.stored import at

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


def test_a_secret_where_a_time_belongs_is_not_shown_and_the_entry_is_named(
    two: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "fzQ8xk2Lm9vT4wR7pZc6"
    monkeypatch.setenv("FUZZ_API_KEY", secret)
    at(two / "entries" / "MOE-000.yaml").write_text(ENTRY.replace("2026-02-10T10:43:00+00:00", secret))
    there, warnings = listed(cli)
    assert there == ["MOE-001"]
    assert "a secret rule hides a value that MOE-000 needs: opened is $FUZZ_API_KEY" in warnings[0]
    for words in (("list",), ("show", "MOE-000"), ("status",), ("list", "x"), ("render",), ("doctor", "--json")):
        answer = cli(*words)
        assert secret not in answer.out + answer.err, words
