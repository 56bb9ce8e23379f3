"""A submission to iris, as it is typed."""

from __future__ import annotations

import shlex

from logbook_agent.text.commands.flags import flags
from logbook_agent.text.commands.known import iris
from logbook_agent.text.commands.launchers import recognise

LINE = (
    "uv run iris --cluster=marin job run --no-wait --priority batch --cpu 2 --memory 8GB"
    " -e WANDB_API_KEY 0123456789abcdef0123456789abcdef01234567 -e XLA_FLAGS --xla_x -- python bench.py --topk 2"
)


def test_a_submission_to_iris() -> None:
    done = recognise(shlex.split(LINE))
    assert done is not None
    assert (done.launch.name, done.launch.target, done.submits) == ("iris", "marin", True)
    assert done.launch.command == ("python", "bench.py", "--topk", "2")
    assert done.remote_env["XLA_FLAGS"] == "--xla_x"
    assert flags(done.argv) == {"topk": "2"}
    line = iris(done.argv)
    assert line is not None
    assert done.argv[: line.base] == ("uv", "run", "iris", "--cluster=marin")
    assert line.name is None
