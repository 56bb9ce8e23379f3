"""Bytes that a fusion, or an operation on a part of an array, reads and writes in HBM. Pure functions of text, no JAX.

Memory spaces are read off the layouts: an array in VMEM, `S(1)`, costs nothing to read or write.
"""

import re

from bench_core.hlo.collectives import CollectiveKind
from bench_core.hlo.module import Computation, Instruction, Module, callees, operand_name, parts, shape_bytes
from bench_core.hlo.schedule import inside

_COLLECTIVES = frozenset(kind.value for kind in CollectiveKind)
_ONLY_SENDS = ('custom_call_target="AsyncCollectiveStart"', 'custom_call_target="AsyncCollectiveDone"')


def fusion_bytes(module: Module, fusion: Instruction, shapes: dict[str, str]) -> tuple[int, int]:
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
        if in_hbm(shape):
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
        return hbm_bytes_of(fusion.shape)
    inner = {instruction.name: instruction for instruction in home.instructions}
    sends = any(instruction.opcode in _COLLECTIVES for instruction in home.instructions)
    size = 0
    for name, shape in zip(results, shapes, strict=True):
        if in_hbm(shape) and not (sends and inner[name].opcode in ("parameter", *_COLLECTIVES)):
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


def partial_bytes(instruction: Instruction, shapes: dict[str, str]) -> tuple[int, int]:
    """Of an operation that reads or writes a part of its first operand: bytes in HBM, and those moved row by row."""
    first, *others = (shapes.get(operand_name(o), o) for o in instruction.operands)
    match instruction.opcode:
        case "dynamic-update-slice":
            size = shape_bytes(others[0])
            return hbm_size(others[0], size) + hbm_size(instruction.shape, size), 0
        case "scatter":
            # Each row of an update is read, and added to one that is read and written.
            updates = others[-1]
            return hbm_bytes_of(updates), 2 * hbm_size(instruction.shape, shape_bytes(updates))
        case "gather":
            return hbm_bytes_of(instruction.shape), hbm_size(first, shape_bytes(instruction.shape))
    size = shape_bytes(instruction.shape)
    return hbm_size(first, size) + hbm_size(instruction.shape, size), 0


_SPACE = re.compile(r"S\((\d+)\)")


def in_hbm(shape: str) -> bool:
    """Whether an array lies in HBM: its layout names no other memory space."""
    found = _SPACE.search(shape)
    return found is None or found.group(1) == "0"


def hbm_size(shape: str, size: int) -> int:
    return size if in_hbm(shape) else 0


def hbm_bytes_of(shape: str) -> int:
    """Bytes of those arrays of a shape that lie in HBM."""
    return sum(shape_bytes(part) for part in parts(shape) if in_hbm(part)) if shape else 0
