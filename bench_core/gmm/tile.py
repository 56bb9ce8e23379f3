"""The tile of a blocked grouped matmul, as a flag names it. No JAX."""

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
