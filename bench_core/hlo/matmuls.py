"""Matmuls of a compiled program. Pure functions of text, no JAX."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bench_core.hlo.module import Dimensions, Instruction, array, inside_loops, operand_shape, parse, source, written

MATMULS = ("dot", "convolution")
"""Opcodes."""


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


def matmuls(text: str) -> list[Matmul]:
    """Every dot and convolution of an HLO module, in the order of the text.

    Raises:
        ValueError: a line that names one cannot be read.
    """
    module = parse(text)
    looped = inside_loops(module)
    found = []
    for computation in module.computations.values():
        shapes = computation.shapes()
        for instruction in computation.instructions:
            if instruction.opcode in MATMULS:
                found.append(_matmul(instruction, shapes, looped=computation.name in looped))
    return found


def _matmul(instruction: Instruction, shapes: Mapping[str, str], *, looped: bool) -> Matmul:
    lhs, rhs = (operand_shape(operand, shapes) for operand in instruction.operands[:2])
    flops = _dot_flops if instruction.opcode == "dot" else _convolution_flops
    result = array(instruction.shape)
    return Matmul(
        opcode=instruction.opcode,
        shapes=f"{written(lhs)} x {written(rhs)} -> {written(result)}",
        result=result[1],
        source=source(instruction),
        flops=flops(lhs[1], rhs[1], result[1], instruction.attributes),
        looped=looped,
    )


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
