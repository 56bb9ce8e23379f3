"""What attackers found, each as it was found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.text.redaction.kinds_support import Maker
from tests.stored import at

VALUE = Maker("attacked").word() + "Lm2Tz"
LONG = (VALUE * 6).replace("_", "x").replace("-", "y")


@pytest.mark.parametrize("regex", [".", "e", "[a-z]", "[A-Z]+-", "\\d+", "ote"])
def test_a_project_may_not_hide_everything(cli: Cli, folder: Path, regex: str) -> None:
    (folder / "logbook.toml").write_text(f"[[secret_rules]]\nid = 'x'\nregex = '{regex}'\n")
    answer = cli("list")
    assert (answer.code, "regex" in answer.err) == (2, True)


def test_a_rule_that_hides_what_a_record_needs_is_named(started: Cli, folder: Path) -> None:
    (folder / "logbook.toml").write_text("[[secret_rules]]\nid = 'x'\nregex = '-000'\n")
    answer = started("note", "--title", "one")
    assert answer.code == 3, answer
    assert "MOE[redacted:x]" in answer.err
    assert "logbook.toml" in answer.err


def test_extra_arguments_are_not_repeated(started: Cli) -> None:
    for words in (["show", "password", VALUE], ["edit", "MOE-000", "--field", "password", VALUE]):
        answer = started(*words)
        assert (answer.code, VALUE in answer.err) == (2, False)


def test_nothing_is_written_that_could_not_be_read_again(started: Cli, folder: Path) -> None:
    started("note", "--title", "one")
    file = at(folder / "logbooks/moe/entries/MOE-000.yaml")
    file.write_text(file.read_text() + f"recipe: {{name: ghp_{LONG[:36]}, digest: '{'0' * 32}', runs: 2}}\n")
    before = file.read_bytes()
    answer = started("edit", "MOE-000", "--title", "two")
    assert answer.code == 3
    assert "recipe.name: " in answer.err
    assert "'[redacted:github-token]'" in answer.err
    assert file.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("axis", ["how=secret,plain", "auth=none,password", "auth=password,api_key"])
def test_a_side_may_be_called_as_secrets_are(started: Cli, axis: str) -> None:
    words = ("--", "sh", "-c", "echo METRIC tflops=1", "x", f"{{{axis.partition('=')[0]}}}")
    made = started("ab", f"--axis={axis}", "--max-pairs", "1", *words)
    assert made.code == 0, made.err
    assert started("show", "MOE-000").code == 0


def test_a_side_that_is_a_variable_is_refused_before_anything_is_written(
    started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_SECRET", VALUE)
    said = started("ab", f"--axis=size={VALUE},b", "--", "echo", "METRIC tflops=1", "{size}")
    assert (said.code, "secret variable" in said.err, VALUE in said.err) == (2, True, False)
    assert not list((folder / "logbooks/moe").glob("entries/*"))


@pytest.mark.slow
@pytest.mark.parametrize("value", [f"{VALUE}/44", f"{VALUE}/é9xQ"])
def test_a_known_value_is_hidden_where_a_long_line_is_cut_and_in_json(
    started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("DB_PASSWORD", value)
    (folder / "long.py").write_text(
        "import json, os\n"
        "value = os.environ['DB_PASSWORD']\n"
        "print('x' * (256 * 1024 - 10) + value + 'y' * 20000)\n"
        "print(json.dumps(value).replace('/', r'\\/'))\n"
        "print('METRIC tflops=1')\n"
    )
    assert started("run", "--", sys.executable, "long.py").code == 0
    log = at(folder / "logbooks/moe/runs/MOE-000/01/output.log").read_text()
    assert log.count("$DB_PASSWORD") == 2
    assert VALUE not in log
