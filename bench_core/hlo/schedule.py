"""The schedule of a compiled program: what runs beside other work, and how often loops turn. No JAX."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bench_core.hlo.matmuls import matmul_flops
from bench_core.hlo.module import Computation, Instruction, Module, callees, operand_name


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


# TPU: what a fusion starts is an operand of the first, and a fusion with the second ends it.
_FUSED_START, _FUSED_DONE = 'custom_call_target="AsyncCollectiveStart"', 'custom_call_target="AsyncCollectiveDone"'


def begun_inside(parts: Iterable[Part]) -> set[str]:
    """Names of what is started inside a fusion of these parts."""
    starts = (part.instruction for part in parts if _FUSED_START in part.instruction.attributes)
    return {operand_name(operand) for start in starts for operand in start.operands}


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """What is scheduled between the start and the end of something that runs beside it.

    `operations` are without those that move nothing (tuples, bitcasts) and without the starts and ends of others.
    `matmul_flops` are those of dots and convolutions, a loop's body once. `kernels` are calls of Pallas kernels, whose
    FLOPs the text does not tell.
    """

    operations: int = 0
    matmul_flops: int = 0
    kernels: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StartsAndEnds:
    """Of one computation: `ends` has the place of the end by the name of the start, and `continued` the names of
    fusions that go on with what another one has started, or end it."""

    home: Computation
    ends: Mapping[str, int]
    continued: frozenset[str]

    def between(self, module: Module, start: Instruction) -> Between | None:
        """None where the end is not in this computation."""
        end = self.ends.get(start.name)
        if end is None:
            return None
        first = self.home.instructions.index(start) + 1
        return _between(module, self.home, first, end)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOTHING = words("parameter constant tuple get-tuple-element bitcast after-all opt-barrier partition-id replica-id")
"""Opcodes that move nothing."""
_PASSES_ON = ("get-tuple-element", "bitcast")


def starts_and_ends(module: Module, computation: Computation) -> StartsAndEnds:
    """Follow what is started through tuples and fusions to its end."""
    origin: dict[str, set[str]] = {}
    started: dict[str, set[_Signature]] = {}
    ends: dict[str, int] = {}
    continued: set[str] = set()
    for index, instruction in enumerate(computation.instructions):
        name, opcode = instruction.name, instruction.opcode
        fused = list(inside(module, instruction)) if opcode == "fusion" else []
        origins = set[str]().union(*(origin.get(operand_name(operand), ()) for operand in instruction.operands))
        origins -= ends.keys()
        if opcode == "fusion":
            same = {_signature(part.instruction) for part in fused}
            origins = {start for start in origins if same & started[start]}
            continued |= {name} if origins else set()
        if opcode.endswith("-done") or any(_FUSED_DONE in part.instruction.attributes for part in fused):
            ends |= dict.fromkeys(origins, index)
        elif origins and (fused or opcode in _PASSES_ON or opcode.endswith("-update")):
            origin[name] = origins
        begun = begun_inside(fused)
        if opcode.endswith("-start") or begun:
            origin[name] = {name} | origin.get(name, set())
            started[name] = {_signature(part.instruction) for part in fused if part.instruction.name in begun}
    return StartsAndEnds(home=computation, ends=ends, continued=frozenset(continued))


_Signature = tuple[str, str]


def _signature(instruction: Instruction) -> _Signature:
    """What a collective has in common with itself in the fusions that go on with it."""
    return instruction.opcode, instruction.shape


def _between(module: Module, home: Computation, first: int, end: int) -> Between:
    shapes = home.shapes()
    operations = flops = kernels = 0
    for instruction in home.instructions[first:end]:
        if instruction.opcode in NOTHING or instruction.opcode.endswith(("-start", "-done", "-update")):
            continue
        operations += 1
        flops += matmul_flops(instruction, shapes)
        kernels += _is_kernel(instruction)
        for part in inside(module, instruction):
            flops += matmul_flops(part.instruction, part.home.shapes())
            kernels += _is_kernel(part.instruction)
    return Between(operations=operations, matmul_flops=flops, kernels=kernels)


def _is_kernel(instruction: Instruction) -> bool:
    return 'custom_call_target="tpu_custom_call"' in instruction.attributes


_KNOWN = re.compile(r'known_trip_count"?:\{"?n"?:"?(\d+)')
_CONDITION = re.compile(r"condition=%?([\w.\-]+)")
_BODY = re.compile(r"body=%?([\w.\-]+)")
_INDEX = re.compile(r"index=(\d+)")

_ByName = Mapping[str, Instruction]


def turns(module: Module, home: _ByName, loop: Instruction) -> int | None:
    """The number of times that a `while` runs its body; None where the text does not tell.

    It does where XLA wrote it down, and of a loop that counts by one from a constant to a constant.

    Args:
        module: of the loop.
        home: instructions of the computation in which it stands, by name.
        loop: the `while`.
    """
    known = _KNOWN.search(loop.attributes)
    if known is not None:
        return int(known.group(1))
    condition, body = _CONDITION.search(loop.attributes), _BODY.search(loop.attributes)
    if condition is None or body is None:
        return None
    carried = _Carried(home=home, loop=loop, body=module.computations[body.group(1)].instructions)
    compared = module.computations[condition.group(1)].instructions
    root, by_name = compared[-1], by_names(compared)
    if root.opcode != "compare" or "direction=LT" not in root.attributes:
        return None
    counter, limit = (_behind_copies(by_name, operand) for operand in root.operands)
    index = _index(counter)
    last = carried.constant(limit)
    first = None if index is None else carried.first(index)
    if index is None or last is None or first is None or not carried.grows_by_one(index):
        return None
    return max(0, last - first)


def by_names(instructions: list[Instruction]) -> _ByName:
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
        before, added = (_behind_copies(by_names(self.body), operand) for operand in step.operands)
        return _index(before) == index and self.constant(added) == 1

    def _next(self, index: int) -> Instruction | None:
        """What the body makes of the value in this place."""
        root = self.body[-1]
        return _behind_copies(by_names(self.body), root.operands[index]) if root.opcode == "tuple" else None


def _index(value: Instruction | None) -> int | None:
    """The place of the tuple that a value is taken from."""
    found = _INDEX.search(value.attributes) if value is not None and value.opcode == "get-tuple-element" else None
    return None if found is None else int(found.group(1))


def _behind_copies(by_name: _ByName, operand: str) -> Instruction | None:
    found = by_name.get(operand_name(operand))
    while found is not None and found.opcode in ("copy", "bitcast"):
        found = by_name.get(operand_name(found.operands[0]))
    return found
