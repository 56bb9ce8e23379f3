"""Which variables a recorded command needs, from its words alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.agents.recorded_run import lacking
from logbook_agent.campaign.run_request import in_repository
from logbook_agent.model.code import Code
from logbook_agent.model.run import Env, Run

CODE = Code(commit="a" * 40, identity="b" * 40)


def run(*argv: str, script: bool = False) -> Run:
    env = Env(declared={"GIVEN": "1"})
    return Run(entry="M-000", run=1, argv=argv, shell=script, env=env, code=CODE, started="2026-02-10T10:00:00+00:00")


@pytest.mark.parametrize(
    ("script", "needed"),
    [
        ("python x.py $DATA ${more}", ["DATA", "more"]),
        ("N=3; echo $N $GIVEN $HOME_OF_X", ["HOME_OF_X"]),
        ("for i in 1 2; do echo $i; done", []),
        ("cat x | while read -r line; do echo $line; done", []),
        ("awk '{print $NF}' x; echo \\$no $$ $1 $? $RANDOM ${X:-d}", []),
        ("export A=1 && echo ${A} $LOGBOOK_RUN", []),
        ("curl -H $HF_TOKEN x", ["HF_TOKEN"]),
    ],
)
def test_variables_that_a_script_does_not_set(script: str, needed: list[str]) -> None:
    said = [f"variable {name}: not set here" for name in needed]
    assert [*lacking(run(script, script=True), {})] == said
    assert [*lacking(run("bash", "-lc", script), {})] == said
    assert [*lacking(run(script, script=True), dict.fromkeys(needed, "x"))] == []


def test_a_word_of_another_program_names_secrets_alone() -> None:
    one = run("python", "x.py", "--sum=$total", "--token=$HF_TOKEN", "-c", "$HF_TOKEN")
    assert [*lacking(one, {})] == ["variable HF_TOKEN: not set here"]


def test_a_working_tree_that_was_removed_is_the_repository() -> None:
    here = Path("/home/me/moe")
    for text, expected in {
        "/scratch/logbook-checkouts-0/moe-1a2b3c4d/1/base/bench.sh": "/home/me/moe/bench.sh",
        "--in=/var/x/logbook-checkouts-1000/moe-1a2b3c4d/12/head": "--in=/home/me/moe",
        "/a/b:/scratch/logbook-checkouts-0/moe-1a2b3c4d/1/made/src:/c": "/a/b:/home/me/moe/src:/c",
        "/scratch/logbook-checkouts/x": "/scratch/logbook-checkouts/x",
    }.items():
        assert in_repository(text, here) == expected
