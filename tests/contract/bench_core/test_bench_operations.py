"""What scheduled operations cost, read from small programs that are written here."""

from bench_core.hlo.module import parse
from bench_core.hlo.operations import Operation, operations

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


def test_vmem_is_free_and_the_copy_into_it_is_not() -> None:
    vmem = "bf16[1024,2048]{1,0:T(8,128)(2,1)S(1)}"
    started = f"  %s = ({vmem}, bf16[1024,2048]{{1,0}}, u32[]{{:S(2)}}) copy-start(%a)\n"
    used = f"  %d = {vmem} copy-done(%s)\n  %c = f32[1024,2048]{{1,0:S(1)}} convert(%d)"
    assert one(MATRICES + started + used) == Operation(name="s", opcode="copy-start", hbm_bytes=4 * MIB)
