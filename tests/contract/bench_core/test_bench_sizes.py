"""Sizes of a mesh and of a block: what is refused, and that what a refusal proposes works."""

import pytest

from bench_core.errors import UsageError
from bench_core.parallel.sizes import MOST_DEVICES
from bench_core.parallel.spread import Parallel
from tests.seams import bench_core as main

SIZES = "--tokens 64 --hidden 32 --mlp-dim 16 --experts 4"


def _refused(command: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.raises(SystemExit) as exit_:
        main(command.split())
    out, err = capsys.readouterr()
    assert (exit_.value.code, out) == (2, "")
    return err.splitlines()


WAYS = {
    "overlap --devices 3": [
        "error: 4 experts cannot be spread over 3 devices",
        "  cause: every device has as many experts, so the number of devices must divide theirs",
        "  next: use --devices 2",
    ],
    "hillclimb --parallel-mode ep --ep-impl all_to_all --ep-size 1 --devices 2": [
        "error: --ep-impl all_to_all changes nothing with one device for all experts",
        "  cause: the mesh is 1 x 1 (data x expert), so no expert lies apart",
        "  next: leave --ep-impl out, or use --ep-size 2 --dp-size 1 (sizes that fit: 2)",
    ],
    "compare --devices 4 --ep-size 3": [
        "error: --ep-size 3 does not fit 4 devices",
        "  cause: an expert axis has two devices or more and divides all of them (2, 4)",
        "  next: use --ep-size 2",
    ],
    "hillclimb --parallel-mode ep --devices 1000": [
        "error: 4 experts cannot be spread over 1000 devices",
        "  cause: every device has as many experts, so the number of devices must divide theirs",
        "  next: use --ep-size 4 --dp-size 250 (sizes that fit: 4, 2, 1)",
    ],
    "hillclimb --parallel-mode ep --devices 100000": [
        "error: --devices 100000 is too large",
        "  cause: this benchmark spreads a block over 1024 devices at most",
        "  next: use --devices 1024 or less",
    ],
}


@pytest.mark.parametrize("command", WAYS)
def test_what_a_refusal_proposes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _refused(f"{command} {SIZES}", capsys) == WAYS[command]


@pytest.mark.parametrize("devices", [0, -1, MOST_DEVICES + 1])
def test_a_number_of_devices_is_refused_alike_by_all_commands(devices: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError) as refused:
        Parallel(devices=devices)
    said = refused.value.render().splitlines()
    for command in ("check", "compare --path dp", f"hillclimb {SIZES}", f"overlap {SIZES}"):
        assert _refused(f"{command} --devices {devices}", capsys) == said


LIMITS = {
    "hillclimb --tokens 10000000000000000000000": [
        "error: --tokens 10000000000000000000000 is not a usable size",
        "  cause: programs index arrays with int32, so tokens must be at most 2147483647",
        "  next: give --tokens a value of 2147483647 or less",
    ],
    "hillclimb --tokens 2147483647": [
        "error: --tokens 2147483647 x --topk 2 are too many rows",
        "  cause: programs index rows with int32, so there are at most 2147483647",
        "  next: use --tokens 1073741823 or less",
    ],
    "overlap --devices 2 --hidden 2147483647 --mlp-dim 2147483647": [
        "error: experts x hidden x mlp_dim would have 36893488113059364872 elements",
        "  cause: the bytes of an array are counted in int64, so it has at most 288230376151711744 elements",
        "  next: use smaller sizes",
    ],
    "compare --devices 2 --batch 10000000000000000000000": [
        "error: --tokens 1280000000000000000000000 is not a usable size",
        "  cause: programs index arrays with int32, so tokens must be at most 2147483647",
        "  next: give --tokens a value of 2147483647 or less",
    ],
}


@pytest.mark.parametrize("command", LIMITS)
def test_sizes_that_no_program_can_index(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _refused(command, capsys) == LIMITS[command]
