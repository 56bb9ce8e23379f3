"""Which static row tiles cover groups whose sizes are known only when the program runs. No JAX."""

import itertools
import math
from dataclasses import dataclass

from bench_core.gmm.tile import RowSizes

LARGEST, MIDDLE, SMALLEST = 512, 128, 32
FITTED = range(48, 257, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A static number of rows, and the fewest remaining rows of a group for which it is used."""

    rows: int
    least: int


def ladder(rows: int, groups: int, *, close: bool = False, row_tiles: RowSizes | None = None) -> tuple[Tile, ...]:
    """Descending tiles for `rows` rows in `groups` groups; the last one serves any remainder.

    A group takes the largest tile as long as more than three quarters of it are needed, and more than the next one
    holds, then the next. So it computes less than a quarter of one larger tile, or less than one smallest tile, in
    vain.

    The middle tile is fitted to a balanced load where that calls for a tile of about its size: independent
    choices give a group mean = rows / groups rows with a standard deviation of at most sqrt(mean) (a binomial
    distribution), so that mean + 1.5 sqrt(mean), on a multiple of 16, holds nine of ten groups. `close` adds a tile
    of the mean on a multiple of 16, for the smaller half of them; it costs the compiling of one more loop body.
    `row_tiles`: these sizes in the place of all that.
    """
    wanted = _fitting(rows, groups, close=close) if row_tiles is None else row_tiles.sizes
    sizes = sorted({min(size, rows) for size in wanted}, reverse=True)
    larger = (Tile(rows=size, least=max(size * 3 // 4, following) + 1) for size, following in itertools.pairwise(sizes))
    return (*larger, Tile(rows=sizes[-1], least=1))


def _fitting(rows: int, groups: int, *, close: bool) -> tuple[int, ...]:
    mean = rows / groups
    fitted = 16 * math.ceil((mean + 1.5 * math.sqrt(mean)) / 16)
    middle = {fitted} if fitted in FITTED else {MIDDLE}
    if close and fitted in FITTED:
        middle.add(16 * math.ceil(mean / 16))
    return (LARGEST, *middle, SMALLEST)
