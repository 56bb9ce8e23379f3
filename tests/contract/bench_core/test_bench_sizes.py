"""Sizes of a mesh and of a block: what is refused, and which sizes are proposed."""

from collections.abc import Callable

import pytest

from tests.contract.bench_core.cli_support import Outcome

SIZES = "--tokens 64 --hidden 32 --mlp-dim 16 --experts 4"
# What an error says, and what its last line proposes.
REFUSED: dict[str, tuple[str, str]] = {
    f"overlap --devices 3 {SIZES}": ("4 experts", "--devices 2"),
    f"hillclimb --parallel-mode ep --ep-impl all_to_all --ep-size 1 --devices 2 {SIZES}": (
        "--ep-impl all_to_all",
        "--ep-size 2 --dp-size 1",
    ),
    f"compare --devices 4 --ep-size 3 {SIZES}": ("--ep-size 3", "--ep-size 2"),
    f"hillclimb --parallel-mode ep --devices 1000 {SIZES}": ("4 experts", "--ep-size 4 --dp-size 250"),
    "hillclimb --tokens 10000000000000000000000": ("--tokens 10000000000000000000000", "2147483647"),
    "hillclimb --tokens 2147483647": ("--tokens 2147483647 x --topk 2", "--tokens 1073741823"),
    "overlap --devices 2 --hidden 2147483647 --mlp-dim 2147483647": ("experts x hidden x mlp_dim", ""),
    "check --backend cuda": ("--backend cuda", ""),
    "check --devices 1": ("--devices 1", ""),
    "check --devices 64": ("--devices 64", ""),
    "compare --devices 2 --batch 10000000000000000000000": ("--tokens 1280000000000000000000000", "2147483647"),
}


def refused(bench: Callable[..., Outcome], command: str) -> list[str]:
    outcome = bench(*command.split())
    assert (outcome.code, outcome.out) == (2, "")
    return outcome.err.splitlines()


@pytest.mark.parametrize("command", REFUSED)
def test_what_a_refusal_proposes(command: str, bench: Callable[..., Outcome]) -> None:
    error, _, hint = refused(bench, command)
    named, proposed = REFUSED[command]
    assert error.startswith(f"error: {named} ")
    assert proposed in hint


@pytest.mark.parametrize("devices", [0, -1, 1025, 100000])
def test_a_number_of_devices_is_refused_alike_by_all_commands(devices: int, bench: Callable[..., Outcome]) -> None:
    commands = ("check", "compare --path dp", f"hillclimb {SIZES}", f"overlap {SIZES}")
    said = [refused(bench, f"{command} --devices {devices}") for command in commands]
    assert said == said[:1] * len(commands)
    assert said[0][0].startswith(f"error: --devices {devices} ")
