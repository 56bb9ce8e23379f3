"""Every hillclimb command line of the published logbooks, with loops and heredocs written out.

`gmm` stands for a backend that is not there yet and `ep` for a parallel mode that is not: both are replaced.
"""

import csv
import shlex
import sys
from pathlib import Path

import pytest

from bench_core.blocks.modes import QueueMode
from bench_core.cli import main
from bench_core.harness.case import Case
from bench_core.shapes import BenchPass

COMMANDS = Path(__file__).parent / "data" / "seed_commands.tsv"
SMALL = {"--tokens": 24, "--hidden": 8, "--mlp-dim": 6, "--experts": 9, "--shared-expert-dim": 5, "--iters": 1}
REFUSED = "--queue-mode prequeue cannot be combined with --bench-pass forward_backward"


def _commands() -> list[tuple[str, ...]]:
    with COMMANDS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    replaced = {"gmm": "ragged_dot", "ep": "none"}
    return [tuple(replaced.get(word, word) for word in shlex.split(row["options"])) for row in rows]


def _small(words: tuple[str, ...]) -> tuple[str, ...]:
    """The same flags at sizes that take no time; a size of 0 stays 0."""
    sizes = {flag: str(size) for flag, size in SMALL.items()}
    return tuple(
        sizes[before] if before in sizes and word != "0" else word
        for before, word in zip(("", *words), words, strict=False)
    )


def test_the_list_is_whole() -> None:
    assert len(_commands()) == 97
    flags = {word for words in _commands() for word in words if word.startswith("--")}
    assert {"--stage-timing", "--remat-mode", "--null-route-sweep", "--shared-fused", "--topk-list"} <= flags


def test_every_seed_command_is_understood(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    taken: list[Case] = []

    def take(cases: list[Case], **_: object) -> bool:
        taken.extend(cases)
        return True

    # By its module: `bench_core.cli.hillclimb` as an attribute is the command.
    monkeypatch.setattr(sys.modules["bench_core.cli.hillclimb"], "run_cases", take)
    refused = 0
    for words in _commands():
        with pytest.raises(SystemExit) as exit_:
            main(["hillclimb", *words])
        error = capsys.readouterr().err
        if error:
            # What the published harness ran as `full` under that name.
            assert error.startswith(f"error: {REFUSED}"), words
            assert exit_.value.code == 2
            refused += 1
    assert refused == 4
    # Sweeps, lists and both queues are several cases each.
    assert len(taken) > len(_commands())
    assert {case.queue_mode for case in taken} == set(QueueMode)


@pytest.mark.slow
@pytest.mark.parametrize("words", sorted({_small(words) for words in _commands()}), ids=" ".join)
def test_every_seed_command_runs_at_a_small_shape(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        # Sweeps are cut to two fractions: the seven others compile the same program for other sizes.
        main(["hillclimb", *_two_fractions(words)])
    out, err = capsys.readouterr()
    if "prequeue" in words and BenchPass.FORWARD_BACKWARD in words:
        assert REFUSED in err
        return
    assert not exit_.value.code, err
    assert "RESULT " in out
    assert "check=passed" in out


def _two_fractions(words: tuple[str, ...]) -> list[str]:
    changed: list[str] = []
    for word in words:
        changed += ["--null-route-frac-list", "0.1,0.9"] if word == "--null-route-sweep" else [word]
    return changed
