"""What each scheduled operation of a compiled program costs a TPU: FLOPs and bytes. Pure functions of text, no JAX.

Memory spaces are read off the layouts: an array in VMEM, `S(1)`, costs nothing to read or write here, and the copy that
has brought it there costs its bytes. Bytes are those of the elements, without the padding of tiles.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bench_core.hlo.collectives import CollectiveKind
from bench_core.hlo.matmuls import MATMULS, matmul_flops
from bench_core.hlo.module import (
    Computation,
    Instruction,
    Module,
    array,
    callees,
    operand_name,
    parts,
    shape_bytes,
    source,
)
from bench_core.hlo.schedule import NOTHING, by_names, inside, turns, words
from bench_core.hlo.traffic import fusion_bytes, hbm_bytes_of, hbm_size, partial_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A grouped matmul of JAX's megablox, from the operands of its call.

    It multiplies `rows` [rows, contracted] in `groups` by matrices [contracted, columns], or, of `tgmm`, gives the
    products of a group's rows, [groups, contracted, columns]. `visits` are the pairs of a group and a tile of rows for
    which it computes, if no group begins where a tile does. `left`, `right` and `result` are the bytes of its arrays.
    """

    name: str
    rows: int
    contracted: int
    columns: int
    groups: int
    visits: int
    left: int
    right: int
    result: int

    @property
    def flops(self) -> int:
        """Of the rows, without what tiles add."""
        return 2 * self.rows * self.contracted * self.columns

    def copied_bytes(self, m: int, k: int, n: int) -> int:
        """Bytes that are copied between HBM and VMEM, with tiles of `m` rows, `k` of the contracted width, `n` columns.

        Pallas copies a block for each step of the grid, unless the step before had the same one. `gmm` goes through
        columns, visits and the contracted width, `tgmm` through columns, width and visits, the last the fastest.
        """
        cut, across = -(-self.contracted // k), -(-self.columns // n)
        if self.name == "tgmm":
            return across * self.left + cut * self.right + self.result
        if cut == 1:
            # Visits of one tile of rows, and those of one group, follow each other.
            return across * self.left + self.right + self.result
        return across * self.left * self.visits * m // self.rows + self.right * self.visits // self.groups + self.result


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a device, all its `times` together.

    `matmul_flops` are those of dots and convolutions. `hbm_bytes` are read and
    written in HBM, without `moved_bytes`, which are gathered or scattered row by row. `unknown` says what it is that
    the costs do not contain.
    """

    name: str
    opcode: str
    times: int = 1
    matmul_flops: int = 0
    hbm_bytes: int = 0
    moved_bytes: int = 0
    kernel: Kernel | None = None
    unknown: str | None = None


def operations(module: Module) -> list[Operation]:
    """Every operation that a call of the program runs on one device, in the order of the schedule, without collectives
    and without those that move nothing. Those of a loop are there once, with their `times`.

    Raises:
        ValueError: a line cannot be read.
    """
    return list(_run(module, module.entry, times=1))


# They move nothing, or only the end of what a start has been counted for.
_FREE = NOTHING | words("async-done async-update add-dependency copy-done slice-done")
_FREE_CALLS = words(
    """
    AllocateBuffer AssumeGatherIndicesInBound AsyncCollectiveDone AsyncCollectiveStart ConcatBitcast
    PrepareAsyncCallDone PrepareAsyncCallStart
    """
)
# They read their operands and write their results.
_PLAIN = words(
    """
    abs add and bitcast-convert broadcast ceil clamp compare concatenate convert convolution copy divide dot
    exponential exponential-minus-one floor iota is-finite log log-plus-one logistic map maximum minimum
    multiply negate not or pad popcnt power reduce reduce-precision reduce-window remainder reshape reverse
    round-nearest-afz round-nearest-even rsqrt select shift-left shift-right-arithmetic shift-right-logical
    sign sort sqrt subtract tanh transpose xor
    """
)
_PARTIAL = frozenset(["dynamic-slice", "dynamic-update-slice", "gather", "scatter", "slice"])
_STARTS = ("copy-start", "slice-start")
_COLLECTIVES = frozenset(kind.value for kind in CollectiveKind)
_TARGET = re.compile(r'custom_call_target="([^"]*)"')


def _run(module: Module, computation: Computation, *, times: int) -> Iterator[Operation]:
    shapes = computation.shapes()
    for instruction in computation.instructions:
        opcode = instruction.opcode
        if opcode in _FREE or opcode.removesuffix("-start").removesuffix("-done") in _COLLECTIVES:
            continue
        if opcode in ("call", "async-start"):
            for name in callees(instruction):
                yield from _run(module, module.computations[name], times=times)
        elif opcode == "while":
            yield from _loop(module, computation, instruction, times=times)
        elif opcode == "custom-call":
            if (found := _custom_call(instruction, shapes, times)) is not None:
                yield found
        else:
            yield _operation(module, instruction, shapes, times)


def _loop(module: Module, home: Computation, loop: Instruction, *, times: int) -> Iterator[Operation]:
    count = turns(module, by_names(home.instructions), loop)
    if count is None:
        yield Operation(name=loop.name, opcode="while", times=times, unknown="a loop without a known number of turns")
        return
    body = re.search(r"body=%?([\w.\-]+)", loop.attributes)
    assert body is not None  # noqa: S101  every loop has one
    yield from _run(module, module.computations[body.group(1)], times=times * count)


_KERNEL = re.compile(r"jit\((t?gmm)\)*/pallas_call$")


def _kernel_of(instruction: Instruction, shapes: dict[str, str]) -> Kernel | None:
    """The grouped matmul that a Pallas call is by its name and by the shapes of its operands: offsets of groups, a
    group and a tile of rows for each visit, rows, and matrices or more rows. None of another kernel."""
    named = _KERNEL.search(source(instruction))
    if named is None or len(instruction.operands) != 7:
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
        left=shape_bytes(left),
        right=shape_bytes(right),
        result=shape_bytes(instruction.shape),
    )


def _custom_call(instruction: Instruction, shapes: dict[str, str], times: int) -> Operation | None:
    found = _TARGET.search(instruction.attributes)
    target = found.group(1) if found else ""
    if target in _FREE_CALLS:
        return None
    kernel = _kernel_of(instruction, shapes) if target == "tpu_custom_call" else None
    if kernel is not None:
        return Operation(name=instruction.name, opcode=target, times=times, kernel=kernel)
    what = f"a kernel, {source(instruction)}" if target == "tpu_custom_call" else f"a call of {target}"
    return Operation(name=instruction.name, opcode=target, times=times, unknown=what)


def _operation(module: Module, instruction: Instruction, shapes: dict[str, str], times: int) -> Operation:
    opcode = instruction.opcode
    unknown = _unknown(module, instruction)
    flops = _flops(module, instruction, shapes)
    moved = 0
    if opcode in _STARTS:
        # (destination, source, flags of the device)
        written, size = parts(instruction.shape)[0], shape_bytes(parts(instruction.shape)[0])
        read = hbm_size(shapes.get(operand_name(instruction.operands[0]), ""), size)
        hbm = hbm_size(written, size) + read
    elif opcode == "fusion":
        hbm, moved = fusion_bytes(module, instruction, shapes)
    elif opcode in _PARTIAL:
        hbm, moved = partial_bytes(instruction, shapes)
    else:
        hbm = hbm_bytes_of(instruction.shape) + sum(
            hbm_bytes_of(shapes.get(operand_name(o), "")) for o in instruction.operands
        )
    return Operation(
        name=instruction.name,
        opcode=opcode,
        times=times,
        matmul_flops=times * flops,
        hbm_bytes=times * hbm,
        moved_bytes=times * moved,
        unknown=unknown,
    )


def _unknown(module: Module, instruction: Instruction) -> str | None:
    """The operation, or the first inside of it, that is not known here."""
    within = [instruction, *(part.instruction for part in inside(module, instruction))]
    for one in within:
        found = _TARGET.search(one.attributes) if one.opcode == "custom-call" else None
        if found is not None and found.group(1) not in _FREE_CALLS:
            return f"a call of {found.group(1)}"
        if one.opcode in ("call", "fusion", "custom-call", *_STARTS):
            continue
        if one.opcode not in _PLAIN | _PARTIAL | _FREE | _COLLECTIVES:
            return one.opcode
    return None


def _flops(module: Module, instruction: Instruction, shapes: dict[str, str]) -> int:
    """Of all its matmuls."""
    within = (part for part in inside(module, instruction) if part.instruction.opcode in MATMULS)
    return matmul_flops(instruction, shapes) + sum(matmul_flops(p.instruction, p.home.shapes()) for p in within)
