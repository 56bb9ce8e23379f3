"""Launchers from a table, and those that are recognised as they are typed."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from logbook_agent.model.errors import UsageError
from logbook_agent.text.commands.flags import flags
from logbook_agent.text.commands.launchers import launchers_from, recognise, wrap


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"x": 3}, "expected a mapping, got int"),
        ({"x": {"template": "a {command}", "tagret": "b"}}, "tagret: unknown key"),
        ({"x": "ssh host"}, "{command} exactly once"),
        ({"x": "ssh 'h {command}"}, "not shell text"),
        ({"x": {"template": "a {command}", "env_template": "-e {key}"}}, "{key} and {value}"),
    ],
)
def test_a_bad_table_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        launchers_from(table)
    assert message in caught.value.message


def test_what_a_template_has_no_place_for_is_refused() -> None:
    plain, bare = launchers_from({"plain": "srun -N1 {command}", "s": "ssh {name} {command}"}).values()
    for launcher, argv, env, why in (
        (plain, ["x"], {"A": "1"}, "cannot pass environment on: A"),
        (bare, ["x"], {}, "has no target"),
        (plain, ["A=1"], {}, "no command"),
    ):
        with pytest.raises(UsageError, match=why):
            wrap(launcher, argv, env, None)


UV = "RAY_AUTH_MODE=token uv run scripts/ray/dev_tpu.py --config infra/marin-us-central1.yaml"


def test_the_built_in_shape() -> None:
    argv = shlex.split(f"{UV} --tpu-name=t execute --env=A=1 -eB=2 -- x --topk 2")
    found = recognise(argv)
    assert found is not None
    assert (found.launch.name, found.launch.target) == ("dev_tpu", "t")
    assert (found.remote_env, found.local_env) == ({"A": "1", "B": "2"}, {"RAY_AUTH_MODE": "token"})
    assert [*found.launch.prefix, *found.launch.command] == argv
    assert flags(argv) == {"topk": "2"}


IRIS = (
    "uv run iris --cluster=marin job run --no-wait --priority batch --cpu 2 --memory 8GB"
    " -e WANDB_API_KEY 0123456789abcdef0123456789abcdef01234567 -e XLA_FLAGS --xla_x -- python bench.py --topk 2"
)


def test_a_submission_to_iris() -> None:
    done = recognise(shlex.split(IRIS))
    assert done is not None
    assert (done.launch.name, done.launch.target, done.submits) == ("iris", "marin", True)
    assert done.launch.command == ("python", "bench.py", "--topk", "2")
    assert done.remote_env["XLA_FLAGS"] == "--xla_x"
    assert flags(done.argv) == {"topk": "2"}


@pytest.mark.parametrize(
    "line",
    [
        "uv run --package marin python scripts/ray/dev_tpu.py --help",
        f"{UV} allocate --tpu-type v5p-8 --tpu-name x",
        "python x.py -- execute dev_tpu.py",
    ],
)
def test_what_launches_nothing_is_no_launch(line: str) -> None:
    assert recognise(shlex.split(line)) is None
