"""Launchers from a table, and those that are recognised as they are typed."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from logbook_agent.model.errors import UsageError
from logbook_agent.text.commands.flags import flags
from logbook_agent.text.commands.launchers import launchers_from, recognise, wrap

TPU = (
    "RAY_AUTH_MODE=token uv run scripts/ray/dev_tpu.py --config infra/x.yaml --tpu-name {name} "
    "execute --no-sync {env} -- {command}"
)
SSH = "ssh {name} 'cd w && {env} {command}'"
LAUNCHERS = launchers_from(
    {
        "tpu": {"template": TPU, "target": "codex1"},
        "ssh": {"template": SSH, "env_template": "{key}={value}", "target": "far"},
        "plain": "srun -N1 {command}",
    }
)
XLA = "LIBTPU_INIT_ARGS=--xla_tpu_scoped_vmem_limit_kib=50000"
ENV = {"LIBTPU_INIT_ARGS": "--xla_tpu_scoped_vmem_limit_kib=50000", "A": "b c"}


def test_environment_goes_through_the_template_as_words() -> None:
    done = wrap(LAUNCHERS["tpu"], ["python", "x.py"], ENV, None)
    assert shlex.join(done.argv) == (
        "uv run scripts/ray/dev_tpu.py --config infra/x.yaml --tpu-name codex1 execute --no-sync "
        f"-e {XLA} -e 'A=b c' -- python x.py"
    )
    assert done.local_env == {"RAY_AUTH_MODE": "token"}
    assert done.remote_env == ENV
    assert done.launch.name == "tpu"
    assert done.launch.target == "codex1"
    assert done.launch.command == ("python", "x.py")
    assert done.launch.prefix == ("RAY_AUTH_MODE=token", *done.argv[:-2])


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
    with pytest.raises(UsageError, match="cannot pass environment on: A"):
        wrap(LAUNCHERS["plain"], ["x"], {"A": "1"}, None)
    bare = launchers_from({"s": "ssh {name} {command}"})["s"]
    with pytest.raises(UsageError, match="has no target"):
        wrap(bare, ["x"], {}, None)
    with pytest.raises(UsageError, match="no command"):
        wrap(LAUNCHERS["plain"], ["A=1"], {}, None)


UV = "RAY_AUTH_MODE=token uv run scripts/ray/dev_tpu.py --config infra/marin-us-central1.yaml"
LOOP = """/bin/bash -lc 'set -euo pipefail; for tk in 2 8; do uv run --package levanter --extra tpu \
lib/b.py --tokens 32768 --topk "$tk" --shared-fused; done'"""
BENCH = "-e BENCH_HIDDEN=1024 -e BENCH_BATCH=1920 -e BENCH_EP_AXIS_SIZE=4"


@pytest.mark.parametrize(
    ("line", "target", "env", "command"),
    [
        (
            f'{UV} --tpu-name dlwh-codex5 execute -e LIBTPU_INIT_ARGS="{XLA[17:]}" -- {LOOP}',
            "dlwh-codex5",
            {"LIBTPU_INIT_ARGS": XLA[17:]},
            LOOP,
        ),
        (
            f"{UV} --tpu-name c-1111 execute --no-sync -e {XLA} {BENCH} -- uv run --python 3.11 m.py",
            "c-1111",
            {
                "LIBTPU_INIT_ARGS": XLA[17:],
                "BENCH_HIDDEN": "1024",
                "BENCH_BATCH": "1920",
                "BENCH_EP_AXIS_SIZE": "4",
            },
            "uv run --python 3.11 m.py",
        ),
        (f"{UV} --tpu-name=t execute --env=A=1 -eB=2 -- x", "t", {"A": "1", "B": "2"}, "x"),
    ],
)
def test_the_built_in_shape(line: str, target: str, env: dict[str, str], command: str) -> None:
    argv = shlex.split(line)
    found = recognise(argv)
    assert found is not None
    assert found.launch.name == "dev_tpu"
    assert found.launch.target == target
    assert found.remote_env == env
    assert found.local_env == {"RAY_AUTH_MODE": "token"}
    assert list(found.launch.command) == shlex.split(command)
    assert [*found.launch.prefix, *found.launch.command] == argv
    assert not {"config", "tpu_name"} & set(flags(argv))


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
