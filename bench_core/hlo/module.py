"""An HLO module as values, read from its text, and the bytes of its shapes. Pure functions of text, no JAX.

XLA writes one instruction per line, `%name = shape opcode(operands), attributes`, inside computations
`%name (parameters) -> shape { ... }`. Operands are names, and on some platforms carry their shape. The lines of a
compiled module are in the order in which they are scheduled.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One line. `shape` and `operands` are as they stand there (layouts and memory spaces with them); `attributes` is
    everything behind the operands."""

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    attributes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """Instructions in the order of the text. `entry`: the program starts here."""

    name: str
    entry: bool
    instructions: list[Instruction] = field(default_factory=list)

    def shapes(self) -> dict[str, str]:
        """The shape of every instruction, by name."""
        return {instruction.name: instruction.shape for instruction in self.instructions}


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A program. `header` is the line `HloModule ...`, empty where the text has none."""

    header: str
    computations: Mapping[str, Computation]

    @property
    def entry(self) -> Computation:
        """Where the program starts.

        Raises:
            ValueError: the text has no such computation.
        """
        for computation in self.computations.values():
            if computation.entry:
                return computation
        raise ValueError("no ENTRY computation in the HLO module")


_COMPUTATION = re.compile(r"^(?P<entry>ENTRY )?%?(?P<name>[\w.\-]+) \(.*\) -> .* \{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = ")
_ARRAY = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_CALLEE = re.compile(r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_COMMENT = re.compile(r"/\*.*?\*/")


def parse(text: str) -> Module:
    """Read a module. Lines that are no instructions are passed over."""
    header = next((line for line in text.splitlines() if line.startswith("HloModule")), "")
    return Module(header=header, computations={found.name: found for found in _computations(text)})


def callees(instruction: Instruction) -> list[str]:
    """Names of the computations that it calls, applies or branches to."""
    branches = ",".join(_BRANCHES.findall(instruction.attributes)).split(",")
    named = [branch.strip().lstrip("%") for branch in branches]
    return [*_CALLEE.findall(instruction.attributes), *(name for name in named if name)]


def _computations(text: str) -> Iterator[Computation]:
    current: Computation | None = None
    for line in text.splitlines():
        header = _COMPUTATION.match(line)
        if header:
            current = Computation(name=header.group("name"), entry=header.group("entry") is not None)
            yield current
        elif current is not None and (instruction := _instruction(line)) is not None:
            current.instructions.append(instruction)


def _instruction(line: str) -> Instruction | None:
    named = _INSTRUCTION.match(line)
    if named is None:
        return None
    rest = _COMMENT.sub("", line[named.end() :])
    shape_end = _closing(rest, 0) if rest.startswith("(") else rest.find(" ")
    shape, rest = rest[:shape_end], rest[shape_end:].lstrip()
    opcode, parenthesis, _ = rest.partition("(")
    if shape_end < 0 or not parenthesis:
        return None
    end = _closing(rest, len(opcode))
    return Instruction(
        name=named.group(1),
        shape=shape,
        opcode=opcode,
        operands=tuple(_split(rest[len(opcode) + 1 : end - 1])),
        attributes=rest[end:],
    )


def _closing(text: str, start: int) -> int:
    """The position behind the bracket that closes the one at `start`; -1 when none does."""
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] in "([{") - (text[position] in ")]}")
        if depth == 0:
            return position + 1
    return -1


def _split(operands: str) -> Iterator[str]:
    """Parts between the commas that are not inside brackets."""
    depth = start = 0
    for position, character in enumerate(operands):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            yield operands[start:position].strip()
            start = position + 1
    if operands[start:].strip():
        yield operands[start:].strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """An instruction, and the computation in which it stands."""

    instruction: Instruction
    home: Computation


def inside(module: Module, instruction: Instruction) -> Iterator[Part]:
    """All that an instruction calls, applies or branches to, however deep."""
    for name in callees(instruction):
        home = module.computations[name]
        for inner in home.instructions:
            yield Part(instruction=inner, home=home)
            yield from inside(module, inner)


def inside_loops(module: Module) -> set[str]:
    """Names of the computations that a loop's body is or calls."""
    every = [instruction for found in module.computations.values() for instruction in found.instructions]
    reached = set[str]()
    waiting = [name for instruction in every if instruction.opcode == "while" for name in callees(instruction)]
    while waiting:
        if (name := waiting.pop()) not in reached and name in module.computations:
            reached.add(name)
            waiting += [callee for inner in module.computations[name].instructions for callee in callees(inner)]
    return reached


def operand_name(operand: str) -> str:
    """The name of the instruction that an operand is."""
    return operand.rpartition(" ")[2].lstrip("%")


_BITS = re.compile(r"[a-z]+?(\d+)")
_WITHOUT = ("token", "opaque")


def shape_bytes(shape: str) -> int:
    """Bytes of the elements of an array, or of all arrays of a tuple, without the padding of tiles.

    Raises:
        ValueError: an element type is not known.
    """
    return sum(_array_bytes(kind, sizes) for kind, sizes in _ARRAY.findall(shape))


def parts(shape: str) -> list[str]:
    """The shapes of a tuple, or the one that it is. Layouts, memory spaces and nested tuples stay with their part."""
    if not shape.startswith("("):
        return [shape]
    found, depth, start = [], 0, 1
    for position, character in enumerate(shape):
        depth += (character in "([{") - (character in ")]}")
        if (character == "," and depth == 1) or depth == 0:
            found.append(shape[start:position].strip())
            start = position + 1
        if depth == 0:
            break
    return [part for part in found if part]


def _array_bytes(kind: str, sizes: str) -> int:
    """Of an element type such as `bf16` and sizes such as `8,128`. Types of less than a byte are packed."""
    elements = math.prod(int(size) for size in sizes.split(",") if size)
    return 0 if kind in _WITHOUT else -(-elements * _bits(kind) // 8)


def _bits(kind: str) -> int:
    if kind == "pred":
        return 8
    found = _BITS.match(kind)
    if found is None:
        raise ValueError(f"the element type {kind!r} is not known")
    return int(found.group(1))
