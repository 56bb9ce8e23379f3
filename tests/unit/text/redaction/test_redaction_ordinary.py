"""False alarms: ordinary output of benchmarks and the texts of this repository pass unchanged, and fast."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from random import Random

import pytest

from logbook_agent.text.redaction.names import is_secret_name
from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.redaction.redactor import Redactor
from tests.breadth import wide

PLAIN = Redactor()


REPOSITORY = Path(__file__).resolve().parents[4]


def changed(text: str) -> list[tuple[str, str | None]]:
    """Lines that are changed, with what became of them."""
    before, after = text.split("\n"), PLAIN.text(text).split("\n")
    return [(line, done) for line, done in zip_longest(before, after, fillvalue="") if done != line]


def test_lines_of_benchmarks() -> None:
    """Of training, compilers, packages, traces, machines and prose: a dozen of each kind."""
    text = Path(__file__).with_name("ordinary.txt").read_text()
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


# What an engineer calls a setting, and what stands there.
WORDS = ("token", "tokens", "expert", "topk", "router", "cache", "key", "keys", "pass", "auth", "secret-free", "quant")
VALUES: tuple[Callable[[Random], object], ...] = (
    lambda r: r.choice(["int8", "bf16", "gmm", "forward_backward", "alltoall-v2", "attention-causal-01", "</s>"]),
    lambda r: r.choice([True, False, None, r.randint(0, 99999), r.random(), 1e-5]),
    lambda r: f"{r.getrandbits(160):040x}",
    lambda r: str(uuid.UUID(int=r.getrandbits(128))),
    lambda r: f"runs/key_{r.getrandbits(128):032x}/ckpt",
    lambda r: f"s3://bucket/v{r.randint(1, 9)}/tokens-{r.randint(0, 99999):05}.bin",
    lambda r: f"meta-llama/Llama-{r.randint(2, 4)}-{r.randint(1, 99)}B-Instruct",
    lambda r: f"ghcr.io/o/i@sha256:{r.getrandbits(256):064x}",
    lambda r: f"BM{r.choice([64, 128])}BN{r.choice([64, 256])}BK64W8S3",
    lambda r: f"2026-{r.randint(1, 12):02}-{r.randint(1, 28):02}T10:43:00+00:00",
)


def configs(count: int) -> Iterator[dict[str, object]]:
    random = Random(40)
    for _ in range(count):
        names = ("_".join(random.choices(WORDS, k=random.randint(1, 3))) for _ in range(8))
        yield {name: random.choice(VALUES)(random) for name in names if not is_secret_name(name)}


@pytest.mark.parametrize("count", [500, wide(10_000)])
def test_configs_are_kept(count: int) -> None:
    for config in configs(count):
        assert redacted({"config": config}, PLAIN) == {"config": config}
        printed = f"RESULT {' '.join(f'{name}={value}' for name, value in config.items())} tflops=1"
        assert PLAIN.text(printed) == printed
        words = ["bench", *(word for name, value in config.items() for word in (f"--{name}", str(value)))]
        assert list(PLAIN.argv(words)) == words
