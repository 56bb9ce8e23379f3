"""What a grouped matmul in blocks computes and moves, from the rows of its groups. No JAX.

It prunes tiles before anything is compiled: an estimate of work and traffic, not of time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench_core.gmm.tile import Rung, Tile

FLOAT32_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Products:
    """The grouped products of one call. `widths`: (contracted, columns) of those of the forward pass. `backward`: each
    has its two gradients too. `item_bytes`: the size of an operand's element. Results are float32."""

    widths: tuple[tuple[int, int], ...]
    backward: bool
    item_bytes: int

    def of_rows(self) -> Iterator[tuple[int, int]]:
        """Contracted width and columns of each product whose result has a row for each row."""
        for contracted, columns in self.widths:
            yield contracted, columns
            if self.backward:
                yield columns, contracted

    def of_groups(self) -> tuple[tuple[int, int], ...]:
        """The two sides of each product whose result is a matrix for each group."""
        return self.widths if self.backward else ()

    def multiply_adds(self, rows: int) -> int:
        """Those of the definition, without padding."""
        pairs = (*self.of_rows(), *self.of_groups())
        return rows * sum(one * other for one, other in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockWork:
    """`padding`: multiply-adds of all blocks over those of the definition. `moved_bytes`: what the blocks read and
    write, when each is fetched for every step that uses it, unless the step before has used it."""

    padding: float
    moved_bytes: int


def tile_work(groups: Sequence[int], products: Products, tile: Tile) -> BlockWork:
    """Of a kernel that steps over columns, then over the row tiles that each group touches, then over the contracted
    width, as megablox does. A tile that holds rows of two groups is computed for both."""
    steps, rows = _touched(groups, tile.m), sum(groups)
    filled = sum(1 for size in groups if size)
    computed = moved = 0
    for contracted, columns in products.of_rows():
        ks, ns = _blocks(contracted, tile.k), _blocks(columns, tile.n)
        computed += steps * tile.m * ks * tile.k * ns * tile.n
        # The matrix stays where it is from one row tile to the next when its contracted width is one block.
        matrices = (filled if ks == 1 else steps) * ks * tile.k * tile.n
        moved += ns * (steps * ks * tile.m * tile.k + matrices) * products.item_bytes
        moved += _blocks(rows, tile.m) * tile.m * ns * tile.n * FLOAT32_BYTES
    for one, other in products.of_groups():
        ks, ns = _blocks(one, tile.k), _blocks(other, tile.n)
        computed += steps * tile.m * ks * tile.k * ns * tile.n
        moved += ks * ns * steps * tile.m * (tile.k + tile.n) * products.item_bytes
        moved += len(groups) * ks * tile.k * ns * tile.n * FLOAT32_BYTES
    return BlockWork(padding=computed / max(1, products.multiply_adds(rows)), moved_bytes=moved)


def ladder_work(groups: Sequence[int], products: Products, ladder: Sequence[Rung]) -> BlockWork:
    """Of a loop that cuts the rows of each group into tiles (see `tile.ladder`) and multiplies each by whole
    matrices."""
    cut = [_cut(size, ladder) for size in groups]
    tiles, rows = sum(count for count, _ in cut), sum(computed for _, computed in cut)
    moved = 0
    for contracted, columns in products.of_rows():
        moved += tiles * contracted * columns * products.item_bytes
        moved += rows * (contracted * products.item_bytes + columns * FLOAT32_BYTES)
    for one, other in products.of_groups():
        moved += tiles * one * other * FLOAT32_BYTES + rows * (one + other) * products.item_bytes
    padding = products.multiply_adds(rows) / max(1, products.multiply_adds(sum(groups)))
    return BlockWork(padding=padding, moved_bytes=moved)


def _cut(size: int, ladder: Sequence[Rung]) -> tuple[int, int]:
    """Tiles of one group, and the rows that they compute."""
    tiles = computed = 0
    for rung in ladder:
        while size - computed >= rung.least:
            tiles, computed = tiles + 1, computed + rung.rows
    return tiles, computed


def _touched(groups: Sequence[int], rows: int) -> int:
    """Tiles of `rows` rows that the groups touch, one after another without gaps."""
    touched = start = 0
    for size in groups:
        if size:
            touched += _blocks(start + size, rows) - start // rows
        start += size
    return touched


def _blocks(size: int, block: int) -> int:
    return -(-size // block)
