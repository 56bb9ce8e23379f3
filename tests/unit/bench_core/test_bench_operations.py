"""What scheduled operations cost, read from small programs that are written here."""

import itertools

import pytest

from bench_core.hlo.matmuls import matmuls
from bench_core.hlo.module import parse
from bench_core.hlo.operations import Kernel, Operation, operations
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


def test_parts_of_arrays() -> None:
    assert one(f"{MATRICES}  %c = f32[8,2048]{{1,0}} dynamic-slice(%b, %i, %i)").hbm_bytes == 2 * 8 * 2048 * 4
    part = f"{MATRICES}  %u = f32[8,2048]{{1,0:S(1)}} iota()\n"
    put = one(f"{part}  %c = f32[1024,2048]{{1,0}} dynamic-update-slice(%b, %u, %i, %i)")
    assert put.hbm_bytes == 8 * 2048 * 4
    rows = f"{MATRICES}  %n = s32[512]{{0:S(1)}} iota()\n"
    got = one(f"{rows}  %c = f32[512,2048]{{1,0}} gather(%b, %n), slice_sizes={{1,2048}}")
    assert (got.hbm_bytes, got.moved_bytes) == (4 * MIB, 4 * MIB)
    added = one(f"{rows}  %u = f32[512,2048]{{1,0:S(1)}} iota()\n  %c = f32[1024,2048]{{1,0}} scatter(%b, %n, %u)")
    assert (added.hbm_bytes, added.moved_bytes) == (0, 2 * 4 * MIB)


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


CALL = """  %n = s32[] constant(3)
  %offsets = s32[17]{0} iota()
  %groups = s32[144]{0} iota()
  %tiles = s32[144]{0} iota()
  %zero = s32[1]{0} iota()
  %rows = bf16[16512,2048]{1,0} parameter(0)
  %w = bf16[16,2048,4096]{2,1,0} parameter(1)
  %dy = bf16[16512,4096]{1,0} parameter(2)
"""
STATED = 'custom_call_target="tpu_custom_call", metadata={op_name="jit(into)/jvp(jit(NAME))/pallas_call"}'


def test_kernels_of_grouped_matmuls() -> None:
    """Sizes as in a compiled program: 129 tiles of 128 rows, and 15 groups more that begin inside of a tile."""
    operands = "%n, %offsets, %groups, %tiles, %zero, %rows"
    gmm = f"{CALL}  %k = f32[16512,4096]{{1,0}} custom-call({operands}, %w), {STATED.replace('NAME', 'gmm')}"
    [found] = [cost.kernel for cost in entry(gmm) if cost.kernel]
    sizes = {"rows": 16512, "contracted": 2048, "columns": 4096, "groups": 16, "visits": 144}
    rows, matrices, wide = 2 * 16512 * 2048, 2 * 16 * 2048 * 4096, 4 * 16512 * 4096
    assert found == Kernel(name="gmm", left=rows, right=matrices, result=wide, **sizes)
    assert found.flops == 2 * 16512 * 2048 * 4096
    tgmm = f"{CALL}  %k = f32[16,2048,4096]{{2,1,0}} custom-call({operands}, %dy), {STATED.replace('NAME', 'tgmm')}"
    [found] = [cost.kernel for cost in entry(tgmm) if cost.kernel]
    assert found == Kernel(name="tgmm", left=rows, right=wide // 2, result=2 * matrices, **sizes)
    # Other shapes are another kernel, whatever its name.
    odd = gmm.replace("f32[16512,4096]", "f32[16512,4095]")
    assert [cost.unknown for cost in entry(odd) if cost.opcode == "tpu_custom_call"] == [
        "a kernel, jit(into)/jvp(jit(gmm))/pallas_call"
    ]


@pytest.mark.parametrize("name", ["gmm", "tgmm"])
@pytest.mark.parametrize(("m", "k", "n"), [(16, 8, 8), (16, 32, 8), (16, 8, 32), (8, 32, 32)])
def test_copies_are_those_of_the_grid(name: str, m: int, k: int, n: int) -> None:
    """Counted by going through the grid of the kernel: a block is copied unless the step before had it."""
    rows, contracted, columns, ends = 64, 32, 32, [0, 20, 44, 64]
    visits = [(g, t) for g, (a, b) in enumerate(itertools.pairwise(ends)) for t in range(a // m, -(-b // m))]
    groups, cut, across = len(ends) - 1, contracted // k, columns // n
    if name == "gmm":
        steps = [(i, v, j) for i in range(across) for v in visits for j in range(cut)]
        blocks = [((t, j), (g, j, i), (t, i)) for i, (g, t), j in steps]
        sizes = m * k, k * n, m * n
        left, right, result = 2 * rows * contracted, 2 * groups * contracted * columns, 2 * rows * columns
    else:
        steps = [(i, v, j) for i in range(across) for j in range(cut) for v in visits]
        blocks = [((t, j), (t, i), (g, j, i)) for i, (g, t), j in steps]
        sizes = m * k, m * n, k * n
        left, right, result = 2 * rows * contracted, 2 * rows * columns, 2 * groups * contracted * columns
    copied = sum(
        2
        * size
        * sum(before is None or one[at] != before[at] for before, one in zip([None, *blocks], blocks, strict=False))
        for at, size in enumerate(sizes)
    )
    kernel = Kernel(
        name=name,
        rows=rows,
        contracted=contracted,
        columns=columns,
        groups=groups,
        visits=len(visits),
        left=left,
        right=right,
        result=result,
    )
    assert kernel.copied_bytes(m, k, n) == copied


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name.removesuffix(".txt.gz") for path in FOLDER.glob("*.txt.gz")))
@pytest.mark.sample(4)
def test_compiled_programs_are_read(name: str) -> None:
    """Their kernels do not say what they state; all else is known, and every matmul is in some operation, once."""
    text = program_text(name)
    found = operations(parse(text))
    assert {cost.unknown for cost in found if cost.unknown and not cost.unknown.startswith("a kernel, ")} <= set()
    assert sum(cost.matmul_flops // cost.times for cost in found) == sum(product.flops for product in matmuls(text))
