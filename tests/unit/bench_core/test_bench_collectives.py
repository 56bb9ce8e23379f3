"""Collectives of small HLO texts, each with one thing that is easy to miss, or to count twice."""

import pytest

from bench_core.hlo.collectives import Collective, collectives, group_size
from bench_core.hlo.module import parse, parts, shape_bytes

HEADER = "HloModule jit_f, is_scheduled=true, replica_count=1, num_partitions=4"
ADD = """%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %sum = f32[] add(%a, %b)
}
"""


def found(entry: str, *others: str) -> list[Collective]:
    text = "\n\n".join([HEADER, ADD, *others, f"ENTRY %main (x: bf16[8,4]) -> bf16[8,4] {{\n{entry}\n}}"])
    return collectives(parse(text))


def said(one: Collective) -> tuple[str, int, int, bool]:
    return one.kind.value, one.payload_bytes, one.group, one.asynchronous


GROUPS = "replica_groups={{0,1,2,3}}"


def test_copies_and_other_threads_send_nothing() -> None:
    sparse = """%async_computation.1 (p: s32[4,2]) -> s32[4,2] {
  ROOT %a = s32[4,2] copy(%p)
}
"""
    text = """  %c = (bf16[8,4], bf16[8,4], u32[]) copy-start(%x)
  %s = ((s32[4,2]), s32[4,2], u32[]) async-start(%x), async_execution_thread="sparsecore", calls=%async_computation.1
  %d = s32[4,2] async-done(%s)
  %h = (bf16[8,4], u32[], token[]) send(%x, %t), channel_id=3, is_host_transfer=true"""
    assert found(text, sparse) == []


LOOP = f"""%body (p: (s32[], bf16[8,4])) -> (s32[], bf16[8,4]) {{
  %c = bf16[8,4] all-reduce(%x), {GROUPS}, to_apply=%add
}}
"""
TURNS = ', backend_config={"known_trip_count":{"n":"7"}}'


@pytest.mark.parametrize(
    ("line", "times"),
    [
        (f"while(%p), condition=%add, body=%body{TURNS}", 7),
        ("while(%p), condition=%add, body=%body", None),
        ("call(%p), to_apply=%body", 1),
        ("conditional(%i, %p, %p), branch_computations={%body, %add}", None),
    ],
)
def test_how_often(line: str, times: int | None) -> None:
    (one,) = found(f"  %w = (s32[], bf16[8,4]) {line}", LOOP)
    assert one.times == times


def test_a_way_to_send_that_is_not_known_is_no_silence() -> None:
    with pytest.raises(ValueError, match="sends by collective-broadcast"):
        found(f"  %c = bf16[8,4] collective-broadcast(%x), {GROUPS}")


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("replica_groups={{0,1},{2,3}}, use_global_device_ids=true", 2),
        ("replica_groups=[2,4]<=[8]", 4),
        ("replica_groups=[4,2]<=[2,4]T(1,0)", 2),
        ("replica_groups=mesh['axis_0'=4,'axis_1'=16] {'axis_1'}", 16),
        ("replica_groups=mesh['axis_0'=4,'axis_1'=16] {'axis_0','axis_1'}", 64),
        ("replica_groups=mesh['a'=8] {'a':(2)4}", 4),
        ("replica_groups={}", 8),
        ("to_apply=%add", 8),
        ("source_target_pairs={{0,1},{1,2},{2,3},{4,5},{5,6},{6,7}}", 4),
        ("source_target_pairs={{0,1},{1,0},{2,3},{3,2}}", 2),
    ],
)
def test_groups(written: str, size: int) -> None:
    assert (
        group_size(f", channel_id=1, {written}, metadata={{}}", "HloModule f, replica_count=2, num_partitions=4")
        == size
    )


@pytest.mark.parametrize("written", ["replica_groups=<[2]>", "replica_groups=mesh['a'=2] {'b'}"])
def test_groups_that_cannot_be_read_are_an_error(written: str) -> None:
    with pytest.raises(ValueError, match=r"read|no axis"):
        group_size(written, "HloModule f, num_partitions=4")


def test_sizes() -> None:
    assert shape_bytes("bf16[8,4]{1,0:T(8,128)(2,1)S(1)}") == 64
    assert shape_bytes("(f32[], s32[3]{0}, pred[5], s4[3], token[])") == 4 + 12 + 5 + 2
    assert shape_bytes("f8e4m3fn[2,8]") == 16
    assert parts("((bf16[2,2]{1,0}), f32[4]{0:T(8,128)}, u32[])") == ["(bf16[2,2]{1,0})", "f32[4]{0:T(8,128)}", "u32[]"]
    with pytest.raises(ValueError, match="not known"):
        shape_bytes("strange[2]")
