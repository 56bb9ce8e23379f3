"""How often the loops of a compiled program turn. No JAX."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bench_core.hlo.module import Computation, Instruction, Module, operand_name

_KNOWN = re.compile(r'known_trip_count"?:\{"?n"?:"?(\d+)')
_CONDITION = re.compile(r"condition=%?([\w.\-]+)")
_BODY = re.compile(r"body=%?([\w.\-]+)")
_INDEX = re.compile(r"index=(\d+)")

_ByName = Mapping[str, Instruction]


def turns(module: Module, home: Computation, loop: Instruction) -> int | None:
    """The number of times that a `while` runs its body; None where the text does not tell.

    It does where XLA wrote it down, and of a loop that counts by one from a constant to a constant.

    Args:
        module: of the loop.
        home: where it stands.
        loop: the `while`.
    """
    known = _KNOWN.search(loop.attributes)
    if known is not None:
        return int(known.group(1))
    condition, body = _CONDITION.search(loop.attributes), _BODY.search(loop.attributes)
    if condition is None or body is None:
        return None
    carried = _Carried(
        home=_by_names(home.instructions), loop=loop, body=module.computations[body.group(1)].instructions
    )
    compared = module.computations[condition.group(1)].instructions
    root, by_name = compared[-1], _by_names(compared)
    if root.opcode != "compare" or "direction=LT" not in root.attributes:
        return None
    counter, limit = (_behind_copies(by_name, operand) for operand in root.operands)
    index = _index(counter)
    last = carried.constant(limit)
    first = None if index is None else carried.first(index)
    if index is None or last is None or first is None or not carried.grows_by_one(index):
        return None
    return max(0, last - first)


def _by_names(instructions: list[Instruction]) -> _ByName:
    return {instruction.name: instruction for instruction in instructions}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Carried:
    """What a loop carries from one turn to the next."""

    home: _ByName
    loop: Instruction
    body: list[Instruction]

    def first(self, index: int) -> int | None:
        """The constant that it begins with in this place."""
        initial = _behind_copies(self.home, self.loop.operands[0])
        if initial is None or initial.opcode != "tuple":
            return None
        value = _behind_copies(self.home, initial.operands[index])
        return int(value.operands[0]) if value is not None and value.opcode == "constant" else None

    def constant(self, value: Instruction | None) -> int | None:
        """The number that a value is in every turn."""
        if value is not None and value.opcode == "constant":
            return int(value.operands[0])
        index = _index(value)
        if index is None or _index(self._next(index)) != index:
            return None
        return self.first(index)

    def grows_by_one(self, index: int) -> bool:
        step = self._next(index)
        if step is None or step.opcode != "add":
            return False
        before, added = (_behind_copies(_by_names(self.body), operand) for operand in step.operands)
        return _index(before) == index and self.constant(added) == 1

    def _next(self, index: int) -> Instruction | None:
        """What the body makes of the value in this place."""
        root = self.body[-1]
        return _behind_copies(_by_names(self.body), root.operands[index]) if root.opcode == "tuple" else None


def _index(value: Instruction | None) -> int | None:
    """The place of the tuple that a value is taken from."""
    found = _INDEX.search(value.attributes) if value is not None and value.opcode == "get-tuple-element" else None
    return None if found is None else int(found.group(1))


def _behind_copies(by_name: _ByName, operand: str) -> Instruction | None:
    found = by_name.get(operand_name(operand))
    while found is not None and found.opcode in ("copy", "bitcast"):
        found = by_name.get(operand_name(found.operands[0]))
    return found
