"""Submitting to a real Slurm: secrets, and answers that are lost."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import runs_of, write_recipe
from tests.contract.engines.slurm_engine import Slurm
from tests.contract.engines.slurm_place import SlurmPlace
from tests.contract.running.executors.conftest import at_once, exit_of, sh, wait_for
from tests.contract.running.executors.test_executors_contract import SECRET, files_with
from tests.contract.running.executors.test_executors_many import RECIPE


def test_secrets_go_by_name_alone(slurm: Slurm, queue: SlurmPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a login sets on the nodes is there; what this process has is not, and lies in no file of Slurm."""
    there, here = SECRET, SECRET[::-1] + "A"
    monkeypatch.setenv("HF_TOKEN", here)
    slurm.login_sets("API_KEY", there)
    script = 'echo "$API_KEY ${HF_TOKEN-none}"; until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=1'
    try:
        run = queue.send(*sh(script), options=("--env", f"API_KEY={here}B", "--env", "MODE=fast"))
        queue.printed(run, "$API_KEY")
        for needle in (there, here):
            for folder in (queue.folder, queue.shared, slurm.folder):
                hits = [name for name in files_with(folder, needle.encode()) if name != "profile.d/API_KEY.sh"]
                assert hits == []
        assert here not in slurm.ask("scontrol", "show", "job", "--oneliner")
        (queue.folder / "go").touch()
        done = queue.ended(run)
    finally:
        slurm.login_sets("API_KEY", None)
    assert queue.log(run) == b"$API_KEY none\nRESULT tflops=1\n"
    assert done.env.declared == {"API_KEY": "$API_KEY", "MODE": "fast"}


def test_a_secret_in_a_word_is_refused(slurm: Slurm, queue: SlurmPlace) -> None:
    run = queue.send("echo", f"--token={SECRET}")
    assert queue.state(run) == "never-started"
    assert "secret" in run.problems[0].text
    assert jobs(slurm, queue) == []
    assert files_with(queue.folder, SECRET.encode()) == []


def wrapped(slurm: Slurm, folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Have another `sbatch`, which calls the real one as "$REAL"."""
    folder.mkdir()
    (folder / "sbatch").write_text(f"#!/bin/sh\nREAL={slurm.bin}/sbatch\n{script}\n")
    (folder / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def jobs(slurm: Slurm, queue: SlurmPlace) -> list[str]:
    """All jobs of this logbook, by their folders."""
    folders = slurm.ask("squeue", "--noheader", "--states=all", "--format=%Z").splitlines()
    return [folder for folder in folders if folder.startswith(str(queue.shared))]


@pytest.mark.parametrize("how", ['"$REAL" "$@"; exit 1', '"$REAL" "$@" > /dev/null; kill -9 $$'])
def test_a_submission_whose_answer_was_lost(
    slurm: Slurm,
    queue: SlurmPlace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    wrapped(slurm, tmp_path / "wrapped", monkeypatch, how)
    # Slurm forgets a job soon after its end, so it is counted before.
    run = queue.send(*sh("echo x >> started; until [ -e go ]; do sleep 0.1; done; echo RESULT tflops=1"))
    assert run.exit is None
    assert len(jobs(slurm, queue)) == 1
    (queue.folder / "go").touch()
    assert exit_of(queue.ended(run)) == {}
    assert (queue.folder / "started").read_text() == "x\n"


def test_a_submission_that_never_arrived(
    slurm: Slurm,
    queue: SlurmPlace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrapped(slurm, tmp_path / "wrapped", monkeypatch, "echo 'sbatch: error: it is night' >&2; exit 1")
    run = queue.send("true")
    assert "it is night" in run.problems[0].text
    assert queue.state(run) == "never-started"


def test_a_job_that_arrives_after_it_was_given_up(
    slurm: Slurm,
    queue: SlurmPlace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The script of the job is kept, and submitted when its run was told to have never started."""
    wrapped(slurm, tmp_path / "wrapped", monkeypatch, f'cat > {tmp_path}/script; echo "$@" > {tmp_path}/words; exit 1')
    run = queue.send(*sh("echo x >> started"))
    assert queue.state(run) == "never-started"
    words = (tmp_path / "words").read_text().split()
    with (tmp_path / "script").open() as script:
        subprocess.run([slurm.bin / "sbatch", *words], stdin=script, stdout=subprocess.DEVNULL, check=True)
    # It is soon forgotten when it is over.
    going = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")
    wait_for(lambda: not [job for job in queue.jobs(slurm) if slurm.state(job) in going])
    assert not (queue.folder / "started").exists()


@pytest.mark.slow
def test_the_runs_of_a_round_are_made_in_turn_on_one_node(slurm: Slurm, queue: SlurmPlace, started: Cli) -> None:
    # The first one waits for a second beside it, a minute at most.
    bench = """
    echo "start $LOGBOOK_RUN $SLURMD_NODENAME" >> order
    for i in $(seq 600); do [ $(grep -c start order) -ge 2 ] && break; sleep 0.1; done
    echo "RESULT x=$1 tflops=1"
    echo end >> order
    """
    write_recipe(queue.folder, RECIPE.replace("[1, 2, 3, 4]", "[1, 2]"), bench=bench, name="spread")
    answer = started("sweep", "spread", "--on", queue.name, "--parallel", "2")
    assert answer.code == 0, answer.err
    assert at_once(queue.folder) == 2
    rounds = {str(run.run): run.repeat for run in runs_of(queue.folder)}
    lines = [line.split() for line in (queue.folder / "order").read_text().splitlines() if line.startswith("start")]
    nodes = {number: {node for _, run, node in lines if rounds[run] == number} for number in (1, 2)}
    assert sorted(rounds.values()) == [1] * 2 + [2] * 2
    assert [len(of_round) for of_round in nodes.values()] == [1, 1], "each round on one node"


PAIRS = """
name: pairs
question: Which one is faster?
command: [bash, bench.sh, "{x}"]
axes: {x: [1, 2]}
compare: {axis: x, base: 1}
order: interleaved
repeats: 8
metrics: [tflops]
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ab", "sweep"])
def test_both_sides_of_a_pair_are_made_on_one_node(slurm: Slurm, queue: SlurmPlace, started: Cli, name: str) -> None:
    nodes = queue.folder / "nodes"
    bench = 'echo "$SLURMD_NODENAME" >> nodes; until [ -e go ]; do sleep 0.1; done; echo "METRIC tflops=$1"\n'
    write_recipe(queue.folder, PAIRS, bench=bench, name="pairs")

    def taken() -> None:
        """A job waits for the node of the first side before the second one is made; the other node is free."""
        node = wait_for(lambda: nodes.exists() and nodes.read_text().strip())
        slurm.submit("sleep 3", "--exclusive", f"--nodelist={node}")
        (queue.folder / "go").touch()

    other = threading.Thread(target=taken)
    other.start()
    ask = {
        "ab": ("ab", "--on", queue.name, "--axis", "x=1,2", "--max-pairs", "1", "--", "bash", "bench.sh", "{axis}"),
        "sweep": ("sweep", "pairs", "--on", queue.name),
    }
    answer = started(*ask[name])
    other.join()
    assert answer.code == 0, answer.err
    first, second, *_ = nodes.read_text().split()
    assert first == second


def test_a_side_that_is_preempted_is_made_again(slurm: Slurm, queue: SlurmPlace, started: Cli) -> None:
    """It is the second run of its job, and what Slurm says of the job concerns it, too."""
    sides = queue.folder / "sides"
    waits = "[ $(wc -l < sides) != 2 ] || until [ -e go ]; do sleep 0.1; done"
    bench = f'echo "$SLURMD_NODENAME" >> sides; {waits}; echo "METRIC tflops=$1"\n'
    write_recipe(queue.folder, PAIRS, bench=bench, name="pairs")

    def preempt() -> None:
        node, _ = wait_for(lambda: len(found := sides.read_text().split() if sides.exists() else []) == 2 and found)
        other = slurm.submit("sleep 1", "--partition=high", "--exclusive", f"--nodelist={node}")
        wait_for(lambda: slurm.state(other) not in ("PENDING", "CONFIGURING"))
        (queue.folder / "go").touch()

    other = threading.Thread(target=preempt)
    other.start()
    ask = ("ab", "--on", queue.name, "--axis", "x=1,2", "--max-pairs", "1", "--json", "--", "bash", "bench.sh")
    answer = started(*ask, "{axis}")
    other.join()
    assert (answer.code, answer.data["pairs"]) == (0, 1), answer.err
    assert [exit_of(run) for run in runs_of(queue.folder)] == [{}, {"lost": True}, {}]
