"""False alarms: ordinary output of benchmarks and the texts of this repository pass unchanged, and fast."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from logbook_agent.text.redaction.lines import LineRedactor
from logbook_agent.text.redaction.redactor import Redactor
from tests.unit.text.redaction.ordinary_support import KINDS, lines

PLAIN = Redactor()


REPOSITORY = Path(__file__).resolve().parents[4]


def changed(text: str) -> list[tuple[str, str | None]]:
    """Lines that the stream would change, as it sees them: with what the line before tells."""
    redactor, found = LineRedactor(PLAIN.line), []
    for line in text.split("\n"):
        done = redactor.line(line)
        if done != line:
            found.append((line, done))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(6)
@pytest.mark.slow
def test_a_thousand_lines_of_each_kind(kind: str) -> None:
    text = "\n".join(lines(kind, 300))
    assert changed(text)[:3] == []
    assert PLAIN.text(text) == text


# Assignments that documents show as examples of secrets.
EXAMPLES = ("password=VALUE",)


@pytest.mark.slow
@pytest.mark.wide
def test_texts_of_this_repository() -> None:
    """Documents, logbooks and golden files stay, but for lines that show what a secret looks like."""
    kinds = ("*.md", "*.yaml", "*.json", "*.toml", "tests/contract/e2e/golden")
    listed = subprocess.run(["git", "ls-files", *kinds], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    alarms = []
    count = 0
    for path in (REPOSITORY / name for name in listed.stdout.split("\n") if name):
        text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
        count += text.count("\n")
        alarms += [(path.name, line) for line, _ in changed(text)]
    assert count > 10_000
    assert [alarm for alarm in alarms if not any(example in alarm[1] for example in EXAMPLES)] == []
    assert [e for e in EXAMPLES if not any(e in line for _, line in alarms)] == []
