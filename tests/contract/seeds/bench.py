"""Calls `bench-core` in a process of its own: JAX starts once in a process, with as many devices as it is told then.
One process answers many requests, so that they share what they compile.

As a program, this file reads a JSON list of command lines on stdin and prints a JSON list of answers.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[3]
# What is checked are programs, not how well XLA optimises them.
QUICK = "--xla_backend_optimization_level=0 --xla_force_host_platform_device_count=4"
if version("jaxlib").startswith("0.10."):
    # By XLA's older emitters, which take half as long. Later versions do not have them.
    QUICK += " --xla_cpu_use_fusion_emitters=false"

Answer = dict[str, Any]


def call(words: Sequence[str]) -> Answer:
    """`[NAME=VALUE...] bench-core WORDS` in this process: `code`, `rows` (of its RESULT_JSON lines) and `err`."""
    from tests.seams import bench_core

    out, err = io.StringIO(), io.StringIO()
    start = next(i for i, word in enumerate(words) if "=" not in word)
    before, code = dict(os.environ), 0
    for word in words[:start]:
        name, _, value = word.partition("=")
        os.environ[name] = value
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            bench_core(list(words[start:]))
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            os.environ.clear()
            os.environ.update(before)
    lines = [line for line in out.getvalue().splitlines() if line.startswith("RESULT_JSON ")]
    return {"code": code, "rows": [json.loads(line.partition(" ")[2]) for line in lines], "err": err.getvalue()}


def call_together(requests: Sequence[Sequence[str]]) -> list[Answer]:
    """The answers of one process on four virtual devices, in the order of the requests."""
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        cwd=REPOSITORY,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": QUICK},
        input=json.dumps([list(words) for words in requests]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: list[Answer] = json.loads(done.stdout)
    return answers


if __name__ == "__main__":
    json.dump([call(words) for words in json.load(sys.stdin)], sys.stdout)
