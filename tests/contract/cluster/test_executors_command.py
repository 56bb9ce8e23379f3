"""Jobs of a launcher that submits and polls, against a stand-in for Iris: real commands in real processes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.breadth import STRESS
from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.running.executors import test_executors_contract as contract
from tests.contract.running.executors.conftest import (
    FAKES,
    Place,
    assert_each_once,
    exit_of,
    samples,
    settings,
    sh,
    wait_for,
)
from tests.seams import Facts, Store, set_size
from tests.stored import at

pytestmark = pytest.mark.slow

SETTINGS = """
[executors.cluster]
kind = "command"
preset = "iris"
program = ["uv", "run", "iris", "--cluster=marin"]
options = ["--priority", "batch"]
poll_s = 0.05
log_lag_s = 0
"""
TYPED = ("uv", "run", "iris", "--cluster=marin", "job", "run", "--no-wait", "--cpu", "2", "--memory", "8GB")
KILLS, CASES = (50, 20) if STRESS else (3, 3)
# Of a launcher of one's own: what each of its verbs takes.
Q = {"submit": "command", "state": "id", "logs": "id"}
# Of no shape that is known.
SECRET = "0aZ-" + "Q7x" * 12


@pytest.fixture
def iris(started: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line, where `uv run iris` is the stand-in."""
    monkeypatch.setenv("PATH", f"{FAKES}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_IRIS", str(tmp_path / "iris"))
    (tmp_path / "iris").mkdir()
    settings().write_text(SETTINGS)
    return started


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """An old job is asked about as often as a new one."""
    set_size(monkeypatch, "age of a job for each second between looks", 1e6)


def submissions(tmp_path: Path) -> int:
    return len((tmp_path / "iris/submissions").read_text().split())


def jobs(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((tmp_path / "iris/jobs").glob("*/job.json"))]


def run_of(folder: Path, entry: str = "MOE-000", number: int = 1) -> Facts:
    return Store(folder).runs(entry)[number - 1]


def test_a_typed_submission_is_submitted_then_collected(iris: Cli, folder: Path, tmp_path: Path) -> None:
    script = "until [ -e $GO ]; do sleep 0.02; done; echo RESULT tflops=2.5; echo I have $WANDB_API_KEY; exit 3"
    go = tmp_path / "go"
    words = (*TYPED, "-e", "WANDB_API_KEY", SECRET, "-e", "GO", str(go), "--", *sh(script))
    done = iris("run", "--", *words)
    assert done.code == 0
    assert "logbook wait MOE-000" in done.err
    run = run_of(folder)
    assert (run.exit, run.duration_s, run.launcher and run.launcher.name) == (None, None, "iris")
    assert tuple(run.argv[: len(TYPED)]) == TYPED
    assert "[redacted" in " ".join(run.argv) or "$WANDB_API_KEY" in run.argv
    assert iris("list").out.split()[3] in ("submitted", "running")
    go.touch()
    assert iris("wait", "MOE-000").code == 3
    run = run_of(folder)
    assert (exit_of(run), samples(run)) == ({"code": 3}, [[2.5]])
    assert run.duration_s > 0
    assert run.peak_memory_bytes is not None
    assert (run.host, run.devices) == (None, None)
    assert submissions(tmp_path) == 1
    [job] = jobs(tmp_path)
    assert job["job"] == run.job
    assert job["job"].split("/")[2].startswith("moe-000-01-")
    assert job["env"]["WANDB_API_KEY"] == SECRET, "the job had it"
    assert "$WANDB_API_KEY" in at(folder / "logbooks/moe/runs/MOE-000/01/output.log").read_text()
    kept = [path for path in (folder / "logbooks").rglob("*") if path.is_file()]
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []


def test_a_run_on_an_executor(iris: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("echo RESULT tflops=$TFLOPS from=$PWD; echo 'two words' \"$1\"\n")
    words = ("run", "--on", "cluster", "--env", "TFLOPS=7", "--", "bash", "bench.sh", "it's a b")
    done = iris(*words)
    assert done.code == 0, done.err
    assert "two words it's a b" in done.out
    run = run_of(folder)
    assert run.executor == "cluster"
    assert samples(run) == [[7.0]]
    assert run.argv[:8] == ["uv", "run", "iris", "--cluster=marin", "job", "run", "--no-wait", "--priority"]
    assert run.env.relevant == {"TFLOPS": "7"}
    again = iris(*words)
    assert again.code == 0
    assert run_of(folder, "MOE-001").argv == run.argv, "the same command, run by run"
    failed = iris("run", "--on", "cluster", "--", *sh("echo RESULT tflops=1; exit 4"))
    assert failed.code == 4


@pytest.mark.parametrize("fault", ["reply-lost", pytest.param("slow,reply-lost", marks=pytest.mark.wide)])
def test_a_lost_reply_starts_no_second_job(
    fault: str, iris: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_IRIS_FAULTS", fault)
    assert iris("run", "--on", "cluster", "--", *sh("echo RESULT tflops=1")).code == 0
    assert submissions(tmp_path) == len(jobs(tmp_path)) == 1
    assert len(run_of(folder).rows) == 1


def test_an_answer_that_is_lost_is_looked_for_later(
    iris: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The submission arrives; from then on nobody answers for a while."""
    shim = tmp_path / "shim"
    shim.mkdir()
    first = f'"{FAKES}/iris" "$@" > /dev/null 2>&1'
    (shim / "iris").write_text(f'#!/bin/sh\n{first}\nFAKE_IRIS_FAULTS=unreachable exec "{FAKES}/iris" "$@"\n')
    (shim / "iris").chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{shim}{os.pathsep}{path}")
    assert iris("run", "--detach", "--on", "cluster", "--", *sh("echo RESULT tflops=1")).code == 0
    shown = iris("list")
    assert "submitted" in shown.out
    monkeypatch.setenv("PATH", path)
    assert iris("wait", "MOE-000").code == 0
    assert len(jobs(tmp_path)) == 1
    assert len(run_of(folder).rows) == 1


@pytest.mark.parametrize(
    ("fault", "state", "said"),
    [
        ("preempted", "lost", "JOB_STATE_WORKER_FAILED"),
        ("unschedulable", "never-started", "JOB_STATE_UNSCHEDULABLE"),
    ],
)
def test_what_becomes_of_a_job(
    fault: str, state: str, said: str, iris: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_IRIS_FAULTS", fault)
    iris("run", "--detach", "--on", "cluster", "--", *sh("echo RESULT tflops=1; exec sleep 60"))
    assert iris("wait", "MOE-000").code == 125
    run = run_of(folder)
    assert iris("show", "MOE-000", "--json").data["state"] == state
    assert said in run.problems[-1].text
    assert len(run.rows or ()) == (1 if fault == "preempted" else 0)


def test_status_and_wait_say_in_which_state_a_job_waits(
    iris: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_IRIS_FAULTS", "queued")
    iris("run", "--detach", "--on", "cluster", "--", *sh("echo RESULT tflops=1"))
    late = iris("wait", "--timeout", "10ms")
    assert (late.code, late.out) == (124, "still running: MOE-000\nMOE-000 run 1: JOB_STATE_PENDING\n")
    assert iris("status", "--json").data["running"][0]["said"] == "JOB_STATE_PENDING"
    told = iris("wait", "--timeout", "10ms", "--json").data
    assert (told["going"], told["said"]) == (["MOE-000"], ["MOE-000 run 1: JOB_STATE_PENDING"])
    iris("cancel", "MOE-000")


def test_a_log_that_was_cut_keeps_what_was_seen(
    iris: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"
    script = (
        f"for i in 1 2 3 4; do echo RESULT size=$i tflops=$i; done; until [ -e {go} ]; do sleep 0.02; done; echo end"
    )
    iris("run", "--detach", "--on", "cluster", "--", *sh(script))
    wait_for(lambda: "size=4" in iris("show", "MOE-000", "--log").out)
    monkeypatch.setenv("FAKE_IRIS_FAULTS", "truncated")
    go.touch()
    assert iris("wait").code == 0
    run = run_of(folder)
    assert len(run.rows) == 4
    assert not run.problems


def test_a_secret_is_not_handed_to_a_launcher(iris: Cli, folder: Path) -> None:
    done = iris("run", "--on", "cluster", "--env", f"HF_TOKEN={SECRET}", "--", "true")
    assert (done.code, "HF_TOKEN" in done.err, "'cluster'" in done.err) == (2, True, True)
    assert Store(folder).entry_ids() == []


@pytest.mark.wide
def test_it_keeps_the_contract(iris: Cli, folder: Path) -> None:
    """As far as that can be seen without a worker: the job runs in a copy of the folder, on a machine unknown."""
    place = Place("cluster", folder, iris)
    failed = place.ended(place.send(*sh("echo RESULT tflops=2; exit 3")))
    assert (exit_of(failed), samples(failed)) == ({"code": 3}, [[2]])
    record = place.store.run_path(failed.entry, 1)
    before = record.read_bytes()
    for words in (("wait", failed.entry), ("status",)):
        iris(*words)
    assert (record.read_bytes(), len(place.store.run_paths(failed.entry))) == (before, 1), "it is taken in once"
    contract.test_its_curves_come_back(place)


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ('preset = "iris"', "program"),
        ('submit = ["q", "{command}"]\nstate = ["q"]\nlogs = ["q", "{job}"]', "{job}"),
        ('submit = ["q", "x{command}"]\nstate = ["q"]\nlogs = ["q"]', "{command}"),
        ('submit = ["q", "{command}"]', "state"),
    ],
)
def test_templates_that_cannot_work(started: Cli, table: str, named: str) -> None:
    settings().write_text(f'[executors.q]\nkind = "command"\n{table}\n')
    refused = started("run", "--json", "--on", "q", "--", "true")
    assert refused.code == 2
    assert named in refused.error["message"] + refused.error["cause"]
    assert started("list", "--json").data == []


@pytest.mark.wide
def test_a_sweep_of_jobs_whose_client_is_killed(iris: Cli, folder: Path, tmp_path: Path) -> None:
    """At random instants, again and again: one row for each case, and a record of every job."""
    text = RECIPE.replace("size: [1, 2, 3, 4]", f"size: [{', '.join(map(str, range(1, CASES + 1)))}]")
    write_recipe(folder, text, bench='sleep 0.1; echo "RESULT size=$1 mode=$2 tflops=$(($1 * 10))"\n')
    chance = random.Random(KILLS)
    words = ["demo", "--on", "cluster"]
    for _ in range(KILLS):
        client = subprocess.Popen(
            [*LOGBOOK, "sweep", *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(lambda: Store(folder).entry_ids())
        time.sleep(chance.uniform(0.05, 2.0))
        client.kill()
        client.wait()
        words = ["--id", "MOE-000", "--on", "cluster"]
    done = iris("sweep", *words)
    assert done.code == 0, done.err
    assert_each_once(runs_of(folder), 2 * CASES)
    names = {job["job"] for job in jobs(tmp_path)}
    assert {run.job for run in runs_of(folder) if run.job} == names, "no job without a run"


@pytest.mark.parametrize(("age_s", "state"), [(10.0, "submitted"), (1000.0, "never-started"), (-1e6, "never-started")])
def test_a_submission_that_never_came(age_s: float, state: str, iris: Cli, folder: Path) -> None:
    """Its client was killed before it could submit; a clock that jumps changes nothing for good."""
    iris("run", "--detach", "--on", "cluster", "--", "true")
    [work] = Store(folder).working()
    sent = work / "sent.json"
    sent.write_text(json.dumps({"format": 1, "name": "moe-000-01-nowhere", "at": time.time() - age_s}))
    assert iris("show", "MOE-000", "--json").data["state"] == state


def test_the_id_is_read_from_stdout(started: Cli, folder: Path, tmp_path: Path) -> None:
    """Whatever the launcher says on stderr."""
    program = tmp_path / "q"
    program.write_text(
        '#!/bin/sh\ncase $1 in submit) echo 7; echo "a new version is available" >&2 ;;\n'
        'state) [ "$2" = 7 ] && echo succeeded ;; logs) echo RESULT tflops=1 ;; esac\n'
    )
    program.chmod(0o755)
    words = "".join(f'{verb} = ["{program}", "{verb}", "{{{word}}}"]\n' for verb, word in Q.items())
    settings().write_text(f'[executors.q]\nkind = "command"\npoll_s = 0.1\nlog_lag_s = 0\n{words}')
    assert started("run", "--on", "q", "--", "true").code == 0
    assert (run_of(folder).job, samples(run_of(folder))) == ("7", [[1.0]])
