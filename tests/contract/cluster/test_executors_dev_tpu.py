"""Development TPUs by `dev_tpu.py`, in both of its generations, and the lines that old logbooks type."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.running.executors.conftest import FAKES, samples, settings
from tests.seams import Facts, Store

NAME = "dlwh-codex1"
# The benchmark of those logbooks, which takes no time here.
BENCH = """#!/bin/sh
echo "RESULT topk=$BENCH_TOPK tflops=12.5 vmem=$LIBTPU_INIT_ARGS"
for word in "$@"; do echo "word: $word"; done
"""


@pytest.fixture
def tpu(started: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """The command line in a checkout with both scripts, where the older one's TPU is held."""
    monkeypatch.setenv("PATH", f"{FAKES}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_DEV_TPU", str(tmp_path / "tpu"))
    for generation in ("ray", "iris"):
        (folder / "scripts" / generation).mkdir(parents=True)
        shutil.copy(FAKES / "dev_tpu.py", folder / "scripts" / generation)
    (folder / "bench.sh").write_text(BENCH)
    line = (
        f"RAY_AUTH_MODE=token uv run scripts/ray/dev_tpu.py --config infra/marin-us-central1.yaml"
        f' allocate --tpu-type v5p-8 --tpu-name "{NAME}"'
    )
    held = subprocess.Popen(
        ["sh", "-c", f"exec env {line}"], cwd=folder, stdout=subprocess.PIPE, start_new_session=True
    )
    assert held.stdout is not None
    while b"active" not in held.stdout.readline():
        assert held.poll() is None
    yield started
    held.terminate()
    held.wait()
    held.stdout.close()


def run_of(folder: Path, number: int = 1) -> Facts:
    return Store(folder).runs("MOE-000")[number - 1]


@pytest.mark.slow
def test_the_lines_of_old_logbooks_run_as_they_stand(tpu: Cli, folder: Path) -> None:
    line = (
        "RAY_AUTH_MODE=token uv run --python 3.11 scripts/ray/dev_tpu.py --config infra/marin-us-east5-a.yaml"
        f" --tpu-name {NAME} execute --no-sync -e LIBTPU_INIT_ARGS=--xla_tpu_scoped_vmem_limit_kib=50000"
        " -e BENCH_TOPK=8 -- sh bench.sh --tokens 32768"
    )
    assert tpu("run", "--", *shlex.split(line)).code != 0, "its files are not there yet"
    assert run_of(folder).code is None, "which code ran there is not known"
    synced = tpu("run", "--id", "MOE-000", "--", *shlex.split(line.replace(" --no-sync", "")))
    assert synced.code == 0, synced.err
    run = run_of(folder, 2)
    assert samples(run) == [[12.5]]
    assert (run.launcher.name, run.launcher.target) == ("dev_tpu", NAME)
    assert (run.devices, run.software.jax) == (None, None)
    assert run.env.relevant["BENCH_TOPK"] == "8"
    again = tpu("run", "--id", "MOE-000", "--", *shlex.split(line))
    assert again.code == 0


@pytest.mark.slow
def test_a_script_with_words_of_its_own(tpu: Cli, folder: Path) -> None:
    """`bash -lc` and a script, which the older generation takes apart: what runs is what always ran."""
    script = "set -euo pipefail; for tk in 2 8; do echo RESULT topk=$tk tflops=$tk; done"
    line = f"uv run scripts/ray/dev_tpu.py --config c.yaml --tpu-name {NAME} execute -- /bin/bash -lc '{script}'"
    done = tpu("run", "--", *shlex.split(line))
    assert done.code == 0, done.err
    assert samples(run_of(folder)) == [[2.0], [8.0]]


@pytest.mark.slow
@pytest.mark.parametrize(("generation", "end"), [("ray", "'exec {command}'"), ("iris", "{command}")])
def test_words_arrive_as_they_were_given(generation: str, end: str, tpu: Cli, folder: Path) -> None:
    program = f"uv run scripts/{generation}/dev_tpu.py --config c.yaml --tpu-name {NAME} execute"
    settings().write_text(f'[launchers]\ntpu = """{program} {{env}} -- {end}"""\n')
    words = ("it's", "a  b", "$HOME", "--flag=x y", ";", "'")
    done = tpu("run", "--on", "tpu", "--env", "LIBTPU_INIT_ARGS=a b", "--", "sh", "bench.sh", *words)
    assert done.code == 0, done.err
    assert [line[6:] for line in done.out.splitlines() if line.startswith("word: ")] == list(words)
    run = run_of(folder)
    assert run.executor is None
    assert run.rows[0].labels["vmem"] == "a"
    assert run.devices is None
