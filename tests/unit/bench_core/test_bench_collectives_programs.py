"""Collectives of programs that were compiled for TPUs, see data/hlo/README.md: each one, exactly.

The expectations are made of the cases' sizes by hand, not by the reader.
"""

import functools
import gzip
from collections import Counter
from pathlib import Path

import pytest

from bench_core.hlo.collectives import Collective, collectives
from bench_core.hlo.module import parse

FOLDER = Path(__file__).parents[2] / "contract/bench_core/data" / "hlo"
MIB = 2**20


@functools.cache
def program_text(name: str) -> str:
    return gzip.decompress((FOLDER / f"{name}.txt.gz").read_bytes()).decode()


@functools.cache
def read(name: str) -> tuple[Collective, ...]:
    return tuple(collectives(parse(program_text(name))))


# tokens 32768, hidden 2048, bfloat16: 128 MiB, and 2 slots of 4 bytes for each token.
ROW = 2048 * 2
TOKENS = 32768 * ROW
SLOTS = 32768 * 2 * 4
EXPERT = 2048 * 2048 * 2
AR, AG, RS = "all-reduce", "all-gather", "reduce-scatter"
A2A, RAGGED, PERMUTE = "all-to-all", "ragged-all-to-all", "collective-permute"
# A sum over all devices of one number, the loss.
LOSS = 4


def scattered(rows: int, group: int, added: int) -> dict[tuple[str, int, int, bool], int]:
    """The two reduce-scatters (of the output, and of the tokens' gradient) of `rows` for each device. The compiler adds
    rows to each device's part (so many stand in the text); after that the part of the last one begins too late by those
    of all others, which are sent on."""
    return {
        (RS, group * (rows + added) * ROW, group, False): 2,
        (PERMUTE, (group - 1) * added * ROW, group, True): 2,
    }


# (kind, payload bytes of a device, group, asynchronous): how many.
EXPECTED: dict[str, dict[tuple[str, int, int, bool], int]] = {
    # The output, and the gradient of the tokens, which are on every device. Without check_vma that of the output, too.
    "psum": {(AR, TOKENS, 4, False): 2},
    "psum_unchecked": {(AR, TOKENS, 4, False): 3},
    # Tokens there, the output's gradient back; experts and weights of the slots.
    "ring": {
        (AG, TOKENS, 4, False): 2,
        (AG, SLOTS, 4, False): 2,
        **scattered(8192, 4, 96),
        (AR, LOSS, 4, False): 1,
    },
    # Each device sends at the most 4160 rows to another one, so that all send buffers of this size to all: there, back,
    # and both again for the gradients. Beside a row, its expert and its weight.
    "all_to_all": {
        (A2A, 4 * 4160 * ROW, 4, False): 4,
        (A2A, 4 * 4160 * 4, 4, False): 2,
        (AR, LOSS, 4, False): 1,
    },
    # The same in two chunks of at most 2120 rows.
    "all_to_all_async": {
        (A2A, 4 * 2120 * ROW, 4, True): 8,
        (A2A, 4 * 2120 * 4, 4, True): 4,
        (AR, LOSS, 4, False): 1,
    },
    # A device has 8192 tokens in 2 slots each, and gets at the most 16511 rows. The expert and the weight of a row take
    # a tile's 128 lanes. Sizes of parts: 4 x 4 numbers to all devices, and for the gradients 4 of each kind of offset.
    "ragged": {
        (RAGGED, 2 * 8192 * ROW, 4, False): 2,
        (RAGGED, 16511 * ROW, 4, False): 2,
        (RAGGED, 2 * 8192 * 128 * 4, 4, False): 2,
        (AR, 16 * 4, 4, False): 1,
        (A2A, 4 * 4, 4, False): 4,
        (AR, LOSS, 4, False): 1,
    },
    # libtpu makes those before the experts asynchronous.
    "ragged_async": {
        (RAGGED, 2 * 8192 * ROW, 4, True): 1,
        (RAGGED, 2 * 8192 * ROW, 4, False): 1,
        (RAGGED, 16511 * ROW, 4, False): 2,
        (RAGGED, 2 * 8192 * 128 * 4, 4, True): 2,
        (AR, 16 * 4, 4, False): 1,
        (A2A, 4 * 4, 4, False): 4,
        (AR, LOSS, 4, False): 1,
    },
    # The gradients of three weights of all 64 experts.
    "dp": {(AR, 64 * EXPERT, 4, False): 3, (AR, LOSS, 4, False): 1},
    # Half of the tokens in each ring of two, and half of the experts' gradients over the rings.
    "ring_2x2": {
        (AG, TOKENS // 2, 2, False): 2,
        (AG, SLOTS // 2, 2, False): 2,
        **scattered(8192, 2, 16),
        (AR, 32 * EXPERT, 2, False): 3,
        (AR, LOSS, 4, False): 1,
    },
    # Over 64 devices libtpu gathers and scatters by whole sums.
    "ring_64": {(AR, TOKENS, 64, False): 4, (AR, SLOTS, 64, False): 2, (AR, LOSS, 64, False): 1},
    # The gradients of the three weights in one.
    "ring_4x16": {
        (AG, TOKENS // 4, 16, False): 2,
        (AG, SLOTS // 4, 16, False): 2,
        **scattered(512, 16, 16),
        (AR, 3 * 4 * EXPERT, 4, False): 1,
        (AR, LOSS, 64, False): 1,
    },
    # Four layers of 4096 x 4096, each gathered once, and their gradients scattered; 96 rows are added as above. All but
    # the first are gathered beside the matmul of the layer before.
    "gathers_async": {
        (AG, 4096 * 4096 * 2, 4, False): 1,
        (AG, 4096 * 4096 * 2, 4, True): 3,
        (RS, 4 * (1024 + 96) * 4096 * 2, 4, False): 4,
        (PERMUTE, 3 * 96 * 4096 * 2, 4, True): 4,
    },
    "loop": {(AG, 4096 * 4096 * 2, 4, False): 1},
}
# Bytes that each device sends at the least, of all that are larger than 1 MiB, in MiB: by hand from the formulas.
RING_MIB = {
    "psum": 2 * 192,
    "psum_unchecked": 3 * 192,
    "all_to_all": 4 * 65 * 3 / 4,
    "dp": 3 * 2 * 512 * 3 / 4,
    "ring_64": 4 * 2 * 128 * 63 / 64,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_collectives(name: str) -> None:
    found = Counter((one.kind.value, one.payload_bytes, one.group, one.asynchronous) for one in read(name))
    assert found == EXPECTED[name]
    # libtpu does not write down how often a scan turns.
    assert {one.times for one in read(name)} == {None if name == "loop" else 1}


@pytest.mark.parametrize(("name", "mib"), RING_MIB.items())
def test_bytes_of_a_ring(name: str, mib: float) -> None:
    assert sum(one.ring_bytes for one in read(name) if one.payload_bytes > MIB) == mib * MIB


def test_every_program_has_its_expectation() -> None:
    assert {path.name.removesuffix(".txt.gz") for path in FOLDER.glob("*.txt.gz")} == EXPECTED.keys()
