"""Every hillclimb command line of the published logbooks, with loops and heredocs written out.

They run on four devices, as on the four chips of the published runs, all with `ragged_dot` in the place of `gmm`, whose
interpret mode takes seconds to compile; those in which every word occurs once also run with `gmm` itself.
"""

import csv
import inspect
import shlex
from pathlib import Path
from typing import Any

import pytest

from bench_core.blocks.modes import QueueMode
from bench_core.cli.hillclimb import command
from bench_core.cli.rows import Request
from bench_core.harness.case import Case
from tests.breadth import covering
from tests.seams import bench_core as main

COMMANDS = Path(__file__).parent / "data" / "seed_commands.tsv"
DEFAULTS = {
    f"--{name.replace('_', '-')}": str(parameter.default)
    for name, parameter in inspect.signature(command).parameters.items()
}
SMALL = {"--tokens": 24, "--hidden": 8, "--mlp-dim": 6, "--experts": 12, "--shared-expert-dim": 5, "--iters": 1}


def _commands() -> list[tuple[str, ...]]:
    with COMMANDS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    return [tuple(shlex.split(row["options"])) for row in rows]


def _options(words: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The value of each flag; a switch has none."""
    options: dict[str, tuple[str, ...]] = {}
    for word in words:
        if word.startswith("--"):
            flag = word
            options[flag] = ()
        else:
            options[flag] += (word,)
    return options


def _small(words: tuple[str, ...]) -> tuple[str, ...]:
    """The same request at sizes that take no time (a size of 0 stays 0), in one order and without defaults.

    Sweeps are cut to two fractions: the seven others compile the same program for other sizes.
    """
    options = _options(words)
    for flag, size in SMALL.items():
        if options.get(flag, ("0",)) != ("0",):
            options[flag] = (str(size),)
    if options.pop("--null-route-sweep", None) is not None:
        options["--null-route-frac-list"] = ("0.1,0.9",)
    return tuple(
        word for flag, value in sorted(options.items()) if value != (DEFAULTS[flag],) for word in (flag, *value)
    )


def test_the_list_is_whole() -> None:
    assert len(_commands()) == 97
    flags = {word for words in _commands() for word in words if word.startswith("--")}
    assert {"--stage-timing", "--remat-mode", "--null-route-sweep", "--shared-fused", "--topk-list"} <= flags


@pytest.mark.slow
def test_every_seed_command_is_understood(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    taken: list[Case] = []

    def take(request: Request) -> bool:
        taken.extend(request.cases)
        return True

    monkeypatch.setattr("bench_core.cli.hillclimb.run_cases", take)
    for words in _commands():
        with pytest.raises(SystemExit) as exit_:
            main(["hillclimb", *words])
        assert not exit_.value.code, capsys.readouterr().err
    # Sweeps, lists and both queues are several cases each.
    assert len(taken) > len(_commands())
    assert {case.queue_mode for case in taken} == set(QueueMode)
    # The published harness ran these as `full`, whatever they were called.
    idle = [case for case in taken if "queue_mode" in case.no_effect()]
    assert len(idle) == 4
    assert not any(case.prequeued for case in idle)


def _distinct(backend: str) -> list[tuple[str, ...]]:
    """The requests that stay different when they are small, with `backend` in the place of gmm."""
    words = {tuple(backend if word == "gmm" else word for word in _small(words)) for words in _commands()}
    return sorted(words, key=lambda words: (len(words), words))


def _covering(requests: list[tuple[str, ...]]) -> list[Any]:
    """The requests; a few in which every flag and value occurs, but for top-k, which is no matter of a backend, stay in
    `make test`."""
    return covering(
        [(words,) for words in requests],
        lambda one: [item for item in _options(one[0]).items() if "topk" not in item[0]],
    )


# Of gmm, which is slow here, those few alone.
_AS_GMM = [one for one in _covering([words for words in _distinct("gmm") if "gmm" in words]) if not one.marks]


@pytest.mark.slow
@pytest.mark.parametrize("words", [*_covering(_distinct("ragged_dot")), *_AS_GMM], ids=" ".join)
@pytest.mark.wide
def test_every_seed_command_runs_at_a_small_shape(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["hillclimb", *words, "--devices", "4"])
    out, err = capsys.readouterr()
    assert not exit_.value.code, err
    assert "RESULT " in out
    assert "check=passed" in out
    if "ep" in words:
        assert "psum over 1 x 4 devices" in out
