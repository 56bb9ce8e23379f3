"""Submitting to a real Slurm: secrets, and answers that are lost."""

from __future__ import annotations

import threading

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
