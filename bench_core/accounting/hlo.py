"""Matmuls of a compiled program, read from its HLO text. Pure functions of text, no JAX.

XLA writes one instruction per line, `%name = shape opcode(operands), attributes`, inside computations
`%name (parameters) -> shape { ... }`. Operands are names, and on some platforms carry their shape.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Dimensions = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matmul:
    """A dot or a convolution, which is what TPUs make of many dots. `flops` counts a multiply and an add as two.

    `shapes` are those of its operands and its result, such as `f32[8,4] x f32[4,2] -> f32[8,2]`, `result` the
    sizes of the latter; `source` is the JAX operation that it comes from, where XLA kept its name. `looped`: it
    is inside a loop's body.
    """

    opcode: str
    shapes: str
    result: Dimensions
    source: str
    flops: int
    looped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instruction:
    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    attributes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Computation:
    name: str
    instructions: list[_Instruction] = field(default_factory=list)


_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = ")
_ARRAY = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_CALLEE = re.compile(r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_COMMENT = re.compile(r"/\*.*?\*/")
_SOURCE = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')


def matmuls(text: str) -> list[Matmul]:
    """Every dot and convolution of an HLO module, in the order of the text.

    Raises:
        ValueError: a line that names one cannot be read.
    """
    computations = {computation.name: computation for computation in _computations(text)}
    looped = _inside_loops(computations)
    found = []
    for computation in computations.values():
        shapes = {instruction.name: instruction.shape for instruction in computation.instructions}
        for instruction in computation.instructions:
            if instruction.opcode in ("dot", "convolution"):
                found.append(_matmul(instruction, shapes, looped=computation.name in looped))
    return found


def _computations(text: str) -> Iterator[_Computation]:
    current: _Computation | None = None
    for line in text.splitlines():
        header = _COMPUTATION.match(line)
        if header:
            current = _Computation(name=header.group(1))
            yield current
        elif current is not None and (instruction := _instruction(line)) is not None:
            current.instructions.append(instruction)


def _instruction(line: str) -> _Instruction | None:
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
    return _Instruction(
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


def _inside_loops(computations: Mapping[str, _Computation]) -> set[str]:
    """Names of the computations that a loop's body is or calls."""
    callees = {
        name: {
            callee
            for instruction in computation.instructions
            for callee in (
                *_CALLEE.findall(instruction.attributes),
                *(
                    branch.strip().lstrip("%")
                    for branches in _BRANCHES.findall(instruction.attributes)
                    for branch in branches.split(",")
                ),
            )
        }
        for name, computation in computations.items()
    }
    reached = {
        callee
        for computation in computations.values()
        for instruction in computation.instructions
        if instruction.opcode == "while"
        for callee in _CALLEE.findall(instruction.attributes)
    }
    waiting = list(reached)
    while waiting:
        new = callees.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached


def _matmul(instruction: _Instruction, shapes: Mapping[str, str], *, looped: bool) -> Matmul:
    lhs, rhs = (_operand_shape(operand, shapes) for operand in instruction.operands[:2])
    flops = _dot_flops if instruction.opcode == "dot" else _convolution_flops
    source = _SOURCE.search(instruction.attributes)
    result = _array(instruction.shape)
    return Matmul(
        opcode=instruction.opcode,
        shapes=f"{_written(lhs)} x {_written(rhs)} -> {_written(result)}",
        result=result[1],
        source=source.group(1) if source else "",
        flops=flops(lhs[1], rhs[1], result[1], instruction.attributes),
        looped=looped,
    )


def _operand_shape(operand: str, shapes: Mapping[str, str]) -> tuple[str, Dimensions]:
    name = operand.rpartition(" ")[2].lstrip("%")
    return _array(operand if _ARRAY.match(operand) else shapes.get(name, ""))


def _array(shape: str) -> tuple[str, Dimensions]:
    found = _ARRAY.match(shape)
    if found is None:
        raise ValueError(f"no array shape in {shape!r}")
    return found.group(1), tuple(int(size) for size in found.group(2).split(",") if size)


def _written(array: tuple[str, Dimensions]) -> str:
    return f"{array[0]}[{','.join(str(size) for size in array[1])}]"


def _dot_flops(lhs: Dimensions, rhs: Dimensions, result: Dimensions, attributes: str) -> int:
    """2 * elements of the result * length of the sums."""
    found = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", attributes)
    axes = [int(axis) for axis in found.group(1).split(",") if axis] if found else []
    return 2 * math.prod(result) * math.prod(lhs[axis] for axis in axes)


def _convolution_flops(lhs: Dimensions, rhs: Dimensions, result: Dimensions, attributes: str) -> int:
    """2 * products: per element of the result, input features of one group times the window positions that hit
    an element of the input, and neither padding nor a hole of the dilation.

    `dim_labels` names the axes, b and f of input and result, i and o of the kernel, digits for spatial ones.
    """
    labels = re.search(r"dim_labels=(\w+)_(\w+)->(\w+)", attributes)
    if labels is None:
        raise ValueError(f"no dim_labels in {attributes!r}")
    input_axes, kernel_axes, result_axes = labels.groups()
    window = _window(attributes)
    products = 1
    for index, axis in enumerate(sorted(axis for axis in input_axes if axis.isdigit())):
        products *= _hits(
            size=lhs[input_axes.index(axis)],
            steps=result[result_axes.index(axis)],
            kernel=rhs[kernel_axes.index(axis)],
            window={key: values[index] for key, values in window.items()},
        )
    rows = result[result_axes.index("b")] * result[result_axes.index("f")]
    return 2 * products * rows * rhs[kernel_axes.index("i")]


def _window(attributes: str) -> dict[str, list[str]]:
    """`window={size=3x3 stride=2x2 pad=1_1x1_1}` by key, a word per spatial axis."""
    found = re.search(r"window=\{([^}]*)\}", attributes)
    words = found.group(1).split() if found else []
    return {key: value.split("x") for key, _, value in (word.partition("=") for word in words)}


def _hits(*, size: int, steps: int, kernel: int, window: Mapping[str, str]) -> int:
    """Pairs of a step and a kernel position that fall onto one of `size` elements."""
    stride = int(window.get("stride", 1))
    spread, reach = int(window.get("lhs_dilate", 1)), int(window.get("rhs_dilate", 1))
    low = int(window.get("pad", "0_0").partition("_")[0])
    last = (size - 1) * spread
    # Steps that meet no hole come again after this many.
    period = spread // math.gcd(stride, spread)
    count = 0
    for offset in range(-low, kernel * reach - low, reach):
        fitting = (step for step in range(period) if (offset + step * stride) % spread == 0)
        first = next(fitting, None)
        if first is None:
            continue
        lowest, highest = -(offset // stride), min((last - offset) // stride, steps - 1)
        skipped = max(0, -(-(lowest - first) // period))
        count += len(range(first + skipped * period, highest + 1, period))
    return count
