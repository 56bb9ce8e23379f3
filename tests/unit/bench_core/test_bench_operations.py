"""What scheduled operations cost, read from small programs that are written here."""

import pytest

from bench_core.hlo.matmuls import matmuls
from bench_core.hlo.module import parse
from bench_core.hlo.operations import Operation, operations
from bench_core.hlo.schedule import by_names, turns
from tests.unit.bench_core.test_bench_collectives_programs import FOLDER, program_text

MIB = 2**20


def entry(body: str, before: str = "") -> list[Operation]:
    return operations(parse(f"{before}\nENTRY %main (p: f32[2]) -> f32[2] {{\n{body}\n}}\n"))


def one(body: str, before: str = "") -> Operation:
    [found] = [cost for cost in entry(body, before) if cost.hbm_bytes or cost.moved_bytes or cost.unknown]
    return found


MATRICES = """  %a = bf16[1024,2048]{1,0:T(8,128)(2,1)} parameter(0)
  %b = f32[1024,2048]{1,0:T(8,128)} parameter(1)
  %i = s32[]{:T(128)} parameter(2)
"""


def test_elementwise_work_reads_and_writes() -> None:
    assert one(f"{MATRICES}  %c = f32[1024,2048]{{1,0}} convert(%a)").hbm_bytes == 4 * MIB + 8 * MIB


FUSED = """%inner (q: f32[1024,2048], j: s32[]) -> f32[8,2048] {
  %q = f32[1024,2048]{1,0} parameter(0)
  %j = s32[] parameter(1)
  %z = f32[1024,2048]{1,0} bitcast(%q)
  ROOT %s = f32[8,2048]{1,0} dynamic-slice(%z, %j, %j)
}
%putting (q: f32[1024,2048], u: f32[8,2048], j: s32[]) -> f32[1024,2048] {
  %q = f32[1024,2048]{1,0} parameter(0)
  %u = f32[8,2048]{1,0} parameter(1)
  %j = s32[] parameter(2)
  ROOT %s = f32[1024,2048]{1,0} dynamic-update-slice(%q, %u, %j, %j)
}
%strange (q: f32[1024,2048]) -> f32[1024,2048] {
  %q = f32[1024,2048]{1,0} parameter(0)
  ROOT %s = f32[1024,2048]{1,0} custom-call(%q), custom_call_target="Guess"
}
"""


def test_fusions_read_what_they_slice_and_write_what_they_put() -> None:
    call = f"{MATRICES}  %f = f32[8,2048]{{1,0}} fusion(%b, %i), kind=kLoop, calls=%inner"
    # The number that says where is read, too.
    assert one(call, FUSED).hbm_bytes == 2 * 8 * 2048 * 4 + 4
    part = f"{MATRICES}  %u = f32[8,2048]{{1,0:S(1)}} iota()\n"
    call = f"{part}  %f = f32[1024,2048]{{1,0}} fusion(%b, %u, %i), kind=kLoop, calls=%putting"
    assert one(call, FUSED).hbm_bytes == 8 * 2048 * 4 + 4


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("fft(%b)", "fft"),
        ('custom-call(%b), custom_call_target="Guess"', "a call of Guess"),
        ("fusion(%b), kind=kLoop, calls=%strange", "a call of Guess"),
        ("conditional(%i, %b, %b), branch_computations={%strange, %strange}", "conditional"),
        ("while(%b), condition=%strange, body=%strange", "a loop without a known number of turns"),
        (
            'custom-call(%b), custom_call_target="tpu_custom_call", metadata={op_name="jit(f)/other/pallas_call"}',
            "a kernel, jit(f)/other/pallas_call",
        ),
    ],
)
def test_what_is_not_known_is_named(line: str, unknown: str) -> None:
    assert one(f"{MATRICES}  %c = f32[1024,2048]{{1,0}} {line}", FUSED).unknown == unknown


LOOP = """%turn (t: (s32[], f32[1024,2048])) -> (s32[], f32[1024,2048]) {
  %t = (s32[], f32[1024,2048]) parameter(0)
  %one = s32[] constant(1)
  %n = s32[] get-tuple-element(%t), index=0
  %x = f32[1024,2048]{1,0} get-tuple-element(%t), index=1
  %y = f32[1024,2048]{1,0} negate(%x)
  %copied = s32[] copy(%n)
  %m = s32[] add(%copied, %one)
  ROOT %r = (s32[], f32[1024,2048]) tuple(%m, %y)
}
%goes_on (t: (s32[], f32[1024,2048])) -> pred[] {
  %t = (s32[], f32[1024,2048]) parameter(0)
  %n = s32[] get-tuple-element(%t), index=0
  %last = s32[] constant(7)
  ROOT %less = pred[] compare(%n, %last), direction=LT
}
"""
AROUND = f"""{MATRICES}  %first = s32[] constant(2)
  %start = (s32[], f32[1024,2048]) tuple(%first, %b)
  %loop = (s32[], f32[1024,2048]) while(%start), condition=%goes_on, body=%turn"""


def test_loops_that_count_are_counted() -> None:
    found = [cost for cost in entry(AROUND, LOOP) if cost.opcode == "negate"]
    assert found == [Operation(name="y", opcode="negate", times=5, hbm_bytes=5 * 2 * 8 * MIB)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("add(%copied, %one)", "multiply(%copied, %one)"),
        ("constant(1)", "constant(2)"),
        ("direction=LT", "direction=NE"),
        ("tuple(%m, %y)", "tuple(%n, %y)"),
    ],
)
def test_other_loops_are_not(before: str, after: str) -> None:
    module = parse(f"{LOOP.replace(before, after)}\nENTRY %main (p: f32[2]) -> f32[2] {{\n{AROUND}\n}}\n")
    loop = module.entry.instructions[-1]
    assert turns(module, by_names(module.entry.instructions), loop) is None


STATED = 'custom_call_target="tpu_custom_call", metadata={op_name="jit(into)/jvp(jit(NAME))/pallas_call"}'


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name.removesuffix(".txt.gz") for path in FOLDER.glob("*.txt.gz")))
@pytest.mark.sample(4)
def test_compiled_programs_are_read(name: str) -> None:
    """Their kernels do not say what they state; all else is known, and every matmul is in some operation, once."""
    text = program_text(name)
    found = operations(parse(text))
    assert {cost.unknown for cost in found if cost.unknown and not cost.unknown.startswith("a kernel, ")} <= set()
    assert sum(cost.matmul_flops // cost.times for cost in found) == sum(product.flops for product in matmuls(text))
