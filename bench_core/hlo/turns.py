"""How often a loop of a compiled program turns. Pure functions of text, no JAX."""

import re

from bench_core.hlo.module import Instruction, Module, operand_name

_KNOWN = re.compile(r'known_trip_count"?:\{"?n"?:"?(\d+)')
_CONDITION = re.compile(r"condition=%?([\w.\-]+)")
_BODY = re.compile(r"body=%?([\w.\-]+)")
_INDEX = re.compile(r"index=(\d+)")


def turns(module: Module, loop: Instruction) -> int | None:
    """The number of times that a `while` runs its body; None where the text does not tell.

    It does where XLA wrote it down, and of a loop that counts from a constant by one to a constant.
    """
    known = _KNOWN.search(loop.attributes)
    if known is not None:
        return int(known.group(1))
    condition, body = _CONDITION.search(loop.attributes), _BODY.search(loop.attributes)
    if condition is None or body is None:
        return None
    compared = module.computations[condition.group(1)].instructions
    root = compared[-1]
    if root.opcode != "compare" or "direction=LT" not in root.attributes:
        return None
    by_name = {instruction.name: instruction for instruction in compared}
    counter, limit = (by_name.get(operand_name(operand)) for operand in root.operands)
    if counter is None or limit is None or limit.opcode != "constant" or counter.opcode != "get-tuple-element":
        return None
    index = _INDEX.search(counter.attributes)
    if index is None or not _steps_by_one(module, body.group(1), int(index.group(1))):
        return None
    first = _start(module, loop, int(index.group(1)))
    return None if first is None else max(0, int(limit.operands[0]) - first)


def _steps_by_one(module: Module, body: str, index: int) -> bool:
    """Whether the body returns one more than it got in this place of its tuple."""
    instructions = module.computations[body].instructions
    by_name = {instruction.name: instruction for instruction in instructions}
    root = instructions[-1]
    if root.opcode != "tuple":
        return False
    step = by_name.get(operand_name(root.operands[index]))
    if step is None or step.opcode != "add":
        return False
    left, right = (by_name.get(operand_name(operand)) for operand in step.operands)
    if left is None or right is None or left.opcode != "get-tuple-element":
        return False
    found = _INDEX.search(left.attributes)
    return right.opcode == "constant" and right.operands == ("1",) and found is not None and int(found[1]) == index


def _start(module: Module, loop: Instruction, index: int) -> int | None:
    """The constant with which the counter begins, in the computation that has the loop."""
    for computation in module.computations.values():
        by_name = {instruction.name: instruction for instruction in computation.instructions}
        if by_name.get(loop.name) is not loop:
            continue
        initial = by_name.get(operand_name(loop.operands[0]))
        value = by_name.get(operand_name(initial.operands[index])) if initial and initial.opcode == "tuple" else None
        while value is not None and value.opcode in ("copy", "bitcast"):
            value = by_name.get(operand_name(value.operands[0]))
        return int(value.operands[0]) if value is not None and value.opcode == "constant" else None
    return None
