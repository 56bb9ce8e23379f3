"""Matmuls of a compiled program, its FLOPs over the model FLOPs, and the operation that inflates them. No JAX."""

import math
import re
from collections import defaultdict
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


NAMED_FROM = 1.5
"""The ratio from which the operation with the most FLOPs is named."""
LEAST_RATIO = 0.95
"""A program cannot do with fewer than the model FLOPs: below this the compiler did not count all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inflation:
    """`ratio` = compiled FLOPs / model FLOPs. Both are None where the compiler's count says nothing, and
    `unknown` says why; `worst` names the operation with the most FLOPs of an inflated program."""

    compiled_flops: float | None = None
    ratio: float | None = None
    unknown: str | None = None
    worst: str | None = None

    def observations(self) -> dict[str, float | None]:
        return {"compiled_flops": self.compiled_flops, "flops_inflation": self.ratio}

    def labels(self) -> dict[str, str]:
        labels = {"flops_inflation_unknown": self.unknown, "inflated_by": self.worst}
        return {name: text for name, text in labels.items() if text is not None}


def weigh(
    *, compiled_flops: float | None, text: str | None, model_flops: int, roles: Mapping[Dimensions, str]
) -> Inflation:
    """Compare a compiler's count with the model's.

    Args:
        compiled_flops: of one call, as XLA's cost analysis has it; None where the platform has none. It counts
            the body of a loop once, so a program with matmuls in a loop has no count at all.
        text: the optimised HLO; None where it cannot be read, and with it whether there are loops.
        model_flops: see `accounting.flops`.
        roles: what an operation is whose result has these sizes, for its name.
    """
    if compiled_flops is None:
        return Inflation(unknown="this platform does not count the FLOPs of a program")
    if model_flops == 0:
        return Inflation(compiled_flops=compiled_flops, unknown="the case has no model FLOPs")
    if text is None:
        return Inflation(unknown="the compiled program cannot be read: do libtpu and jaxlib fit together?")
    products = matmuls(text)
    looped = sum(product.looped for product in products)
    if looped:
        return Inflation(
            unknown=f"{looped} of {len(products)} matmuls are in loops, of which the compiler counts one turn"
        )
    ratio = compiled_flops / model_flops
    if ratio < LEAST_RATIO:
        return Inflation(
            unknown=f"the compiler counts {ratio:.3g} of the model FLOPs: it does not know what some kernel does"
        )
    worst = _worst(products, compiled_flops, roles) if ratio > NAMED_FROM else None
    return Inflation(compiled_flops=compiled_flops, ratio=ratio, worst=worst)


def _worst(products: list[Matmul], compiled_flops: float, roles: Mapping[Dimensions, str]) -> str:
    """The equal operations with the most FLOPs together, with their share of the program's."""
    alike: dict[tuple[str, str, str], list[Matmul]] = defaultdict(list)
    for product in products:
        alike[product.opcode, product.shapes, product.source].append(product)
    if sum(product.flops for product in products) < compiled_flops / 2:
        return "no matmul: most of its FLOPs are elementwise work or kernels of their own"
    group = max(alike.values(), key=lambda group: sum(product.flops for product in group))
    first, total = group[0], sum(product.flops for product in group)
    words = [f"{len(group)} x {first.opcode} {first.shapes}", f"{100 * total / compiled_flops:.0f}% of its FLOPs"]
    words += [word for word in (roles.get(first.result), first.source) if word]
    return ", ".join(words)
