"""Matmuls read from HLO text: against a count by hand, against XLA's own count, and the inflation made of them."""

import math

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.accounting.inflation import matmuls, weigh
from bench_core.timing.compiling import program_cost
from tests.breadth import examples

sizes = st.integers(1, 6)

MODULE = """HloModule jit_f, is_scheduled=true

%body (p: (s32[], f32[{m},{k}])) -> (s32[], f32[{m},{n}]) {{
  %p = (s32[], f32[{m},{k}]{{1,0:T(8,128)}}) parameter(0)
  %fusion.2 = f32[{m},{n}]{{1,0}} fusion(%p), kind=kLoop, calls=%fused
  ROOT %tuple = (s32[], f32[{m},{n}]{{1,0}}) tuple(%p, %fusion.2)
}}

%fused (a: f32[{b},{k},{m}], w: f32[{b},{k},{n}]) -> f32[{b},{m},{n}] {{
  %a = f32[{b},{k},{m}]{{2,1,0}} parameter(0)
  %w = f32[{b},{k},{n}]{{2,1,0}} parameter(1)
  ROOT %dot.1 = f32[{b},{m},{n}]{{2,1,0:T(8,128)(2,1)}} dot(%a, /*index=1*/%w), lhs_batch_dims={{0}}, \
lhs_contracting_dims={{1}}, rhs_batch_dims={{0}}, rhs_contracting_dims={{1}}, metadata={{op_name="jit(f)/a \\"b\\""}}
}}

ENTRY %main.3 (x: f32[{m},{k}]) -> f32[{m},{n}] {{
  %x = f32[{m},{k}]{{1,0}} parameter(0)
  {call}
}}
"""
CALLS = {
    False: "ROOT %f.1 = f32[1]{0} fusion(%x), kind=kOutput, calls=%fused",
    True: "ROOT %w.1 = (s32[], f32[1]{0}) while(%x), condition=%c, body=%body",
}


@given(sizes, sizes, sizes, sizes, st.booleans())
def test_dots_of_a_text(b: int, m: int, k: int, n: int, looped: bool) -> None:
    (dot,) = matmuls(MODULE.format(b=b, m=m, k=k, n=n, call=CALLS[looped]))
    assert dot.flops == 2 * b * m * k * n
    assert dot.shapes == f"f32[{b},{k},{m}] x f32[{b},{k},{n}] -> f32[{b},{m},{n}]"
    assert dot.source == r"jit(f)/a \"b\""
    assert dot.looped == looped


def _convolution(size: int, kernel: int, window: dict[str, int], steps: int) -> str:
    words = f"size={kernel} stride={window['stride']} pad={window['low']}_0"
    words += f" lhs_dilate={window['spread']} rhs_dilate={window['reach']}"
    return f"""ENTRY %main (x: f32[1]) -> f32[1] {{
  ROOT %c = f32[{steps},4,5]{{2,1,0}} convolution(f32[{size},3,4]{{2,1,0}} %x, f32[{kernel},3,5]{{2,1,0}} %w), \
window={{{words}}}, dim_labels=0fb_0io->0bf
}}"""


@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 9),
    st.fixed_dictionaries(
        {
            "stride": st.integers(1, 5),
            "spread": st.integers(1, 5),
            "reach": st.integers(1, 4),
            "low": st.integers(-2, 4),
        }
    ),
)
def test_convolutions_count_only_products_with_elements(
    size: int, steps: int, kernel: int, window: dict[str, int]
) -> None:
    positions = [
        step * window["stride"] + tap * window["reach"] - window["low"]
        for step in range(steps)
        for tap in range(kernel)
    ]
    last = (size - 1) * window["spread"]
    hits = sum(0 <= position <= last and position % window["spread"] == 0 for position in positions)
    (product,) = matmuls(_convolution(size, kernel, window, steps))
    assert product.flops == 2 * 3 * 4 * 5 * hits


def test_the_weight_gradients_of_ragged_dot_on_a_tpu() -> None:
    """A line of libtpu 0.0.42: a product of every expert with every row, written as a dilated convolution."""
    text = """%fused (a: bf16[60,65536,2048], b: bf16[60,65536,1408]) -> f32[60,2048,1408] {
  %a = bf16[60,65536,2048]{2,1,0} parameter(0)
  %b = bf16[60,65536,1408]{2,1,0} parameter(1)
  ROOT %convolution-base-dilated = f32[60,2048,1408]{2,1,0:T(8,128)} convolution(%a, %b), \
window={size=60 stride=59 lhs_dilate=60}, dim_labels=0fb_0io->0bf
}"""
    (product,) = matmuls(text)
    assert product.flops == 60 * 2 * 65536 * 2048 * 1408


@examples(5)
@given(sizes, sizes, sizes)
def test_xla_counts_the_same(m: int, k: int, n: int) -> None:
    shapes = [jax.ShapeDtypeStruct(size, jnp.float32) for size in ((m, k), (k, n))]
    cost = program_cost(jax.jit(jnp.matmul).lower(*shapes).compile())
    # XLA rewrites products of size one into sums.
    assert cost.flops is not None
    assert sum(product.flops for product in matmuls(cost.text)) in (0, cost.flops)


def test_a_loop_has_no_count_and_says_so() -> None:
    x = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    looped = program_cost(jax.jit(lambda x: jax.lax.fori_loop(0, 9, lambda _, y: y @ x, x)).lower(x).compile())
    assert weigh(compiled_flops=1.0, text=None, model_flops=1, roles={}).ratio is None
    inflation = weigh(compiled_flops=looped.flops, text=looped.text, model_flops=9 * 2 * 8**3, roles={})
    assert (inflation.compiled_flops, inflation.ratio) == (None, None)
    assert inflation.unknown == "1 of 1 matmuls are in loops, of which the compiler counts one turn"


TEXT = MODULE.format(b=4, m=3, k=5, n=2, call=CALLS[False])
DOT = 2 * 4 * 3 * 5 * 2


@pytest.mark.parametrize(
    ("compiled", "model", "ratio", "words"),
    [
        (None, DOT, None, "does not count"),
        (DOT, 0, None, "no model FLOPs"),
        (DOT, 2 * DOT, None, "does not know what some kernel does"),
        (DOT, DOT, 1.0, None),
        (DOT, DOT // 4, 4.0, "1 x dot f32[4,5,3] x f32[4,5,2] -> f32[4,3,2], 100% of its FLOPs, a gradient, jit(f)"),
        (8 * DOT, DOT, 8.0, "no matmul"),
    ],
)
def test_inflation(compiled: float | None, model: int, ratio: float | None, words: str | None) -> None:
    inflation = weigh(compiled_flops=compiled, text=TEXT, model_flops=model, roles={(4, 3, 2): "a gradient"})
    assert inflation.ratio == ratio
    said = " ".join(inflation.labels().values())
    assert said == "" if words is None else words in said
    assert math.isclose(inflation.observations()["flops_inflation"] or 0, ratio or 0)
