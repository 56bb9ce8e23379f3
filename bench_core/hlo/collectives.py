"""What the devices of a compiled program send to each other. Pure functions of text, no JAX.

A collective stands in the text as an instruction of its own; as a pair of `...-start` and `...-done`, or of
`async-start` (which calls a computation with the collective) and `async-done`, with other work between them; or inside
a fusion. TPUs fuse a reduce-scatter as an all-reduce of which each device keeps a part (`calls=%all-reduce-scatter`),
and an asynchronous collective as a fusion that starts it, fusions that go on with it beside a matmul, and one that ends
it: the collective then stands in each of them, and is one.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from bench_core.hlo.module import (
    Computation,
    Instruction,
    Module,
    Part,
    callees,
    inside,
    operand_name,
    parts,
    shape_bytes,
)


class CollectiveKind(StrEnum):
    """XLA's names."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    RAGGED_ALL_TO_ALL = "ragged-all-to-all"
    COLLECTIVE_PERMUTE = "collective-permute"


def ring_bytes(kind: CollectiveKind, payload_bytes: int, group: int) -> float:
    """Bytes that each of `group` devices in a ring has to send at the least.

    Of N = `payload_bytes` and n = `group`: all-reduce 2 (n-1)/n N (a reduce-scatter and an all-gather), all-gather,
    reduce-scatter, all-to-all (n-1)/n N, collective-permute N. Source of the first three: P. Patarasuk and X. Yuan,
    Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009; of an all-to-all each device keeps 1/n.
    In a real network an all-to-all may pass through other devices, which this does not count.
    """
    if kind is CollectiveKind.COLLECTIVE_PERMUTE:
        return float(payload_bytes)
    passes = 2 if kind is CollectiveKind.ALL_REDUCE else 1
    return passes * (group - 1) * payload_bytes / group


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """One collective of one device.

    `payload_bytes` are those of the whole result of an all-reduce, all-gather or all-to-all, of the operand of a
    reduce-scatter (with what the compiler pads), of what a device sends in a collective-permute, and of the buffer from
    which a ragged all-to-all sends: the most that it may. `times`: how often one call of the program runs it; None in a
    loop whose turns the text does not tell, and in a branch.
    """

    kind: CollectiveKind
    payload_bytes: int
    group: int
    asynchronous: bool = False
    times: int | None = 1

    @property
    def ring_bytes(self) -> float:
        """Of one run, see the function of this name."""
        return ring_bytes(self.kind, self.payload_bytes, self.group)


def collectives(module: Module) -> list[Collective]:
    """Every collective that a call of the program runs, in the order of the schedule; of a loop and its like, where it
    stands.

    Raises:
        ValueError: the program sends in a way that is not known here, or a line cannot be read.
    """
    return list(_run(module, module.entry, times=1))


_KINDS = {kind.value: kind for kind in CollectiveKind}
_UNKNOWN = ("collective-broadcast", "send", "recv")
# What may stand between an all-reduce and the part of it that a device keeps.
_SAME_ELEMENTS = ("bitcast", "reshape", "copy", "convert", "get-tuple-element")


def _run(module: Module, computation: Computation, *, times: int | None) -> Iterator[Collective]:
    continued = _continued(module, computation)
    for instruction in computation.instructions:
        if instruction.opcode in ("call", "while", "conditional"):
            each = _turns(instruction)
            all_times = None if each is None or times is None else times * each
            for name in callees(instruction):
                yield from _run(module, module.computations[name], times=all_times)
            continue
        for part, asynchronous in _of(module, computation, instruction, continued):
            yield replace(_read(part, module.header), asynchronous=asynchronous, times=times)


_TURNS = re.compile(r'known_trip_count"?:\{"?n"?:"?(\d+)')


def _turns(caller: Instruction) -> int | None:
    """How often it runs what it calls; None of a branch, and of a loop where XLA wrote no number down."""
    known = _TURNS.search(caller.attributes)
    return 1 if caller.opcode == "call" else int(known.group(1)) if known else None


def _of(
    module: Module, computation: Computation, instruction: Instruction, continued: set[str]
) -> Iterator[tuple[Part, bool]]:
    """The collectives that an instruction runs (False) or starts (True); not what it goes on with or ends."""
    opcode = instruction.opcode
    plain = opcode.removesuffix("-start")
    if plain in _KINDS:
        yield Part(instruction=instruction, home=computation), opcode != plain
    elif plain in _UNKNOWN and "is_host_transfer=true" not in instruction.attributes:
        raise ValueError(f"the program sends by {plain}, which is not known here")
    elif opcode in ("fusion", "async-start"):
        found = list(inside(module, instruction))
        begun = _begun(found)
        for part in found:
            if part.instruction.opcode in _KINDS:
                asynchronous = opcode == "async-start" or part.instruction.name in begun
                if asynchronous or instruction.name not in continued:
                    yield part, asynchronous


# TPU: what a fusion starts is an operand of the first, and a fusion with the second ends it.
_FUSED_START, _FUSED_DONE = 'custom_call_target="AsyncCollectiveStart"', 'custom_call_target="AsyncCollectiveDone"'
_PASSES_ON = ("get-tuple-element", "bitcast")


def _begun(parts: Iterable[Part]) -> set[str]:
    """Names of what is started inside a fusion of these parts."""
    starts = (part.instruction for part in parts if _FUSED_START in part.instruction.attributes)
    return {operand_name(operand) for start in starts for operand in start.operands}


def _continued(module: Module, computation: Computation) -> set[str]:
    """Names of the fusions that go on with what another one has started, or end it. A collective has opcode and shape
    in common with itself in all of them."""
    started: dict[str, set[tuple[str, str]]] = {}
    found: set[str] = set()
    for instruction in computation.instructions:
        name = instruction.name
        carried = set[tuple[str, str]]().union(*(started.get(operand_name(one), ()) for one in instruction.operands))
        if instruction.opcode == "fusion":
            fused = list(inside(module, instruction))
            carried &= {(part.instruction.opcode, part.instruction.shape) for part in fused}
            found |= {name} if carried else set()
            if any(_FUSED_DONE in part.instruction.attributes for part in fused):
                carried = set()
            own = [part.instruction for part in fused if part.instruction.name in _begun(fused)]
            carried |= {(begun.opcode, begun.shape) for begun in own}
        elif instruction.opcode not in _PASSES_ON:
            continue
        started[name] = carried
    return found


def _read(part: Part, header: str) -> Collective:
    """The collective of one instruction, without its place."""
    instruction = part.instruction
    kind = _KINDS[instruction.opcode.removesuffix("-start")]
    group = group_size(instruction.attributes, header)
    payload = _payload(kind, part, group)
    if kind is CollectiveKind.ALL_REDUCE and _scattered(part):
        kind = CollectiveKind.REDUCE_SCATTER
    return Collective(kind=kind, payload_bytes=payload, group=group)


def _payload(kind: CollectiveKind, part: Part, group: int) -> int:
    instruction = part.instruction
    match kind:
        case CollectiveKind.REDUCE_SCATTER:
            return group * shape_bytes(instruction.shape)
        case CollectiveKind.RAGGED_ALL_TO_ALL:
            shapes, operand = part.home.shapes(), instruction.operands[0]
            return shape_bytes(shapes.get(operand_name(operand), operand))
        case _ if instruction.opcode in ("all-gather-start", "collective-permute-start"):
            # (operands, results, flags of the device)
            return shape_bytes(parts(instruction.shape)[1])
        case _:
            return shape_bytes(instruction.shape)


def _scattered(part: Part) -> bool:
    """Whether of an all-reduce inside a fusion each device keeps a part, and nothing else."""
    names, slices = {part.instruction.name}, 0
    if part.home.entry:
        return False
    for instruction in part.home.instructions:
        if not names.intersection(operand_name(operand) for operand in instruction.operands):
            continue
        if instruction.opcode in _SAME_ELEMENTS:
            names.add(instruction.name)
        elif instruction.opcode == "dynamic-slice":
            slices += 1
        elif instruction.opcode != "tuple":
            return False
    return slices > 0


_LISTED = re.compile(r"replica_groups=\{(\{[\d, ]*\}(?:, ?\{[\d, ]*\})*)?\}")
_IOTA = re.compile(r"replica_groups=\[(\d+(?:,\d+)*)\]<=\[")
_MESH = re.compile(r"replica_groups=mesh\[([^\]]*)\] ?\{([^}]*)\}")
_AXIS = re.compile(r"'([^']+)'(?::\(\d+\)(\d+))?")
_SIZE = re.compile(r"'([^']+)'=(\d+)")
_PAIRS = re.compile(r"source_target_pairs=\{((?:\{\d+,\d+\},?)*)\}")
_ALL = re.compile(r"(replica_count|num_partitions)=(\d+)")


def group_size(attributes: str, header: str) -> int:
    """Devices that exchange something with each other.

    XLA writes groups as lists, `{{0,1},{2,3}}`; as a reshaped range, `[2,2]<=[4]`, groups by members; or as axes of a
    mesh, `mesh['a'=2,'b'=2] {'b'}`. Of groups of several sizes this is the largest, and of pairs of source and target
    the devices that hang together.

    Args:
        attributes: of the collective.
        header: of its module. It says how many devices there are, for a collective that names no groups: all.

    Raises:
        ValueError: none of these stands there.
    """
    if (pairs := _PAIRS.search(attributes)) is not None:
        return _connected([(int(a), int(b)) for a, b in re.findall(r"\{(\d+),(\d+)\}", pairs.group(1))])
    if (iota := _IOTA.search(attributes)) is not None:
        return int(iota.group(1).rpartition(",")[2])
    if (mesh := _MESH.search(attributes)) is not None:
        return _axes(mesh.group(1), mesh.group(2))
    listed = _LISTED.search(attributes)
    if listed is None and "replica_groups" in attributes:
        raise ValueError(f"groups of devices that cannot be read: {attributes[:200]!r}")
    groups = re.findall(r"\{([\d, ]*)\}", listed.group(1) or "") if listed else []
    if not groups:
        return math.prod(int(count) for _, count in _ALL.findall(header))
    return max(len(group.split(",")) for group in groups)


def _axes(sizes: str, used: str) -> int:
    """A part of an axis is written `'a':(2)4`: the 4 of an axis that is cut into 2 x 4 or more."""
    known = {name: int(size) for name, size in _SIZE.findall(sizes)}
    group = 1
    for name, part in _AXIS.findall(used):
        if name not in known:
            raise ValueError(f"no axis {name!r} in the mesh {sizes!r}")
        group *= int(part) if part else known[name]
    return group


def _connected(pairs: list[tuple[int, int]]) -> int:
    """The most devices that pairs join into one chain, ring or tree."""
    beside: dict[int, set[int]] = defaultdict(set)
    for one, other in pairs:
        beside[one].add(other)
        beside[other].add(one)
    largest, seen = 1, set[int]()
    for device in beside:
        waiting, found = [device], set[int]()
        while waiting:
            if (here := waiting.pop()) not in seen:
                seen.add(here)
                found.add(here)
                waiting += beside[here]
        largest = max(largest, len(found))
    return largest
