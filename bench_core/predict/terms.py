"""What a call of a compiled program costs each device, added up by kind. Pure, no JAX."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bench_core.gmm.tile import Tile
from bench_core.hlo.collectives import Collective, collectives
from bench_core.hlo.module import Computation, Instruction, Module, callees, operand_name, parse
from bench_core.hlo.operations import Kernel, operations


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """FLOPs and bytes of one device and one call.

    matmul_flops   dots and convolutions
    matmul_bytes   what the operations with these read and write in HBM
    kernel_flops   grouped matmuls in kernels, of the rows that they are given
    padded_flops   the same with what their tiles add
    kernel_bytes   what these kernels copy from and to HBM; a block that a step shares with the one before is not copied
    other_bytes    all other operations
    moved_bytes    rows that are gathered or scattered
    sent_bytes     ring-equivalent bytes of collectives by the devices that take part in one
    hidden_bytes   of these the asynchronous ones, which may run beside other work
    buffer_bytes   HBM at its peak
    program        digest of the multiset of operations
    unknown        operations whose cost is not known
    """

    matmul_flops: int
    matmul_bytes: int
    kernel_flops: int
    padded_flops: int
    kernel_bytes: int
    other_bytes: int
    moved_bytes: int
    sent_bytes: Mapping[int, float] = field(default_factory=dict)
    hidden_bytes: Mapping[int, float] = field(default_factory=dict)
    buffer_bytes: int
    program: str
    unknown: tuple[str, ...] = ()


def terms_of(text: str, *, buffer_bytes: int, tile: Tile | None, settings: str = "") -> Terms:
    """Read a scheduled program.

    Args:
        text: as the compiler wrote it.
        buffer_bytes: HBM at its peak.
        tile: of the grouped matmuls in kernels; their calls do not say it.
        settings: of the compiler, which two equal programs share.

    Raises:
        ValueError: a line cannot be read.
    """
    module = parse(text)
    costs, sent = operations(module), collectives(module)
    kernels = [(cost.kernel, cost.times) for cost in costs if cost.kernel is not None]
    unknown = Counter(cost.unknown for cost in costs if cost.unknown is not None)
    unknown.update(f"{c.kind} in a loop without a known number of turns" for c in sent if c.times is None)
    unknown.update("a grouped matmul with other tiles than the case" for k, _ in kernels if not _has_tile(k, tile))
    return Terms(
        matmul_flops=sum(cost.matmul_flops for cost in costs),
        matmul_bytes=sum(cost.hbm_bytes for cost in costs if cost.matmul_flops),
        kernel_flops=sum(kernel.flops * times for kernel, times in kernels),
        padded_flops=sum(_padded(kernel, tile) * times for kernel, times in kernels if tile is not None),
        kernel_bytes=sum(k.copied_bytes(tile.m, tile.k, tile.n) * times for k, times in kernels if tile is not None),
        other_bytes=sum(cost.hbm_bytes for cost in costs if not cost.matmul_flops),
        moved_bytes=sum(cost.moved_bytes for cost in costs),
        sent_bytes=_by_group(sent),
        hidden_bytes=_by_group([one for one in sent if one.between is not None]),
        buffer_bytes=buffer_bytes,
        program=digest(module, f"{tile} {settings}"),
        unknown=tuple(f"{count} x {what}" for what, count in sorted(unknown.items())),
    )


def _by_group(sent: list[Collective]) -> dict[int, float]:
    found: Counter[int] = Counter()
    for one in sent:
        found[one.group] += one.ring_bytes * (one.times or 0)  # type: ignore[assignment]
    return {group: float(size) for group, size in sorted(found.items()) if group > 1}


def _has_tile(kernel: Kernel, tile: Tile | None) -> bool:
    """Whether its visits are those of tiles of these rows."""
    return tile is not None and -(-kernel.rows // tile.m) + kernel.groups - 1 == kernel.visits


def _padded(kernel: Kernel, tile: Tile) -> int:
    """FLOPs of whole tiles: each visit computes for all rows of a tile, and K and N are whole tiles too."""
    contracted, columns = -(-kernel.contracted // tile.k) * tile.k, -(-kernel.columns // tile.n) * tile.n
    return 2 * kernel.visits * tile.m * contracted * columns


def digest(module: Module, settings: str) -> str:
    """Of what the program does: the multiset of its operations with their shapes, whatever they are called and in
    whichever order, and however a sort compares two elements. Two programs with one digest take a device the same
    time."""
    lines = sorted(_lines(module, module.entry))
    return hashlib.sha256("\n".join([*lines, settings]).encode()).hexdigest()[:16]


_ALIKE = ("get-tuple-element", "bitcast", "tuple", "parameter", "constant")


def _lines(module: Module, computation: Computation) -> Iterator[str]:
    shapes = computation.shapes()
    for instruction in computation.instructions:
        if instruction.opcode in _ALIKE:
            continue
        operands = " ".join(shapes.get(operand_name(operand), "") for operand in instruction.operands)
        called = [] if instruction.opcode == "sort" else callees(instruction)
        inner = [line for name in called for line in sorted(_lines(module, module.computations[name]))]
        yield f"{instruction.opcode} {instruction.shape} {operands} {_static(instruction)} [{';'.join(inner)}]"


_CONTENT = ("custom_call_target=", "window=", "dim_labels=", "dimensions=", "replica_groups=", "slice=", "direction=")


def _static(instruction: Instruction) -> str:
    """The words of its attributes that say what it does, without names and places in a source file."""
    words = instruction.attributes.split(", ")
    return " ".join(word for word in words if word.startswith(_CONTENT))
