"""Kernels of a compiled program whose work is known from their operands. Pure functions of text, no JAX."""

import re
from dataclasses import dataclass

from bench_core.hlo.module import Instruction, array, operand_name, source

_STATED = re.compile(r'"bytes_accessed":"(\d+)"')
_KERNEL = re.compile(r"jit\((t?gmm)\)*/pallas_call$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A grouped matmul of JAX's megablox, from the operands of its call.

    It multiplies `rows` [rows, contracted] in `groups` by matrices [contracted, columns], or, of `tgmm`, gives the
    products of a group's rows, [groups, contracted, columns]. `visits` are the pairs of a group and a tile of rows for
    which it computes, if no group begins where a tile does. `stated_bytes` are those of HBM that the kernel itself
    states, with what it reads again for each tile.
    """

    name: str
    rows: int
    contracted: int
    columns: int
    groups: int
    visits: int
    stated_bytes: int

    @property
    def flops(self) -> int:
        """Of the rows, without what tiles add."""
        return 2 * self.rows * self.contracted * self.columns


def kernel_of(instruction: Instruction, shapes: dict[str, str]) -> Kernel | None:
    """The grouped matmul that a Pallas call is by its name and by the shapes of its operands: offsets of groups, a
    group and a tile of rows for each visit, rows, and matrices or more rows. None of another kernel."""
    named, stated = _KERNEL.search(source(instruction)), _STATED.search(instruction.attributes)
    if named is None or len(instruction.operands) != 7 or stated is None:
        return None
    name = named.group(1)
    _, offsets, group_of, tile_of, _, left, right = (shapes.get(operand_name(o), o) for o in instruction.operands)
    sizes = array(left)[1], array(right)[1], array(instruction.shape)[1]
    rows, result = sizes[0][0], sizes[2]
    groups, visits = array(offsets)[1][0] - 1, array(group_of)[1][0]
    contracted = sizes[0][1]
    if name == "gmm":
        fits = len(sizes[1]) == 3 and sizes[1][0] == groups and result[0] == rows
        fits = fits and sorted(sizes[1][1:]) == sorted((contracted, result[1]))
    else:
        fits = sizes[1][0] == rows and result == (groups, contracted, sizes[1][1])
    if not fits or array(tile_of)[1][0] != visits:
        return None
    return Kernel(
        name=name,
        rows=rows,
        contracted=contracted,
        columns=result[-1],
        groups=groups,
        visits=visits,
        stated_bytes=int(stated.group(1)),
    )
