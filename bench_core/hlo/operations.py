"""What each scheduled operation of a compiled program costs a TPU: FLOPs and bytes. Pure functions of text, no JAX.

Memory spaces are read off the layouts: an array in VMEM, `S(1)`, costs nothing to read or write here, and the copy that
has brought it there costs its bytes. Bytes are those of the elements, without the padding of tiles.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bench_core.hlo.collectives import CollectiveKind
from bench_core.hlo.matmuls import matmul_flops
from bench_core.hlo.module import Computation, Instruction, Module, array, callees, operand_name, source
from bench_core.hlo.sizes import parts, shape_bytes
from bench_core.hlo.starts import inside
from bench_core.hlo.turns import by_names, turns


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a device, all its `times` together.

    `matmul_flops` are those of dots and convolutions, `int8_flops` of these those of integers. `hbm_bytes` are read and
    written in HBM, without `moved_bytes`, which are gathered or scattered row by row. `unknown` says what it is that
    the costs do not contain.
    """

    name: str
    opcode: str
    times: int = 1
    matmul_flops: int = 0
    int8_flops: int = 0
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
_FREE = frozenset(
    [
        "after-all",
        "async-done",
        "async-update",
        "add-dependency",
        "bitcast",
        "constant",
        "copy-done",
        "get-tuple-element",
        "opt-barrier",
        "parameter",
        "partition-id",
        "replica-id",
        "slice-done",
        "tuple",
    ]
)
_FREE_CALLS = frozenset(
    [
        "AllocateBuffer",
        "AssumeGatherIndicesInBound",
        "AsyncCollectiveDone",
        "AsyncCollectiveStart",
        # Arrays that lie one behind the other in memory, as one.
        "ConcatBitcast",
        "PrepareAsyncCallDone",
        "PrepareAsyncCallStart",
    ]
)
# They read their operands and write their results.
_PLAIN = frozenset(
    [
        "abs",
        "add",
        "and",
        "bitcast-convert",
        "broadcast",
        "ceil",
        "clamp",
        "compare",
        "concatenate",
        "convert",
        "convolution",
        "copy",
        "divide",
        "dot",
        "exponential",
        "exponential-minus-one",
        "floor",
        "iota",
        "is-finite",
        "log",
        "log-plus-one",
        "logistic",
        "map",
        "maximum",
        "minimum",
        "multiply",
        "negate",
        "not",
        "or",
        "pad",
        "popcnt",
        "power",
        "reduce",
        "reduce-precision",
        "reduce-window",
        "remainder",
        "reshape",
        "reverse",
        "round-nearest-afz",
        "round-nearest-even",
        "rsqrt",
        "select",
        "shift-left",
        "shift-right-arithmetic",
        "shift-right-logical",
        "sign",
        "sort",
        "sqrt",
        "subtract",
        "tanh",
        "transpose",
        "xor",
    ]
)
_PARTIAL = frozenset(["dynamic-slice", "dynamic-update-slice", "gather", "scatter", "slice"])
_STARTS = ("copy-start", "slice-start")
_COLLECTIVES = frozenset(kind.value for kind in CollectiveKind)
_ONLY_SENDS = ('custom_call_target="AsyncCollectiveStart"', 'custom_call_target="AsyncCollectiveDone"')
_TARGET = re.compile(r'custom_call_target="([^"]*)"')
_STATED = re.compile(r'"bytes_accessed":"(\d+)"')
_INTEGERS = ("s8[", "u8[", "s4[", "u4[")
_KERNEL = re.compile(r"jit\((t?gmm)\)*/pallas_call$")


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


def _custom_call(instruction: Instruction, shapes: dict[str, str], times: int) -> Operation | None:
    found = _TARGET.search(instruction.attributes)
    target = found.group(1) if found else ""
    if target in _FREE_CALLS:
        return None
    kernel = _kernel(instruction, shapes) if target == "tpu_custom_call" else None
    if kernel is not None:
        return Operation(name=instruction.name, opcode=target, times=times, kernel=kernel)
    what = f"a kernel, {source(instruction)}" if target == "tpu_custom_call" else f"a call of {target}"
    return Operation(name=instruction.name, opcode=target, times=times, unknown=what)


def _kernel(instruction: Instruction, shapes: dict[str, str]) -> Kernel | None:
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


def _operation(module: Module, instruction: Instruction, shapes: dict[str, str], times: int) -> Operation:
    opcode = instruction.opcode
    unknown = _unknown(module, instruction)
    flops, integer = _flops(module, instruction, shapes)
    moved = 0
    if opcode in _STARTS:
        # (destination, source, flags of the device)
        written, size = parts(instruction.shape)[0], shape_bytes(parts(instruction.shape)[0])
        read = _hbm(shapes.get(operand_name(instruction.operands[0]), ""), size)
        hbm = _hbm(written, size) + read
    elif opcode == "fusion":
        hbm, moved = _fusion_bytes(module, instruction, shapes)
    elif opcode in _PARTIAL:
        hbm, moved = _partial_bytes(instruction, shapes)
    else:
        hbm = _written(instruction.shape) + sum(_written(shapes.get(operand_name(o), "")) for o in instruction.operands)
    return Operation(
        name=instruction.name,
        opcode=opcode,
        times=times,
        matmul_flops=times * flops,
        int8_flops=times * integer,
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


def _flops(module: Module, instruction: Instruction, shapes: dict[str, str]) -> tuple[int, int]:
    """Of all its matmuls, and of those of integers among them."""
    total, integer = 0, 0
    for one, home in [
        (instruction, shapes),
        *((p.instruction, p.home.shapes()) for p in inside(module, instruction) if p.instruction.opcode in _MATMULS),
    ]:
        flops = matmul_flops(one, home)
        total += flops
        if flops and all(home.get(operand_name(o), o).startswith(_INTEGERS) for o in one.operands[:2]):
            integer += flops
    return total, integer


_MATMULS = ("dot", "convolution")


def _fusion_bytes(module: Module, fusion: Instruction, shapes: dict[str, str]) -> tuple[int, int]:
    """Bytes in HBM, and those that are moved row by row.

    Of an operand of which the fusion only takes slices or rows, these are read; of a result into which it only puts a
    slice, the slice is written. One that starts or ends a collective moves nothing beside what is sent, and one that
    goes on with it hands its arrays on.
    """
    home = module.computations[callees(fusion)[0]]
    root = home.instructions[-1]
    if any(target in root.attributes for target in _ONLY_SENDS):
        return 0, 0
    hbm = moved = 0
    for index, operand in enumerate(fusion.operands):
        shape = shapes.get(operand_name(operand), operand)
        if _in_hbm(shape):
            read, rows = _reads(module, home, index)
            whole = shape_bytes(shape)
            # As often as it reads them, but not more than there is, but for rows, which it may take several times.
            hbm += whole if read is None else min(read, whole)
            moved += rows
    return hbm + _results(module, fusion, home), moved + _scattered(module, fusion)


def _results(module: Module, fusion: Instruction, home: Computation) -> int:
    """Bytes that it writes in HBM. What goes on with a collective hands its arrays on."""
    root, shapes = home.instructions[-1], parts(fusion.shape)
    results = [operand_name(operand) for operand in root.operands] if root.opcode == "tuple" else [root.name]
    if len(results) != len(shapes):
        return _written(fusion.shape)
    inner = {instruction.name: instruction for instruction in home.instructions}
    sends = any(instruction.opcode in _COLLECTIVES for instruction in home.instructions)
    size = 0
    for name, shape in zip(results, shapes, strict=True):
        if _in_hbm(shape) and not (sends and inner[name].opcode in ("parameter", *_COLLECTIVES)):
            size += _put(module, inner.get(name), home) or shape_bytes(shape)
    return size


def _scattered(module: Module, fusion: Instruction) -> int:
    """Bytes of the rows that scatters inside of a fusion add to: each is read and written."""
    scatters = (part for part in inside(module, fusion) if part.instruction.opcode == "scatter")
    return sum(2 * shape_bytes(p.home.shapes()[operand_name(p.instruction.operands[-1])]) for p in scatters)


def _reads(module: Module, home: Computation, index: int) -> tuple[int | None, int]:
    """Bytes that a computation reads of its parameter in slices, and as rows; None instead: it reads all of it."""
    name = next(i.name for i in home.instructions if i.opcode == "parameter" and i.operands == (str(index),))
    aliases, read, rows = {name}, 0, 0
    whole = False
    for user in home.instructions:
        places = [at for at, operand in enumerate(user.operands) if operand_name(operand) in aliases]
        if not places:
            continue
        match user.opcode:
            case "bitcast" | "get-tuple-element" | "tuple":
                aliases.add(user.name)
            case "slice" | "dynamic-slice" if places == [0]:
                read += shape_bytes(user.shape)
            case "gather" if places == [0]:
                rows += shape_bytes(user.shape)
            case "dynamic-update-slice" if places == [0]:
                pass
            case opcode if opcode in _COLLECTIVES:
                pass
            case "fusion" | "call":
                for place in places:
                    inner, more = _reads(module, module.computations[callees(user)[0]], place)
                    whole = whole or inner is None
                    read += inner or 0
                    rows += more
            case _:
                whole = True
    return (None if whole else read), rows


def _put(module: Module, instruction: Instruction | None, home: Computation) -> int | None:
    """Bytes of the slice that a result consists of besides what was there; None: all of it is new."""
    while instruction is not None and instruction.opcode == "bitcast":
        name = operand_name(instruction.operands[0])
        instruction = next((i for i in home.instructions if i.name == name), None)
    if instruction is None:
        return None
    if instruction.opcode == "dynamic-update-slice":
        return shape_bytes(home.shapes().get(operand_name(instruction.operands[1]), ""))
    if instruction.opcode == "fusion":
        inner = module.computations[callees(instruction)[0]]
        return _put(module, inner.instructions[-1], inner)
    return None


def _partial_bytes(instruction: Instruction, shapes: dict[str, str]) -> tuple[int, int]:
    """Of an operation that reads or writes a part of its first operand: bytes in HBM, and those moved row by row."""
    first, *others = (shapes.get(operand_name(o), o) for o in instruction.operands)
    match instruction.opcode:
        case "dynamic-update-slice":
            size = shape_bytes(others[0])
            return _hbm(others[0], size) + _hbm(instruction.shape, size), 0
        case "scatter":
            # Each row of an update is read, and added to one that is read and written.
            updates = others[-1]
            return _written(updates), 2 * _hbm(instruction.shape, shape_bytes(updates))
        case "gather":
            return _written(instruction.shape), _hbm(first, shape_bytes(instruction.shape))
    size = shape_bytes(instruction.shape)
    return _hbm(first, size) + _hbm(instruction.shape, size), 0


_SPACE = re.compile(r"S\((\d+)\)")


def _in_hbm(shape: str) -> bool:
    """Whether an array lies in HBM: its layout names no other memory space."""
    found = _SPACE.search(shape)
    return found is None or found.group(1) == "0"


def _hbm(shape: str, size: int) -> int:
    return size if _in_hbm(shape) else 0


def _written(shape: str) -> int:
    """Bytes of those arrays of a shape that lie in HBM."""
    return sum(shape_bytes(part) for part in parts(shape) if _in_hbm(part)) if shape else 0
