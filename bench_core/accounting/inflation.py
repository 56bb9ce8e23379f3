"""The FLOPs of a compiled program over the model FLOPs, and the operation that inflates them. No JAX."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from bench_core.hlo.matmuls import Matmul, matmuls
from bench_core.hlo.module import Dimensions

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
