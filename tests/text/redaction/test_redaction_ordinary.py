"""False alarms: ordinary output of benchmarks and the texts of this repository pass unchanged, and fast."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from logbook_agent.text.redaction.lines import LineRedactor
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.stream import StreamRedactor
from tests.breadth import wide
from tests.text.redaction.ordinary_support import KINDS, lines

PLAIN = Redactor()
REPOSITORY = Path(__file__).resolve().parents[3]


def changed(text: str) -> list[tuple[str, str | None]]:
    """Lines that the stream would change, as it sees them: with what the line before tells."""
    redactor, found = LineRedactor(PLAIN.line), []
    for line in text.split("\n"):
        done = redactor.line(line)
        if done != line:
            found.append((line, done))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(15)
@pytest.mark.slow
def test_a_thousand_lines_of_each_kind(kind: str) -> None:
    text = "\n".join(lines(kind, 300))
    assert changed(text)[:3] == []
    assert PLAIN.text(text) == text


@pytest.mark.slow
@pytest.mark.parametrize("count", [10_000, wide(100_000)])
def test_a_hundred_thousand_lines(count: int) -> None:
    """At most one line in ten thousand, over all kinds and within each."""
    each = count // len(KINDS) + 1
    alarms = {kind: changed("\n".join(lines(kind, each))) for kind in KINDS}
    assert {kind: found[:3] for kind, found in alarms.items() if len(found) > each / 10_000} == {}
    assert sum(map(len, alarms.values())) <= each * len(KINDS) / 10_000


# Kinds in which words stand that secrets are called by: a line with one before a value is looked at closely.
CLOSELY = {
    *("METRIC", "RESULT_JSON", "commit", "pip freeze", "traceback", "raised", "YAML", "TOML", "JSON", "eval", "prose"),
    *("command", "epoch", "python", "base64 of a plot", "git log", "log"),
}


def speed(kinds: set[str]) -> float:
    """Bytes a second, at best."""
    block = "\n".join(line for kind in sorted(kinds) for line in lines(kind, 60)).encode() + b"\n"
    stream = StreamRedactor(PLAIN)
    stream.feed(block)
    best = 0.0
    for _ in range(7):
        began = time.process_time()
        assert stream.feed(block) == block
        best = max(best, len(block) / (time.process_time() - began))
    return best


@pytest.mark.slow
def test_ordinary_output_of_every_kind_is_fast() -> None:
    # Some 25 MB/s on one slow core, and 1.5 MB/s where every second line needs a close look.
    assert speed(KINDS.keys() - CLOSELY) > 8_000_000
    assert speed(CLOSELY) > 300_000


# Assignments that documents show as examples of secrets.
EXAMPLES = ("password=VALUE",)


@pytest.mark.slow
def test_texts_of_this_repository() -> None:
    """Documents, logbooks and golden files stay, but for lines that show what a secret looks like."""
    kinds = ("*.md", "*.yaml", "*.json", "*.toml", "tests/e2e/golden")
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
