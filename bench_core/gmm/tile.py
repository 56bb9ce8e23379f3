"""The tile of a blocked grouped matmul, as a flag names it, and rows of tiles that cover groups whose sizes are known
only when the program runs. No JAX."""

import itertools
import math
from dataclasses import asdict, dataclass

from bench_core.errors import UsageError

_MULTIPLES = {"m": 8, "k": 128, "n": 128}
"""Pallas for TPU refuses a block whose last two sizes are no multiples of 8 and 128, unless they are those of the whole
array, which is no choice of a tile. K and N are the last size of some operand or result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """Rows, contracted width and columns of one block of each product, in elements.

    Raises:
        UsageError: a size is not a positive multiple of 8 (m) or 128 (k, n).
    """

    m: int
    k: int
    n: int

    def __post_init__(self) -> None:
        near = {name: max(1, -(-size // _MULTIPLES[name])) * _MULTIPLES[name] for name, size in asdict(self).items()}
        if near != asdict(self):
            raise UsageError(
                f"--tile {self} is not a usable tile",
                cause="M must be a positive multiple of 8, K and N of 128, as blocks on a TPU are",
                hint=f"use --tile {Tile(**near)}",
            )

    @classmethod
    def parse(cls, text: str) -> "Tile":
        """Read `M,K,N`, such as 128,512,512.

        Raises:
            UsageError: it is not three whole numbers, or no usable tile.
        """
        words = [word.strip() for word in text.split(",")]
        # int() would take underscores and signs too.
        if len(words) != len(_MULTIPLES) or not all(word.isascii() and word.isdigit() for word in words):
            raise UsageError(
                f"--tile {text} is not a tile",
                cause="a tile is three whole numbers M,K,N: rows, contracted width, columns",
                hint="use --tile 128,128,128",
            )
        m, k, n = map(int, words)
        return cls(m=m, k=k, n=n)

    def __str__(self) -> str:
        return f"{self.m},{self.k},{self.n}"


LARGEST, MIDDLE, SMALLEST = 512, 128, 32
FITTED = range(48, 257, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """A static number of rows, and the fewest remaining rows of a group for which it is used."""

    rows: int
    least: int


def ladder(rows: int, groups: int, *, close: bool = False) -> tuple[Rung, ...]:
    """Descending tiles for `rows` rows in `groups` groups; the last one serves any remainder.

    A group takes the largest tile as long as more than three quarters of it are needed, and more than the next one
    holds, then the next. So it computes less than a quarter of one larger tile, or less than one smallest tile, in
    vain.

    The middle tile is fitted to a balanced load where that calls for a tile of about its size: independent
    choices give a group mean = rows / groups rows with a standard deviation of at most sqrt(mean) (a binomial
    distribution), so that mean + 1.5 sqrt(mean), on a multiple of 16, holds nine of ten groups. `close` adds a tile
    of the mean on a multiple of 16, for the smaller half of them; it costs the compiling of one more loop body.
    """
    mean = rows / groups
    fitted = 16 * math.ceil((mean + 1.5 * math.sqrt(mean)) / 16)
    middle = {fitted} if fitted in FITTED else {MIDDLE}
    if close and fitted in FITTED:
        middle.add(16 * math.ceil(mean / 16))
    sizes = sorted({min(size, rows) for size in (LARGEST, *middle, SMALLEST)}, reverse=True)
    larger = (Rung(rows=size, least=max(size * 3 // 4, following) + 1) for size, following in itertools.pairwise(sizes))
    return (*larger, Rung(rows=sizes[-1], least=1))
