"""The launcher of the seeds, `dev_tpu.py`: allocate, execute, its variables, `--no-sync`, and a launcher that is not
ready. Stand-ins take the places of `uv`, the launcher and the benchmarks."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.breadth import covering
from tests.conftest import Cli
from tests.contract.seeds.support import LINES, Line, add, ok, read_started, show, stand_ins

LIMIT = "--xla_tpu_scoped_vmem_limit_kib=50000"


@pytest.fixture
def faked(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line beside the stand-ins, in a folder with the logbook `moe`."""
    for name, value in stand_ins(folder).items():
        monkeypatch.setenv(name, value)
    return started


def facets(line: Line) -> list[str]:
    """What of the launcher a line shows."""
    head = line.line.partition(" -- ")[0]
    return [
        line.doc,
        *(word for word in head.split() if word in ("execute", "allocate", "--no-sync", "-e", "--python")),
    ]


def variables_of(run: dict[str, Any]) -> dict[str, str]:
    """The variables of the launcher and those that it passes on."""
    return {**run["env"]["declared"], **run["env"].get("relevant", {})}


SINGLE = [line for line in LINES if not line.line.startswith("set -euo pipefail")]


@pytest.mark.parametrize("line", covering(SINGLE, facets), ids=lambda line: line.name)
def test_a_line_is_run_and_recorded_as_it_was_typed(faked: Cli, line: Line) -> None:
    """All documents: each line after `logbook run --`; its rows are those that the benchmarks printed, in a case each;
    target and variables of the launcher are facts of the run."""
    words = line.words(dict(os.environ))
    answer = faked("run", "--title", line.name, "--json", "--", *words)
    [run] = show(faked, answer.data["id"])["runs"]
    started = read_started(dict(os.environ))
    ready = ".venv/bin/python" not in words
    assert answer.code == (0 if ready else 1), answer
    assert [row["config"]["bench"] for row in run.get("rows", [])] == [one.script for one in started]
    for row, one in zip(run.get("rows", []), started, strict=True):
        options = {flag.removeprefix("--").replace("-", "_"): value for flag, value in one.options.items()}
        assert {key: str(value).lower() for key, value in row["config"].items() if key != "bench"} == options
    launcher = run.get("launcher")
    assert (launcher is not None) == ("execute" in words)
    if launcher:
        end = words.index("--")
        assert launcher["target"] == words[words.index("--tpu-name") + 1]
        assert launcher["prefix"] + launcher["command"] == words
        variables = dict(words[i + 1].split("=", 1) for i in range(end) if words[i] == "-e")
        assert variables_of(run) == {"RAY_AUTH_MODE": "token", **variables}
        assert all(variables.items() <= one.variables.items() for one in started), "they reached the far side"


def test_a_sweep_in_the_shell_is_one_entry(faked: Cli) -> None:
    """Null routing, command templates: loops over three shapes and three top-k, typed as shell text."""
    [script] = [line.line for line in LINES if line.line.startswith("set -euo pipefail")]
    entry = add(faked, "run", "--title", "Sweep", "--", "bash", "-c", script)
    [run] = show(faked, entry)["runs"]
    cases = [(row["config"]["experts"], row["config"]["topk"]) for row in run["rows"]]
    assert cases == [(experts, topk) for experts in (60, 64, 128) for topk in (2, 4, 8)]


def test_a_launcher_that_is_not_ready(faked: Cli, folder: Path) -> None:
    """Int8 10:51: three checks under one entry, two of which fail for a missing module; no measurement, and blocked."""
    checks = [line for line in LINES if line.name == "int8 02-10 10:51"]
    words = [line.words(dict(os.environ)) for line in checks]
    entry = str(faked("run", "--title", "Launcher checks", "--json", "--", *words[0]).data["id"])
    codes = [faked("run", "--id", entry, "--json", "--", *some).code for some in words[1:]]
    assert codes == [1, 0]
    ok(faked, "edit", entry, "--state", "blocked", "--next", "install what is missing")
    shown = show(faked, entry)
    assert shown["state"] == "blocked"
    runs: list[dict[str, Any]] = shown["runs"]
    assert [run["state"] for run in runs] == ["failed", "failed", "finished"]
    assert not any(run.get("rows") for run in runs)
    assert "No module named 'watchdog'" in (folder / "logbooks/moe.md").read_text()


@pytest.mark.slow
def test_an_allocation_is_held_while_lines_execute(faked: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recipe, step 1: `allocate` stays in the foreground; other lines execute meanwhile, and its end is a person's."""
    [line] = [line for line in LINES if " allocate " in line.line]
    monkeypatch.setenv("SEEDS_HOLD", "1")
    held = add(faked, "run", "--detach", "--title", "Allocation", "--", *line.words(dict(os.environ)))
    deadline = time.monotonic() + 20
    while not Path(f"{os.environ['SEEDS_SEEN']}.held").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    measured = next(line for line in LINES if line.name == "recipe workflow" and " execute " in line.line)
    entry = add(faked, "run", "--title", "Baseline", "--", *measured.words(dict(os.environ)))
    assert show(faked, entry)["state"] == "finished"
    assert show(faked, held)["state"] == "running"
    ok(faked, "cancel", held)
    assert show(faked, held)["state"] == "interrupted"


TEMPLATE = (
    "RAY_AUTH_MODE=token uv run scripts/ray/dev_tpu.py --config infra/x.yaml --tpu-name {name} execute --no-sync "
    "{env} -- {command}"
)


def test_a_launcher_has_a_name(faked: Cli, folder: Path) -> None:
    """Null routing 14:42: the launcher's words are stated once, `--no-sync` with them; a run names it, its target and
    the variables that go along."""
    settings = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[launchers.tpu]\ntemplate = "{TEMPLATE}"\ntarget = "pod-a"\n')
    bench = ("uv", "run", "lib/bench_moe_hillclimb.py", "--topk", "8", "--null-route-frac", "0.0")
    limit = f"LIBTPU_INIT_ARGS={LIMIT}"
    ids = [add(faked, "run", "--on", on, "--env", limit, "--", *bench) for on in ("tpu", "tpu:pod-b")]
    for entry, target in zip(ids, ("pod-a", "pod-b"), strict=True):
        [run] = show(faked, entry)["runs"]
        assert (run["launcher"]["name"], run["launcher"]["target"]) == ("tpu", target)
        assert run["launcher"]["command"] == list(bench)
        assert "--no-sync" in run["launcher"]["prefix"]
        assert variables_of(run) == {"RAY_AUTH_MODE": "token", "LIBTPU_INIT_ARGS": LIMIT}
        assert [(row["config"]["topk"], row["config"]["null_route_frac"]) for row in run["rows"]] == [(8, 0.0)]
    for one in read_started(dict(os.environ)):
        assert one.variables == {"LIBTPU_INIT_ARGS": LIMIT}
